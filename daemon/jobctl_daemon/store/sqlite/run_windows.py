"""A part of the list of runs as a screen shows it: what has not ended, then what has, the newest end first.

Without a filter it costs what is active, and a walk over the index of ends down to the part that is asked for. A filter
that means the runs of some jobs looks at these; any other at those that ended last, and a list with it ends there.
"""

import sqlite3
from collections.abc import Callable
from typing import Final, NamedTuple

from jobctl import wire
from jobctl.filters import Filter, Search
from jobctl.states import RunState
from jobctl.windows import RunsWindow
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import columns, events, filters, owners, run_lines
from jobctl_daemon.store.sqlite.statements import load
from jobctl_daemon.windows import RunWindow

SQL = load("run_windows")

#: Ended runs at which a filter looks.
LOOKED_AT_MAX: Final = 100_000
#: Jobs whose runs are looked for one job after another.
_JOBS_MAX: Final = 1_000
_STATES: Final = frozenset(map(str, RunState))

_Scope = dict[str, int | str | None]


class _Ended(NamedTuple):
    """The runs that have ended: how many they are, some of them, and where among them one is."""

    total: int
    part: Callable[[int, int], list[int]]
    place: Callable[[int], int | None]


def window(connection: sqlite3.Connection, caller: Caller, wanted: RunWindow, now_ms: int) -> RunsWindow:
    """The part of the list, with the number of the newest event at the same instant."""
    scope: _Scope = {"owner_id": owners.reach(connection, caller), "now_ms": now_ms}
    search = Search()
    active = _active(connection, scope, wanted.q, search)
    ended = _found(connection, scope, wanted.q, search) if wanted.q else _all(connection, scope)
    offset = wanted.offset if wanted.around is None else _offset(wanted, active, ended)
    ids = active[offset : offset + wanted.limit]
    ids += ended.part(max(0, offset - len(active)), wanted.limit - len(ids))
    return RunsWindow(
        schema=wire.SCHEMA,
        event=events.newest(connection),
        total=len(active) + ended.total,
        offset=offset,
        items=run_lines.lines(connection, ids, now_ms),
        active=len(active),
        today=_today(connection, scope, wanted.midnight_ms),
    )


def _offset(wanted: RunWindow, active: list[int], ended: _Ended) -> int:
    """Where the page begins that has the run that is asked for, if it is in the list."""
    if wanted.around in active:
        index: int | None = active.index(wanted.around)
    else:
        place = ended.place(wanted.around or 0)
        index = None if place is None else len(active) + place
    return wanted.offset if index is None else index // wanted.limit * wanted.limit


def _active(connection: sqlite3.Connection, scope: _Scope, wanted: Filter, search: Search) -> list[int]:
    asked = filters.condition(wanted, "active")
    statement = SQL.active.format(conditions=f"substr(r.key, 1, 5) <> 'mail:' AND {asked.sql}")
    with filters.searching(connection, asked, search=search):
        return columns.listed(connection.execute(statement, {**scope, **asked.values}).fetchone()[0])


def _all(connection: sqlite3.Connection, scope: _Scope) -> _Ended:
    def part(offset: int, limit: int) -> list[int]:
        rows = connection.execute(SQL.page, {**scope, "limit": limit, "offset": offset}) if limit else ()
        return [run_id for (run_id,) in rows]

    def place(run_id: int) -> int | None:
        row = connection.execute(SQL.ended_at, {**scope, "run_id": run_id}).fetchone()
        if row is None:
            return None
        before: int = connection.execute(SQL.before, {**scope, "run_id": run_id, "ended_ms": row[0]}).fetchone()[0]
        return before

    count = SQL.count_all if scope["owner_id"] is None else SQL.count
    return _Ended(connection.execute(count, scope).fetchone()[0], part, place)


def _found(connection: sqlite3.Connection, scope: _Scope, wanted: Filter, search: Search) -> _Ended:
    job_ids = _jobs(connection, scope, wanted, search)
    ended, dead = filters.condition(wanted, "ended"), filters.condition(wanted, "active")
    states = _states(wanted)
    candidates = SQL.newest_in_state if states else SQL.newest
    candidates = candidates if job_ids is None else SQL.of_jobs
    statement = SQL.matching.format(candidates=candidates, ended=ended.sql, dead=dead.sql)
    values = {**scope, **ended.values, "looked_at": LOOKED_AT_MAX, "job_ids": job_ids, "states": columns.text(states)}
    with filters.searching(connection, ended, search=search):
        ids: list[int] = columns.listed(connection.execute(statement, values).fetchone()[0])
    return _Ended(
        total=len(ids),
        part=lambda offset, limit: ids[offset : offset + limit],
        place=lambda run_id: ids.index(run_id) if run_id in ids else None,
    )


def _states(wanted: Filter) -> list[str]:
    """States of which the filter asks for no run that has another one; empty: it may."""
    known = (term.values for term in wanted.terms if term.key == "state" and not term.negated)
    return next((sorted(map(str, values)) for values in known if _STATES.issuperset(values)), [])


def _jobs(connection: sqlite3.Connection, scope: _Scope, wanted: Filter, search: Search) -> str | None:
    """The ids of the jobs whose runs the filter may mean, as JSON; None: of too many, or of any."""
    terms = Filter(tuple(term for term in wanted.terms if term.key in filters.OF_JOB and not term.negated))
    if not terms:
        return None
    asked = filters.condition(terms, "job")
    values = {**scope, **asked.values, "limit": _JOBS_MAX + 1}
    with filters.searching(connection, asked, search=search):
        found: str = connection.execute(SQL.jobs.format(conditions=asked.sql), values).fetchone()[0]
    return found if len(columns.listed(found)) <= _JOBS_MAX else None


def _today(connection: sqlite3.Connection, scope: _Scope, midnight_ms: int) -> dict[str, int]:
    (_, ended), *others = connection.execute(SQL.today, {**scope, "midnight_ms": midnight_ms})
    counts = {str(state): int(count) for state, count in others}
    succeeded = ended - sum(count for state, count in counts.items() if state != RunState.DEAD)
    return {state: count for state, count in {"succeeded": succeeded, **counts}.items() if count}
