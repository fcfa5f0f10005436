"""Which occurrences are left out because somebody asked for it, and what is left of that when it is taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from jobctl.schedule import Schedule
from jobctl.states import SkipReason
from jobctl_daemon.decide.due import key
from jobctl_daemon.decide.pause import COUNTED_MAX, row
from jobctl_daemon.rows import Amendment, DueJob, LedgerRow, Unskip

#: Where an edit comes upon a time that is left out, and the row that said why is gone.
BEFORE_AN_EDIT = "left out before its schedule was edited"


@dataclass(frozen=True, slots=True)
class Skipped:
    """The row of the occurrences that are left out, and the instant that follows them."""

    row: LedgerRow
    next_ms: int | None


def skip(job: DueJob, schedule: Schedule, count: int, detail: str, now_ms: int) -> Skipped | None:
    """The next `count` occurrences, or as many as there are; None when there is none to come."""
    at_ms = max(now_ms, job.handled_ms, job.skip_until_ms or 0)
    left_out = [fire.at_ms for fire in islice(schedule.fires(at_ms), count)]
    if not left_out:
        return None
    asked = LedgerRow(
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
    following = schedule.next_after(left_out[-1])
    return Skipped(asked, following.at_ms if following else None)


def unskip(
    job: DueJob, schedule: Schedule, asked: Iterable[LedgerRow], now_ms: int, after_ms: int | None = None
) -> Unskip | None:
    """Nothing to come is left out any more; None when nothing was.

    `asked`: the rows that say so and reach beyond now. `after_ms`: up to where nothing may run again. A job that is
    held goes on counting what it misses from where it was, or from now.
    """
    if job.skips_after(now_ms) is None:
        return None
    held = job.suspended_since_ms is not None
    handled_ms = min(job.handled_ms, now_ms) if held else max(now_ms, after_ms or now_ms)
    following = None if held else schedule.next_after(handled_ms)
    return Unskip(
        job_id=job.job_id,
        revision=job.revision,
        amended=shortened(asked, schedule, now_ms),
        next_ms=following.at_ms if following else None,
        handled_ms=handled_ms,
    )


def shortened(asked: Iterable[LedgerRow], schedule: Schedule, now_ms: int) -> tuple[Amendment, ...]:
    """Rows of occurrences that are left out, cut down to those that have passed."""
    return tuple(_shortened(asked_for, schedule, now_ms) for asked_for in asked)


def carried_over(
    job: DueJob, asked: Sequence[LedgerRow], becomes: Schedule, until_ms: int, now_ms: int
) -> tuple[LedgerRow, ...]:
    """Rows for the occurrences of another schedule in (now, until]: each row of the old one's goes on up to its end."""
    ends = {one.to_ms: one.detail or BEFORE_AN_EDIT for one in asked if one.to_ms <= until_ms}
    rows, after_ms = [], now_ms
    for to_ms, detail in sorted(({until_ms: BEFORE_AN_EDIT} | ends).items()):
        rows.append(row(job, becomes, after_ms, to_ms, now_ms, SkipReason.ASKED, detail))
        after_ms = max(after_ms, to_ms)
    return tuple(made for made in rows if made is not None)


def _shortened(asked: LedgerRow, schedule: Schedule, now_ms: int) -> Amendment:
    last = schedule.latest_at_or_before(now_ms, asked.from_ms - 1)
    if last is None:
        return Amendment(from_ms=asked.from_ms, key=asked.key, to_ms=asked.to_ms, count=0)
    count = schedule.count(asked.from_ms - 1, last.at_ms, COUNTED_MAX).number
    return Amendment(from_ms=asked.from_ms, key=asked.key, to_ms=last.at_ms, count=max(1, count))
