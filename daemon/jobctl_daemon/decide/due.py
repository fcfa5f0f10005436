"""From a due cursor to runs, rows for what does not run, and the cursor's next place."""

import zlib
from collections.abc import Sequence

from jobctl.schedule import Fire, Once, Schedule
from jobctl.states import SkipReason, Trigger
from jobctl_daemon.decide import misfire
from jobctl_daemon.decide.clock import Gap, cause
from jobctl_daemon.rows import DueJob, Expansion, LedgerRow, NewRun

#: A start this much after its instant is a catch-up, not a busy moment of the daemon.
ON_TIME_MS = 60_000


def expand(
    job: DueJob, schedule: Schedule, now_ms: int, gaps: Sequence[Gap] = (), covered_ms: int | None = None
) -> Expansion:
    """Decides every occurrence in (handled, now]. `job.next_ms` is due, and the first of them.

    `gaps` say why occurrences were missed. What lies at or before `covered_ms` had its row before the clock was set
    back, and is passed over when the clock leaps back over it.
    """
    first_ms = _first(job, schedule, covered_ms)
    at_ms = max(now_ms, covered_ms or now_ms)
    after = schedule.next_after(at_ms)
    backlog = misfire.choose(schedule, job.policies, first_ms, now_ms) if first_ms is not None else misfire.Backlog(())
    rows = [_coalesced(job, fire, now_ms) for fire in backlog.kept if fire.coalesced]
    if backlog.missed:
        rows.insert(0, _missed(job, backlog, now_ms, gaps))
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=runs_of(job, schedule, backlog.kept, now_ms),
        skips=tuple(rows),
        next_ms=after.at_ms if after else None,
        handled_ms=at_ms,
        skip_until_ms=at_ms if at_ms > now_ms else None,  # only what was left out is covered beyond now
    )


def key(job: DueJob, kind: str, *instants: int) -> str:
    """An occurrence's key: its kind and instants, and the clock's generation when it was ever set back."""
    return ":".join(map(str, (kind, *instants, job.generation) if job.generation else (kind, *instants)))


def jitter_ms(job_uid: str, most_ms: int) -> int:
    """The job's own place inside its jitter: stable over restarts, spread over jobs."""
    return zlib.crc32(job_uid.encode()) % (most_ms + 1) if most_ms else 0


def is_late(at_ms: int, now_ms: int) -> bool:
    """Whether a run of this instant is a catch-up."""
    return now_ms - at_ms > ON_TIME_MS


def runs_of(job: DueJob, schedule: Schedule, kept: Sequence[Fire], now_ms: int) -> tuple[NewRun, ...]:
    """The runs of occurrences, on time or as a catch-up; several of one backlog are a catch-up, the newest as well."""
    late = len(kept) > 1
    return tuple(_run(job, schedule, fire, late=late or is_late(fire.at_ms, now_ms)) for fire in kept)


def _run(job: DueJob, schedule: Schedule, fire: Fire, *, late: bool) -> NewRun:
    due_ms = fire.at_ms + jitter_ms(job.job_uid, job.schedule.jitter_ms)
    return NewRun(
        key=key(job, "s", fire.at_ms),
        slot_ms=fire.at_ms,
        due_ms=due_ms,
        start_by_ms=misfire.start_by_ms(schedule, job.policies, due_ms),
        trigger=Trigger.CATCH_UP if late else Trigger.SCHEDULE,
        coalesced=fire.coalesced,
        note=fire.note,
        once_ever=late and job.generation > 0,
    )


def _first(job: DueJob, schedule: Schedule, covered_ms: int | None) -> int | None:
    """The first occurrence that has no row yet. A single instant may lie before everything that is handled."""
    assert job.next_ms is not None
    if covered_ms is None or covered_ms < job.next_ms or isinstance(schedule, Once):
        return job.next_ms
    following = schedule.next_after(covered_ms)
    return following.at_ms if following else None


def _coalesced(job: DueJob, fire: Fire, now_ms: int) -> LedgerRow:
    return LedgerRow(
        job_id=job.job_id,
        key=key(job, "g", fire.at_ms),
        from_ms=fire.at_ms,
        to_ms=fire.at_ms,
        count=fire.coalesced,
        run_id=None,
        reason=SkipReason.COALESCED,
        detail="further times of the same clock change",
        at_ms=now_ms,
    )


def _missed(job: DueJob, backlog: misfire.Backlog, now_ms: int, gaps: Sequence[Gap]) -> LedgerRow:
    least = "" if backlog.exact else "at least "
    reason, words = cause(gaps, backlog.missed_from_ms, backlog.missed_to_ms)
    return LedgerRow(
        job_id=job.job_id,
        key=key(job, "r", backlog.missed_from_ms, backlog.missed_to_ms),
        from_ms=backlog.missed_from_ms,
        to_ms=backlog.missed_to_ms,
        count=backlog.missed,
        run_id=None,
        reason=reason,
        detail=f"{words}; misfire {job.policies.misfire}, {least}{backlog.missed} missed",
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
        skip_until_ms=job.skip_until_ms,
    )
