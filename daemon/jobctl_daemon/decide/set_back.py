"""Where a cursor goes when the wall clock was set back, and the row that says so (docs/decisions/0010).

As cron does: what follows the real minutes (wildcards and intervals) goes on at once, and times that are lived again
are new occurrences. What has a fixed time waits where it is, so that nothing that has run runs again, unless the step
corrects a wrong clock. A cursor is touched only when it stands beyond now, so doing it twice is doing it once.
"""

from jobctl.schedule import Cron, Every, Schedule
from jobctl.states import SkipReason
from jobctl.wire import rfc3339
from jobctl_daemon.decide.due import key
from jobctl_daemon.decide.misfire import COUNTED_MAX
from jobctl_daemon.rows import ClockStep, DueJob, Expansion, LedgerRow


def held_until(schedule: Schedule, last: ClockStep | None, now_ms: int) -> int:
    """Up to where a schedule waits for what it has run already; now when the clock was not set back over it."""
    held = last is not None and not last.correction and is_fixed(schedule)
    return max(now_ms, last.held_ms) if held and last is not None else now_ms


def aim(job: DueJob, schedule: Schedule, step: ClockStep, now_ms: int) -> Expansion | None:
    """The cursor's new place, or the row of what is not repeated; None: it stands right.

    `handled_ms` may go back here. A single instant is never touched: it lies ahead, or is done.
    """
    if job.handled_ms <= now_ms or not isinstance(schedule, Cron | Every):
        return None
    if not step.correction and is_fixed(schedule):
        return _not_repeated(job, schedule, step, now_ms)
    if not step.correction and job.skips_after(now_ms) is not None:
        return None
    if job.suspended_since_ms is not None:  # what a pause swallows is counted when it ends
        return _moved(job, None, now_ms)
    following = schedule.next_after(now_ms)
    return _moved(job, following.at_ms if following else None, now_ms)


def is_fixed(schedule: Schedule) -> bool:
    """Whether it has fixed times of the day, to which a small step back must not lead twice."""
    return isinstance(schedule, Cron) and not schedule.fields.wildcard


def _moved(
    job: DueJob,
    next_ms: int | None,
    handled_ms: int,
    rows: tuple[LedgerRow, ...] = (),
    skip_until_ms: int | None = None,
) -> Expansion:
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=(),
        skips=rows,
        next_ms=next_ms,
        handled_ms=handled_ms,
        skip_until_ms=skip_until_ms,
    )


def _not_repeated(job: DueJob, schedule: Schedule, step: ClockStep, now_ms: int) -> Expansion | None:
    until_ms = min(job.handled_ms, step.from_ms)
    first = schedule.next_after(step.to_ms)
    last = schedule.latest_at_or_before(until_ms, step.to_ms)
    if first is None or last is None:
        return None
    was, is_now = rfc3339(step.from_ms // 1000 * 1000), rfc3339(step.to_ms // 1000 * 1000)
    row = LedgerRow(
        job_id=job.job_id,
        key=key(job, "c", step.to_ms),
        from_ms=first.at_ms,
        to_ms=last.at_ms,
        count=max(1, schedule.count(step.to_ms, last.at_ms, COUNTED_MAX).number),
        run_id=None,
        reason=SkipReason.CLOCK,
        detail=f"the clock was set back from {was} to {is_now}: what came before does not come again",
        at_ms=now_ms,
    )
    return _moved(job, job.next_ms, job.handled_ms, (row,), job.skip_until_ms)
