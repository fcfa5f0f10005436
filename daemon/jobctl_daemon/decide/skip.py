"""Which occurrences are left out because somebody asked for it."""

from dataclasses import dataclass

from jobctl.schedule import Schedule
from jobctl.states import SkipReason
from jobctl_daemon.decide.due import key
from jobctl_daemon.rows import DueJob, LedgerRow


@dataclass(frozen=True, slots=True)
class Skipped:
    """The row of the occurrences that are left out, and the instant that follows them."""

    row: LedgerRow
    next_ms: int | None


def skip(job: DueJob, schedule: Schedule, count: int, detail: str, now_ms: int) -> Skipped | None:
    """The next `count` occurrences, or as many as there are; None when there is none to come."""
    at_ms = max(now_ms, job.handled_ms)
    left_out: list[int] = []
    following = schedule.next_after(at_ms)
    while following is not None and len(left_out) < count:
        left_out.append(following.at_ms)
        following = schedule.next_after(following.at_ms)
    if not left_out:
        return None
    row = LedgerRow(
        job_id=job.job_id,
        key=key(job, "r", left_out[0], left_out[-1]),
        from_ms=left_out[0],
        to_ms=left_out[-1],
        count=len(left_out),
        run_id=None,
        reason=SkipReason.ASKED,
        detail=detail,
        at_ms=now_ms,
    )
    return Skipped(row, following.at_ms if following else None)
