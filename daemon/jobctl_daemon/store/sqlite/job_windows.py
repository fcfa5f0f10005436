"""A part of the list of jobs as a screen shows it."""

import sqlite3
from collections.abc import Sequence

from jobctl import wire
from jobctl.filters import Filter
from jobctl.windows import Window
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import columns, events, filters, job_lines, job_order, owners
from jobctl_daemon.windows import JobWindow


def window(connection: sqlite3.Connection, caller: Caller, wanted: JobWindow, now_ms: int) -> Window:
    """The part of the list, with the number of the newest event at the same instant."""
    values = {
        "owner_id": owners.reach(connection, caller),
        "done": filters.wants_done(wanted.q),
        "now_ms": now_ms,
    }
    total, offset, ids = _top(connection, wanted, values) or _anywhere(connection, wanted, values)
    return Window(
        schema=wire.SCHEMA,
        event=events.newest(connection),
        total=total,
        offset=offset,
        items=job_lines.lines(connection, ids, now_ms),
    )


_Part = tuple[int, int, Sequence[int]]


def _top(connection: sqlite3.Connection, wanted: JobWindow, values: job_order.Values) -> _Part | None:
    """Where nothing is left out, and the part lies where indexes have it: without a look at all jobs."""
    if wanted.q or wanted.reverse or values["owner_id"] is not None:
        return None
    first = job_order.trouble(connection, values) if wanted.sort == "attention" else []
    offset = wanted.offset
    if wanted.around is not None:
        place = job_order.place(connection, wanted.sort, first, wanted.around)
        if place is None:
            return None
        offset = place // wanted.limit * wanted.limit
    ids = job_order.top(connection, wanted.sort, first, offset, wanted.limit)
    return None if ids is None else (connection.execute(job_order.SQL.count).fetchone()[0], offset, ids)


def _anywhere(connection: sqlite3.Connection, wanted: JobWindow, values: job_order.Values) -> _Part:
    jobs = _matching(connection, wanted.q, values)
    ids = job_order.ordered(connection, jobs, wanted.sort, values, reverse=wanted.reverse)
    offset = wanted.offset
    if wanted.around is not None and wanted.around in ids:
        offset = ids.index(wanted.around) // wanted.limit * wanted.limit
    return len(ids), offset, ids[offset : offset + wanted.limit]


def _matching(connection: sqlite3.Connection, wanted: Filter, values: job_order.Values) -> list[int]:
    """Live jobs that match, in order of name."""
    asked = filters.condition(wanted, "job")
    live = "1" if values["done"] else "j.done = 0"
    statement = job_order.SQL.matching.format(live=live, conditions=asked.sql)
    with filters.searching(connection, asked):
        return columns.listed(connection.execute(statement, {**values, **asked.values}).fetchone()[0])
