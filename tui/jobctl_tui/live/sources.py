"""The lists of the daemon that a window can lie on."""

from collections.abc import Callable
from typing import Any, Final

from jobctl.client.sync import Client
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.window import Page

Json = dict[str, Any]
Query = dict[str, Any]
Read = Callable[..., Json]

_ENVELOPE: Final = frozenset({"schema", "event", "total", "offset", "items"})


class Jobs:
    def fetch(self, client: Client, query: Query, offset: int, limit: int, around: int | None) -> Page:
        return read(client.jobs_window, query, offset, limit, around)

    def ids(self, changes: Changes) -> frozenset[int]:
        return changes.jobs


class Runs:
    def fetch(self, client: Client, query: Query, offset: int, limit: int, around: int | None) -> Page:
        return read(client.runs_window, query, offset, limit, around)

    def ids(self, changes: Changes) -> frozenset[int]:
        return changes.runs


def read(window: Read, query: Query, offset: int, limit: int, around: int | None) -> Page:
    """One part of a list. A row that is to be in it mostly is where it was, and looking for it costs more than reading;
    the page that has it may end right beside it: then the rows on both sides are read."""
    page = _page(window(offset, limit, **query))
    if around is not None and around not in _ids(page):
        page = _page(window(offset, limit, **query, around=around))
    first = _beginning_around(page, limit, around)
    return page if first is None else _page(window(first, limit, **query))


def _ids(page: Page) -> list[int]:
    return [row["id"] for row in page.rows]


def _page(answer: Json) -> Page:
    more = {name: value for name, value in answer.items() if name not in _ENVELOPE}
    return Page(answer["total"], answer["offset"], answer["event"], answer["items"], more)


def _beginning_around(page: Page, limit: int, around: int | None) -> int | None:
    """Where a part begins in whose middle that row is; None: it is not in the list, or has enough beside it."""
    if around is None or around not in _ids(page):
        return None
    place = _ids(page).index(around)
    end = page.offset + len(page.rows)
    enough_before = page.offset == 0 or place >= limit // 4
    enough_behind = end >= page.total or len(page.rows) - place > limit // 4
    return None if enough_before and enough_behind else max(0, page.offset + place - limit // 2)
