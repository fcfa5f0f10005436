"""What becomes of a claim before its end: started, given back."""

import sqlite3
from collections.abc import Sequence

from jobctl.states import RunState, SkipReason
from jobctl_daemon.rows import Effort, Running, StartedAttempt
from jobctl_daemon.store.sqlite import claimed, dependents, events, gates, history, one_shots, replays
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


def efforts(connection: sqlite3.Connection, run_ids: Sequence[int]) -> list[Effort]:
    """Running attempts as the retry rule sees them."""
    return [
        Effort(
            run_id=run_id,
            fence=fence,
            key=key,
            attempt=attempt,
            failures=failures,
            losses=losses,
            probe=bool(probe),
            policies=policies(rules),
            stop_by=stop_by,
        )
        for run_id, fence, key, attempt, failures, losses, probe, rules, stop_by in connection.execute(
            SQL.efforts, (text(run_ids),)
        )
    ]


def unclaim(
    connection: sqlite3.Connection, claims: Sequence[tuple[int, int]], due_ms: int, now_ms: int, why: str
) -> int:
    """Gives claims back, (run id, fence); returns how many.

    What was cancelled meanwhile, or lost its job, ends here; a run whose job was paused meanwhile is held.
    """
    rows = _held_by(connection, claims)
    _give_back(connection, [row for row in rows if not row.unwanted], due_ms, now_ms, why, counted=False)
    _cancel(connection, [row for row in rows if row.unwanted], now_ms)
    return len(rows)


def returned(
    connection: sqlite3.Connection, claims: Sequence[tuple[int, int]], most: int, now_ms: int, why: str
) -> list[int]:
    """Gives claims back that a dead daemon left; returns the runs whose claims came back too often."""
    rows = _held_by(connection, claims)
    poison = [row for row in rows if row.returns + 1 >= most and not row.unwanted]
    again = [row for row in rows if row.returns + 1 < most and not row.unwanted]
    _give_back(connection, again, now_ms, now_ms, why, counted=True)
    _cancel(connection, [row for row in rows if row.unwanted], now_ms)
    return [row.id for row in poison]


def _held_by(connection: sqlite3.Connection, claims: Sequence[tuple[int, int]]) -> list[Claimed]:
    found = claimed.read(connection, [run_id for run_id, _ in claims])
    return [row for run_id, fence in dict(claims).items() if (row := found.get(run_id)) and row.holds(fence)]


def _give_back(
    connection: sqlite3.Connection, rows: list[Claimed], due_ms: int, now_ms: int, why: str, *, counted: bool
) -> None:
    connection.executemany(
        SQL.give_back,
        [
            {"held": row.held, "due_ms": due_ms, "counted": counted, "run_id": row.id, "fence": row.fence}
            for row in rows
        ],
    )
    changes: list[events.Change] = []
    for row in rows:
        changes.append((now_ms, "run.ready", row.owner_id, row.job_id, row.id, text({"name": row.name, "reason": why})))
        if row.held:
            data = text({"name": row.name, "reason": SkipReason.PAUSED.value})
            changes.append((now_ms, "run.held", row.owner_id, row.job_id, row.id, data))
    events.append(connection, changes)
    gates.freed(connection, {row.job_id for row in rows if row.held and row.attempt == 1}, now_ms)


def _cancel(connection: sqlite3.Connection, rows: list[Claimed], now_ms: int) -> None:
    history.move(connection, [_cancelled(row, now_ms) for row in rows])
    events.append(
        connection,
        [
            (now_ms, "run.cancelled", row.owner_id, row.job_id, row.id, text({"name": row.name, "key": row.key}))
            for row in rows
        ],
    )
    gates.freed(connection, {row.job_id for row in rows}, now_ms)
    ends = [dependents.End(row.job_id, row.id, RunState.CANCELLED, now_ms) for row in rows if row.attempt > 1]
    dependents.start(connection, ends, now_ms)
    for row in rows:
        if row.batch is not None:
            replays.go_on(connection, row.batch, row.id, now_ms, failed=False)
    one_shots.retire(connection, [row.job_id for row in rows if row.one_shot], now_ms)


def _cancelled(row: Claimed, now_ms: int) -> history.Ending:
    by = f"by {row.stop_by} " if row.stop_by else ""
    return history.Ending(
        run_id=row.id,
        state=RunState.CANCELLED,
        outcome=RunState.CANCELLED.value,
        reason=f"it was stopped {by}before it began",
        finished_ms=now_ms,
        late=now_ms - row.due_ms > policies(row.policies).late_after_ms,
    )
