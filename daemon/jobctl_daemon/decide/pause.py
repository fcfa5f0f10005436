"""What a pause swallowed, and where the cursor goes when it ends (design/execution.md: missed slots become rows)."""

from jobctl.schedule import Once, Schedule
from jobctl.states import SkipReason
from jobctl_daemon.rows import DueJob, LedgerRow

#: An exact count beyond this is not worth the time: years of seconds.
COUNTED_MAX = 100_000


def missed_while_paused(job: DueJob, schedule: Schedule, now_ms: int) -> tuple[LedgerRow | None, int | None]:
    """One row for the occurrences in (handled, now], and the next instant; None where there is none.

    A one-shot that fell into the pause is not missed: it runs when the pause ends, as after any other delay.
    """
    if isinstance(schedule, Once):
        untouched = job.handled_ms <= job.created_ms  # also one whose instant had passed when it was made
        return None, schedule.at_ms if untouched or schedule.at_ms > job.handled_ms else None
    following = schedule.next_after(now_ms)
    next_ms = following.at_ms if following else None
    first = schedule.next_after(job.handled_ms)
    last = schedule.latest_at_or_before(now_ms, job.handled_ms)
    if first is None or last is None:
        return None, next_ms
    count = schedule.count(job.handled_ms, last.at_ms, COUNTED_MAX)
    return _row(job, first.at_ms, last.at_ms, max(1, count.number), count.exact, now_ms), next_ms


def _row(job: DueJob, from_ms: int, to_ms: int, count: int, exact: bool, now_ms: int) -> LedgerRow:
    return LedgerRow(
        job_id=job.job_id,
        key=f"r:{from_ms}:{to_ms}",
        from_ms=from_ms,
        to_ms=to_ms,
        count=count,
        run_id=None,
        reason=SkipReason.PAUSED,
        detail="the job was paused" if exact else f"the job was paused; at least {count} were missed",
        at_ms=now_ms,
    )
