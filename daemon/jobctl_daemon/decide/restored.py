"""What is past in a database that was restored, and stays past (docs/operations.md, "Backup and restore").

Between the moment of the copy and now another life went on, of which nothing is known. What was due in that time may
have run. So none of it runs again by itself: it gets a row that says so, and what had begun waits as a dead letter for
a person. With *catch-up* it is treated as after a time without a daemon, by the misfire policy of each job. What is
due later than now is not past, and stays.
"""

from collections.abc import Container, Sequence
from enum import StrEnum

import msgspec

from jobctl.schedule import Once, Schedule
from jobctl.states import FailureClass, OnFailure, RunState, SkipReason
from jobctl.wire import rfc3339
from jobctl_daemon.decide import due, misfire, pause, storm
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.decide.left_out import Without
from jobctl_daemon.rows import DueJob, Effort, Finish, LedgerRow, Resumption, Unfinished


class Fate(StrEnum):
    """What becomes of a run that had not ended."""

    KEPT = "kept"
    LOST = "lost"
    """It ran then, and no runner knows it."""
    BURIED = "buried"
    """It had begun, and waited."""
    DROPPED = "dropped"
    """The same, of a job that keeps no dead letters."""
    SKIPPED = "skipped"


def words(taken_ms: int, now_ms: int) -> str:
    """The range of which nothing is known."""
    return f"restored from a copy of {_second(taken_ms)}: what became of it until {_second(now_ms)} is unknown"


def fate(run: Unfinished, held: Container[str], now_ms: int, *, catch_up: bool) -> Fate:
    """`held`: names of attempts that runners hold; what they hold is adopted by the next daemon."""
    if run.state == RunState.RUNNING:
        return Fate.KEPT if attempt_id(run.run_id, run.fence) in held else Fate.LOST
    if catch_up or (run.due_ms > now_ms and not run.waits):
        return Fate.KEPT
    if not run.attempt:
        return Fate.SKIPPED
    return Fate.BURIED if run.letter else Fate.DROPPED


def lost(run: Unfinished, effort: Effort, reason: str, now_ms: int) -> Finish:
    """The end of an attempt whose end is unknown, for good."""
    kept = effort.policies.on_failure is OnFailure.DEAD
    return Finish(
        run_id=run.run_id,
        fence=run.fence,
        state=RunState.DEAD if kept else RunState.FAILED,
        outcome=FailureClass.LOST.value,
        failure_class=FailureClass.LOST,
        reason=reason,
        detail=reason,
        fingerprint="restored",
        started_ms=None,
        ended_ms=now_ms,
        counted="lost",
    )


def move(
    job: DueJob, schedule: Schedule, taken_ms: int, now_ms: int, *, catch_up: bool, caught_up: int = 0
) -> Resumption | None:
    """Where a cursor goes, with the row for what is past; None: nothing of it is. `caught_up` runs were made before."""
    if job.handled_ms >= now_ms:
        return None
    if isinstance(schedule, Once):
        return None if catch_up else _single(job, schedule, taken_ms, now_ms)
    suspended = job.suspended_since_ms is not None
    if suspended and catch_up:  # decided when the pause ends
        return None
    backlog = _backlog(job, schedule, now_ms) if catch_up else None
    until_ms = backlog.missed_to_ms if backlog else now_ms
    rows = pause.missed(job, schedule, until_ms, now_ms, SkipReason.RESTORED, words(taken_ms, now_ms))
    following = schedule.next_after(max(now_ms, job.skip_until_ms or 0))
    next_ms = None if suspended or following is None else following.at_ms
    if not rows and backlog is None and next_ms == job.next_ms:
        return None
    runs = due.runs_of(job, schedule, backlog.kept, now_ms) if backlog else ()
    return Resumption(
        job_id=job.job_id,
        revision=job.revision,
        runs=storm.paced(runs, caught_up, now_ms),
        rows=_named(rows),
        next_ms=next_ms,
        handled_ms=now_ms,
    )


def _backlog(job: DueJob, schedule: Schedule, now_ms: int) -> misfire.Backlog | None:
    left = Without(schedule, job.left_out)
    first = left.next_after(job.handled_ms)
    return misfire.choose(left, job.policies, first.at_ms, now_ms) if first and first.at_ms <= now_ms else None


def _single(job: DueJob, schedule: Once, taken_ms: int, now_ms: int) -> Resumption | None:
    """A single instant that was still to come then, and is past: it may have run."""
    suspended = job.suspended_since_ms is not None
    waits = job.next_ms is not None or (suspended and schedule.at_ms > max(job.handled_ms, job.skip_until_ms or 0))
    if not waits or schedule.at_ms > now_ms:
        return None
    row = LedgerRow(
        job_id=job.job_id,
        key=due.key(job, "u", schedule.at_ms),
        from_ms=schedule.at_ms,
        to_ms=schedule.at_ms,
        count=1,
        run_id=None,
        reason=SkipReason.RESTORED,
        detail=words(taken_ms, now_ms),
        at_ms=now_ms,
    )
    return Resumption(job_id=job.job_id, revision=job.revision, rows=(row,), handled_ms=max(now_ms, schedule.at_ms))


def _named(rows: Sequence[LedgerRow]) -> tuple[LedgerRow, ...]:
    """Under keys of their own: a range that was written before the copy may begin and end at the same instants."""
    return tuple(msgspec.structs.replace(row, key=f"u{row.key[1:]}") for row in rows)


def _second(at_ms: int) -> str:
    return rfc3339(at_ms // 1000 * 1000)
