"""What becomes of a claim before its end: started, adopted, given back."""

import sqlite3
from collections.abc import Sequence

from jobctl.states import RunState, SkipReason, Trigger
from jobctl_daemon.rows import Running, StartedAttempt
from jobctl_daemon.store.sqlite import claimed, events, history, one_shots
from jobctl_daemon.store.sqlite.claimed import Claimed
from jobctl_daemon.store.sqlite.columns import policies, text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("attempts")


def started(connection: sqlite3.Connection, attempts: Sequence[StartedAttempt]) -> None:
    """Notes the processes, of attempts just started and of those found alive; an old fence changes nothing."""
    connection.executemany(
        SQL.started, [(a.pid, a.pid_start, a.runner, a.started_ms, a.run_id, a.fence) for a in attempts]
    )


def running(connection: sqlite3.Connection) -> list[Running]:
    """Every claimed run, oldest first."""
    return [
        Running(
            run_id=run_id,
            fence=fence,
            attempt=attempt,
            job_id=job_id,
            boot_id=boot_id,
            pid=pid,
            pid_start=pid_start,
            claimed_ms=claimed_ms,
            started_ms=started_ms,
            stop_wanted=stop_wanted,
        )
        for (
            run_id,
            fence,
            attempt,
            job_id,
            boot_id,
            pid,
            pid_start,
            claimed_ms,
            started_ms,
            stop_wanted,
        ) in connection.execute(SQL.running)
    ]


def unclaim(
    connection: sqlite3.Connection, claims: Sequence[tuple[int, int]], due_ms: int, now_ms: int, why: str
) -> int:
    """Gives claims back, (run id, fence); returns how many.

    What was cancelled meanwhile, or lost its job, ends here; a run whose job was paused meanwhile is held.
    """
    found = claimed.read(connection, [run_id for run_id, _ in claims])
    rows = [row for run_id, fence in dict(claims).items() if (row := found.get(run_id)) and row.holds(fence)]
    stopped = [row for row in rows if row.stop_wanted or row.deleted_ms is not None]
    again = [row for row in rows if not (row.stop_wanted or row.deleted_ms is not None)]
    _give_back(connection, again, due_ms, now_ms, why)
    _cancel(connection, stopped, now_ms)
    return len(rows)


def _give_back(connection: sqlite3.Connection, rows: list[Claimed], due_ms: int, now_ms: int, why: str) -> None:
    connection.executemany(SQL.give_back, [_given_back(row, due_ms) for row in rows])
    changes: list[events.Change] = []
    for row in rows:
        changes.append((now_ms, "run.ready", row.owner_id, row.job_id, row.id, text({"name": row.name, "reason": why})))
        if _held(row):
            data = text({"name": row.name, "reason": SkipReason.PAUSED.value})
            changes.append((now_ms, "run.held", row.owner_id, row.job_id, row.id, data))
    events.append(connection, changes)


def _given_back(row: Claimed, due_ms: int) -> tuple[object, ...]:
    if _held(row):
        return ("scheduled", True, None, due_ms, row.id, row.fence)
    return ("ready", False, row.job_id, due_ms, row.id, row.fence)


def _cancel(connection: sqlite3.Connection, rows: list[Claimed], now_ms: int) -> None:
    history.move(connection, [_cancelled(row, now_ms) for row in rows])
    events.append(
        connection,
        [
            (now_ms, "run.cancelled", row.owner_id, row.job_id, row.id, text({"name": row.name, "key": row.key}))
            for row in rows
        ],
    )
    one_shots.retire(connection, [row.job_id for row in rows if row.one_shot], now_ms)


def _cancelled(row: Claimed, now_ms: int) -> history.Ending:
    late = now_ms - row.due_ms > policies(row.policies).late_after_ms
    state, reason = RunState.CANCELLED, "it was stopped before it began"
    return history.Ending(state, str(state), None, reason, None, now_ms, None, None, late, row.id)


def _held(row: Claimed) -> bool:
    return bool(row.paused) and row.trigger != Trigger.MANUAL
