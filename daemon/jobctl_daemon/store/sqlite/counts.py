"""The numbers of the status page. They come from indexes, never from history."""

import sqlite3

from jobctl_daemon.rows import Caller, Counts
from jobctl_daemon.store.sqlite import events, owners, ready, streaks
from jobctl_daemon.store.sqlite.statements import load

SQL = load("counts")


def counts(connection: sqlite3.Connection, caller: Caller | None, now_ms: int) -> Counts:
    """Of one owner, or of everybody."""
    owner_id = owners.scope(connection, caller)
    statement = SQL.jobs if owner_id is None else SQL.jobs_of_owner
    parameters = {"owner_id": owner_id, "skips": streaks.SKIPS_TOLD, "now_ms": now_ms}
    jobs, paused, parked, failed, skipping, quarantined, untold = connection.execute(statement, parameters).fetchone()
    runs = connection.execute(SQL.runs, parameters).fetchone()
    scheduled, held, waiting, ready_all, gates, later, held_gates, dead, died_ms = runs
    return Counts(
        jobs=jobs,
        paused=paused,
        parked=parked,
        failed=failed,
        scheduled=scheduled + held + waiting,
        ready=ready_all,
        running=gates - ready_all - held_gates,
        retrying=later + held_gates,
        oldest_due_ms=_oldest_due(connection, owner_id, now_ms),
        next_ms=_next(connection, owner_id),
        last_event=events.newest(connection),
        dead=dead,
        newest_dead_ms=died_ms,
        skipping=skipping,
        quarantined=quarantined,
        untold=untold,
    )


def _oldest_due(connection: sqlite3.Connection, owner_id: int | None, now_ms: int) -> int | None:
    row = connection.execute(SQL.oldest_pending, {"owner_id": owner_id, "now_ms": now_ms}).fetchone()
    found = (row[0] if row else None, ready.oldest_ms(connection, now_ms, owner_id))
    return min((at_ms for at_ms in found if at_ms is not None), default=None)


def _next(connection: sqlite3.Connection, owner_id: int | None) -> int | None:
    if owner_id is None:
        row = connection.execute(SQL.next_cursor).fetchone()
    else:
        row = connection.execute(SQL.next_cursor_of_owner, (owner_id,)).fetchone()
    return row[0] if row else None
