"""From a due cursor to runs, rows for what does not run, and the cursor's next place."""

import zlib

from jobctl.schedule import Fire, Schedule
from jobctl.states import SkipReason, Trigger
from jobctl_daemon.decide import misfire
from jobctl_daemon.rows import DueJob, Expansion, LedgerRow, NewRun

#: A start this much after its instant is a catch-up, not a busy moment of the daemon.
ON_TIME_MS = 60_000


def expand(job: DueJob, schedule: Schedule, now_ms: int) -> Expansion:
    """Decides every occurrence in (handled, now]. `job.next_ms` is due, and the first of them."""
    assert job.next_ms is not None
    backlog = misfire.choose(schedule, job.policies, job.next_ms, now_ms)
    after = schedule.next_after(now_ms)
    rows = [_coalesced(job, fire, now_ms) for fire in backlog.kept if fire.coalesced]
    if backlog.missed:
        rows.insert(0, _missed(job, backlog, now_ms))
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=tuple(run_of(job, schedule, fire, now_ms) for fire in backlog.kept),
        skips=tuple(rows),
        next_ms=after.at_ms if after else None,
        handled_ms=now_ms,
    )


def jitter_ms(job_uid: str, most_ms: int) -> int:
    """The job's own place inside its jitter: stable over restarts, spread over jobs."""
    return zlib.crc32(job_uid.encode()) % (most_ms + 1) if most_ms else 0


def run_of(job: DueJob, schedule: Schedule, fire: Fire, now_ms: int) -> NewRun:
    """The run of one occurrence, on time or as a catch-up."""
    due_ms = fire.at_ms + jitter_ms(job.job_uid, job.schedule.jitter_ms)
    start_by_ms = misfire.start_by_ms(schedule, job.policies, due_ms)
    late = now_ms - fire.at_ms > ON_TIME_MS
    return NewRun(
        key=f"s:{fire.at_ms}",
        slot_ms=fire.at_ms,
        due_ms=due_ms,
        start_by_ms=start_by_ms,
        trigger=Trigger.CATCH_UP if late else Trigger.SCHEDULE,
        coalesced=fire.coalesced,
        note=fire.note,
    )


def _coalesced(job: DueJob, fire: Fire, now_ms: int) -> LedgerRow:
    return LedgerRow(
        job_id=job.job_id,
        key=f"g:{fire.at_ms}",
        from_ms=fire.at_ms,
        to_ms=fire.at_ms,
        count=fire.coalesced,
        run_id=None,
        reason=SkipReason.COALESCED,
        detail="further times of the same clock change",
        at_ms=now_ms,
    )


def _missed(job: DueJob, backlog: misfire.Backlog, now_ms: int) -> LedgerRow:
    least = "" if backlog.exact else "at least "
    return LedgerRow(
        job_id=job.job_id,
        key=f"r:{backlog.missed_from_ms}:{backlog.missed_to_ms}",
        from_ms=backlog.missed_from_ms,
        to_ms=backlog.missed_to_ms,
        count=backlog.missed,
        run_id=None,
        reason=SkipReason.MISFIRE,
        detail=f"nothing could start it in time; misfire {job.policies.misfire}, {least}{backlog.missed} missed",
        at_ms=now_ms,
    )


def once_per(job: DueJob, key: str, slot_ms: int, trigger: Trigger) -> Expansion:
    """The run of an on-boot or on-start job; its cursor has no instant to move."""
    run = NewRun(key=key, slot_ms=slot_ms, due_ms=slot_ms, start_by_ms=None, trigger=trigger)
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=(run,),
        skips=(),
        next_ms=None,
        handled_ms=slot_ms,
    )
