"""What fires next as a list that a window can lie on; what the daemon says of all of it is the page's `more`."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from jobctl.client.sync import Client
from jobctl.errors import NotFound
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.window import LIMIT_MAX, Page

Json = dict[str, Any]
Query = dict[str, Any]

_PAGE: frozenset[str] = frozenset({"schema", "event", "total", "offset", "items"})


class Upcoming:
    """`jobctl_tui.live.window.Source`."""

    def fetch(self, client: Client, query: Query, offset: int, limit: int, around: int | None) -> Page:
        """A row that is looked for is among the first, or nobody knows where: the list is ordered by time."""
        page = _read(client, query, offset, limit)
        if around is None or any(row["id"] == around for row in page.rows) or page.total <= len(page.rows):
            return page
        first = _read(client, query, 0, LIMIT_MAX)
        place = next((place for place, row in enumerate(first.rows) if row["id"] == around), None)
        if place is None:
            return page
        begin = max(0, place - limit // 2)
        return first._replace(offset=begin, rows=first.rows[begin : begin + limit])

    def alone(self, client: Client, query: Query, jobs: Iterable[int]) -> list[Json]:
        """Certain jobs as they are now, without what all come to: of many jobs that takes long, and is an old one."""
        window = {name: value for name, value in query.items() if name != "q"}
        rows: list[Json] = []
        for ident in jobs:
            with suppress(NotFound):
                rows += client.upcoming(**window, job=ident)["items"]
        return rows

    def ids(self, changes: Changes) -> frozenset[int]:
        """Of jobs that were changed, or have an occurrence left out. A run that begins or ends moves its job's lane as
        well, every time: these are read anew now and then, all together."""
        return frozenset(
            int(event["job_id"])
            for event in changes.events
            if event.get("job_id") is not None and not str(event.get("kind", "")).startswith("run.")
        )


def _read(client: Client, query: Query, offset: int, limit: int) -> Page:
    answer = client.upcoming(**query, offset=offset, limit=limit)
    more = {name: value for name, value in answer.items() if name not in _PAGE}
    return Page(answer["total"], answer["offset"], answer["event"], answer["items"], more)
