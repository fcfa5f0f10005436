"""Reading runs, active and finished alike."""

import sqlite3
from collections.abc import Iterable
from typing import Any, Final, Literal

from jobctl.errors import NotFound
from jobctl.filters import Search
from jobctl.model import Attempt, Run
from jobctl.states import ACTIVE, FINAL, RunState
from jobctl_daemon.rows import Caller, RunFilter
from jobctl_daemon.store.sqlite import facts, filters, owners, paging
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("run_lists")

_Of = Literal["active", "ended"]
_KEPT_WITH_ACTIVE: Final = ACTIVE | {RunState.DEAD}
_AFTER_ALL: Final = (1 << 63) - 1
#: Finished runs one page looks at. A filter that matches little then answers a short page and a cursor, in time.
_LOOKED_AT_MAX: Final = 20_000


def run(connection: sqlite3.Connection, caller: Caller | None, run_id: int) -> Run:
    """A run; `NotFound` when there is none, or it is another's."""
    owner_id = owners.scope(connection, caller)
    for statement in (SQL.active, SQL.finished):
        row = connection.execute(statement, (run_id,)).fetchone()
        if row is not None and owner_id in (None, row[-1]):
            return facts.run(row)
    raise NotFound(f"no run {run_id}", "see `jobctl runs`; finished runs are kept for a limited time")


def attempts(connection: sqlite3.Connection, caller: Caller, run_id: int) -> list[Attempt]:
    """The efforts of a run, oldest first."""
    run(connection, caller, run_id)
    return [facts.attempt(row) for row in connection.execute(SQL.attempts_of, {"run_id": run_id})]


def page(connection: sqlite3.Connection, caller: Caller, wanted: RunFilter) -> tuple[list[Run], str | None]:
    """Runs newest first, and the cursor of the next page. A page may be short, even empty, and still have a next."""
    before = paging.key(wanted.cursor, int) if wanted.cursor else _AFTER_ALL
    floor = 0 if wanted.job_id is not None else _floor(connection, before)
    parameters = _parameters(connection, caller, wanted, before, floor)
    rows: list[tuple[Any, ...]] = []
    search = Search()
    for statement, of in _statements(wanted):
        asked = filters.shown(wanted.q, of)
        with filters.searching(connection, asked, search=search):
            rows += connection.execute(statement.format(asked=asked.sql), parameters | asked.values)
    rows.sort(key=_newest_first)
    if len(rows) > wanted.limit:
        rows = rows[: wanted.limit]
        floor = rows[-1][0]
    return [facts.run(row) for row in rows], paging.cursor(floor) if floor else None


def _statements(wanted: RunFilter) -> Iterable[tuple[str, _Of]]:
    of_job = wanted.job_id is not None
    states = frozenset(wanted.states)
    if not states or states & _KEPT_WITH_ACTIVE:
        yield SQL.active_of_job if of_job else SQL.active_of_all, "active"
    if not states or states & FINAL:
        yield SQL.finished_of_job if of_job else SQL.finished_of_all, "ended"


def _parameters(
    connection: sqlite3.Connection, caller: Caller, wanted: RunFilter, before: int, floor: int
) -> dict[str, object]:
    return {
        "job_id": wanted.job_id,
        "before": before,
        "floor": floor,
        "owner_id": owners.scope(connection, caller),
        "states": text(wanted.states) if wanted.states else None,
        "before_ms": wanted.before_ms,
        "since_ms": wanted.since_ms,
        "owner": wanted.owner,
        "mails": bool(wanted.q),
        "now_ms": wanted.now_ms,
        "limit": wanted.limit + 1,
    }


def _floor(connection: sqlite3.Connection, before: int) -> int:
    row = connection.execute(SQL.floor, (before, _LOOKED_AT_MAX)).fetchone()
    return row[0] if row else 0


def _newest_first(row: tuple[Any, ...]) -> int:
    return -int(row[0])
