"""The numbers of the status page. They come from indexes, never from history."""

import sqlite3

from jobctl_daemon.rows import Caller, Counts
from jobctl_daemon.store.sqlite import events, owners
from jobctl_daemon.store.sqlite.statements import load

SQL = load("counts")


def counts(connection: sqlite3.Connection, caller: Caller | None, now_ms: int) -> Counts:
    """Of one owner, or of everybody."""
    owner_id = owners.scope(connection, caller)
    jobs, paused, parked, failed = _jobs(connection, owner_id)
    waiting, held, ready, active = connection.execute(SQL.runs, {"owner_id": owner_id}).fetchone()
    return Counts(
        jobs=jobs,
        paused=paused,
        parked=parked,
        failed=failed,
        scheduled=waiting + held,
        ready=ready,
        running=active - ready,
        oldest_due_ms=_oldest_due(connection, owner_id, now_ms),
        next_ms=_next(connection, owner_id),
        last_event=events.newest(connection),
    )


def _jobs(connection: sqlite3.Connection, owner_id: int | None) -> tuple[int, int, int, int]:
    if owner_id is None:
        row = connection.execute(SQL.jobs).fetchone()
    else:
        row = connection.execute(SQL.jobs_of_owner, (owner_id,)).fetchone()
    jobs, paused, parked, failed = row
    return jobs, paused, parked, failed


def _oldest_due(connection: sqlite3.Connection, owner_id: int | None, now_ms: int) -> int | None:
    parameters = {"owner_id": owner_id, "now_ms": now_ms}
    rows = [connection.execute(sql, parameters).fetchone() for sql in (SQL.oldest_pending, SQL.oldest_ready)]
    return min((row[0] for row in rows if row is not None and row[0] is not None), default=None)


def _next(connection: sqlite3.Connection, owner_id: int | None) -> int | None:
    if owner_id is None:
        row = connection.execute(SQL.next_cursor).fetchone()
    else:
        row = connection.execute(SQL.next_cursor_of_owner, (owner_id,)).fetchone()
    return row[0] if row else None
