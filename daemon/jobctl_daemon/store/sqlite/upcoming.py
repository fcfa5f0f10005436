"""Jobs in the order in which they fire next, those that pauses hold, and those that are overdue."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobctl.states import Overlap
from jobctl_daemon.rows import Caller, Foreseen, ForeseenFilter, ForeseenPage
from jobctl_daemon.store.sqlite import columns, filters, owners
from jobctl_daemon.store.sqlite.statements import load

SQL = load("upcoming")

_BEFORE_ALL = (-(1 << 62), 0)


def timed(
    connection: sqlite3.Connection,
    caller: Caller,
    wanted: ForeseenFilter,
    until_ms: int,
    after: tuple[int, int] | None,
    limit: int,
) -> ForeseenPage:
    """Of up to `limit` cursors after a (next, job id), the caller's that the filter lets through."""
    place = _place(until_ms, after, limit)
    values = {**place, "owner_id": owners.scope(connection, caller)}
    return ForeseenPage(jobs=_jobs(_filtered(connection, SQL.timed, wanted, values)), after=_last(connection, place))


def timed_ids(
    connection: sqlite3.Connection,
    caller: Caller,
    wanted: ForeseenFilter,
    until_ms: int,
    after: tuple[int, int] | None,
    limit: int,
) -> tuple[list[int], tuple[int, int] | None]:
    """The same, their ids alone, and where the next page begins."""
    place = _place(until_ms, after, limit)
    values = {**place, "owner_id": owners.scope(connection, caller)}
    ids = [job_id for (job_id,) in _filtered(connection, SQL.timed_ids, wanted, values)]
    return ids, _last(connection, place)


def _place(until_ms: int, after: tuple[int, int] | None, limit: int) -> dict[str, int]:
    after_ms, after_id = after or _BEFORE_ALL
    return {"until_ms": until_ms, "after_ms": after_ms, "after_id": after_id, "limit": limit}


def _last(connection: sqlite3.Connection, place: Mapping[str, int]) -> tuple[int, int] | None:
    row = connection.execute(SQL.timed_last, place).fetchone()
    return (row[0], row[1]) if row else None


def held(connection: sqlite3.Connection, caller: Caller) -> list[int]:
    """The ids of the caller's jobs that a pause holds."""
    rows = connection.execute(SQL.held, {"owner_id": owners.scope(connection, caller)})
    return sorted(job_id for (job_id,) in rows)


def of_ids(connection: sqlite3.Connection, job_ids: Sequence[int], wanted: ForeseenFilter) -> list[Foreseen]:
    """What is known of certain jobs, in their order; those that are no more are left out."""
    return _jobs(_filtered(connection, SQL.of_ids, wanted, {"job_ids": columns.text(list(job_ids))}))


def states(connection: sqlite3.Connection, job_ids: Sequence[int]) -> dict[int, str]:
    """The one word of each of these jobs."""
    return dict(connection.execute(SQL.states, (columns.text(list(job_ids)),)).fetchall())


def waiting(
    connection: sqlite3.Connection, caller: Caller, wanted: ForeseenFilter, limit: int
) -> list[tuple[int, int]]:
    """(job id, since when its first run that has not begun is due), those that wait longest first."""
    values = {"owner_id": owners.scope(connection, caller), "limit": limit}
    return _filtered(connection, SQL.waiting, wanted, values)


def _filtered(
    connection: sqlite3.Connection, statement: str, wanted: ForeseenFilter, values: Mapping[str, object]
) -> list[tuple[Any, ...]]:
    asked = filters.condition(wanted.q, "job")
    with filters.searching(connection, asked, search=wanted.search):
        text = statement.format(condition=asked.sql)
        return connection.execute(text, {**asked.values, **values, "now_ms": wanted.now_ms}).fetchall()


def _jobs(rows: Iterable[tuple[Any, ...]]) -> list[Foreseen]:
    return [
        Foreseen(
            job_id=job_id,
            job_uid=uid,
            name=name,
            schedule=columns.schedule(schedule),
            next_ms=next_ms,
            handled_ms=handled_ms,
            skip_until_ms=skip_until,
            held=bool(held),
            late_after_ms=(rules := columns.policies(policies)).late_after_ms,
            alone=rules.overlap is not Overlap.ALLOW,
        )
        for job_id, uid, name, schedule, next_ms, handled_ms, skip_until, held, policies in rows
    ]
