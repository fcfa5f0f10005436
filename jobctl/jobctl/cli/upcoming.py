"""`jobctl next --all`: what the next hours hold, a line for each job, and what all jobs come to."""

from collections.abc import Sequence
from shlex import quote
from typing import Any, Final

from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.client.sync import Client
from jobctl.reading.times import Viewer, took

#: A lane is so wide: an hour a cell over a day.
_CELLS: Final = 24
_PAGE: Final = 500
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_PLAIN: Final = ".:-=+*#@"
FIELDS: Final = ("id", "name", "state", "paused", "late_since", "next_run_at", "fires", "p50", "lane")
_COLUMNS: Final = (
    Column("NEXT", drops=3), Column("IN"), Column("JOB", shrinks=8), Column("FIRES", right=True),
    Column("TAKES", drops=1, right=True), Column("NEXT HOURS", drops=2),
)  # fmt: skip

Json = dict[str, Any]


def show_upcoming(session: Session, client: Client, *, hours: int, query: str | None, limit: int | None) -> None:
    """In whatever format; JSON is the API's object with all of its items."""
    found, items = _asked(client, hours, query, limit)
    render = session.render
    if render.output == "json":
        render.json({**found, "items": items})
        return
    render.listing(
        items, name=lambda item: str(item["name"]), fields=FIELDS, show=lambda some: _show(session, found, some)
    )


def _asked(client: Client, hours: int, query: str | None, limit: int | None) -> tuple[Json, list[Json]]:
    """The first page's sums, and the items of all pages, or the first `limit`."""
    most = _PAGE if limit is None else min(limit, _PAGE)
    found = client.upcoming(hours=hours, cells=_CELLS, q=query, limit=most)
    items: list[Json] = list(found["items"])
    wanted = found["total"] if limit is None else min(limit, found["total"])
    while len(items) < wanted:
        page = client.upcoming(hours=hours, cells=_CELLS, q=query, offset=len(items), limit=_PAGE)["items"]
        if not page:
            break
        items += page
    return found, items[:wanted]


def _show(session: Session, found: Json, items: Sequence[Json]) -> None:
    render, viewer = session.render, session.viewer
    if not items:
        render.word(f"nothing fires before {viewer.full(found['until'])}")
        return
    marks = _BLOCKS if render.out.can(_BLOCKS) else _PLAIN
    clock = viewer.alike(item["next_run_at"] for item in items)
    most = max(max(item["lane"]) for item in items)
    rows = []
    for item in items:
        at = item["next_run_at"]
        when = Cell(f"late since {viewer.clock(item['late_since'])}", "late", "bad") if item["late_since"] else Cell(
            "paused", style="warn") if item["paused"] else Cell(clock(at) if at else "")  # fmt: skip
        lane = bar(item["lane"], max(most, 1), marks)
        takes = took(item["p50"]) if item["p50"] is not None else ""
        rows.append([when, viewer.ago(at) if at else "", item["name"], item["fires"], takes, lane])
    render.table(_COLUMNS, rows)
    for line in [*left_out(items, viewer), *_sums(session, found, marks)]:
        render.word(line)


def left_out(items: Sequence[Json], viewer: Viewer) -> list[str]:
    """What of these jobs' times to come is left out because somebody asked for it."""
    lines = []
    for item in items:
        found = item.get("skips")
        if found:
            many = found["count"] > 1
            until = f" to {viewer.clock(found['last'])}, {found['count']} times" if many else ""
            back = f"jobctl skip {quote(item['name'])} --undo"
            lines.append(f"{item['name']} leaves out {viewer.clock(found['first'])}{until}: {back}")
    return lines


def bar(counts: Sequence[float], most: float, marks: str, *, none: str = "·") -> str:
    """A character for each number: none, or the higher the more of `most` it is."""
    empty = none if marks == _BLOCKS else " "
    return "".join(
        empty if count <= 0 else marks[min(len(marks) - 1, int(count * len(marks) / most - 1e-9))] for count in counts
    )


def _sums(session: Session, found: Json, marks: str) -> list[str]:
    """What they come to, on stderr: how many, the fullest minutes, clock changes, and what is left out."""
    viewer = session.viewer
    until = f"{viewer.clock(found['from'])} to {viewer.clock(found['until'])}"
    lines = [f"{found['jobs']} jobs fire {found['fires']} times, {until}"]
    busiest = max(found["busy"], default=0)
    if busiest:
        lines.append(f"at once {bar(found['busy'], busiest, marks)} at most {busiest:g} of {found['slots']} slots")
    lines += [
        f"{crowd['count']} together {viewer.both(crowd['at'])}: {', '.join(crowd['jobs'])}"
        + (" …" if crowd["count"] > len(crowd["jobs"]) else "")
        for crowd in found["crowded"][:3]
    ]
    for change in found["transitions"]:
        way = "forward" if change["kind"] == "gap" else "back"
        lines.append(f"the clock of {change['timezone']} goes {way} {viewer.both(change['at'])}: {change['jobs']} jobs")
    if found["left_out"]["jobs"]:
        lines.append(f"{found['left_out']['jobs']} jobs are not in these sums: there are too many")
    return lines
