"""What a pause swallowed, and where the cursor goes when it ends (docs/failures.md, "Pauses")."""

import msgspec

from jobctl.schedule import Once, Schedule
from jobctl.states import SkipReason
from jobctl_daemon.decide import due, misfire
from jobctl_daemon.decide.left_out import Without, stretches
from jobctl_daemon.rows import DueJob, LedgerRow, Resumption

#: An exact count beyond this is not worth the time: years of seconds.
COUNTED_MAX = 100_000


def from_its_rows(job: DueJob, covered_ms: int | None) -> DueJob:
    """A held job whose cursor went back with the clock, as it counts what it missed: from where its rows end.

    `covered_ms`: until when it had its rows as its pause began, in whatever generation; None: nobody knows, so the
    cursor is right. What the pause itself lived through again is counted again.
    """
    since_ms = job.suspended_since_ms
    if covered_ms is None or since_ms is None:
        return job
    return msgspec.structs.replace(job, handled_ms=max(job.handled_ms, min(covered_ms, since_ms)))


def resumption(job: DueJob, schedule: Schedule, now_ms: int, *, catch_up: bool) -> Resumption:
    """What becomes of a job whose pause is over.

    Occurrences in (handled, now] become one row; with `catch_up` those that its misfire policy keeps run after all.
    What somebody asked to leave out stays so, and has its row already. A one-shot that fell into the pause is not
    missed: it runs when the pause ends, as after any other delay.
    """
    skipped_ms = job.skip_until_ms or 0
    if isinstance(schedule, Once):
        untouched = job.handled_ms <= job.created_ms  # also one whose instant had passed when it was made
        waits = (untouched or schedule.at_ms > job.handled_ms) and schedule.at_ms > skipped_ms
        next_ms = schedule.at_ms if waits else None
        return Resumption(job_id=job.job_id, revision=job.revision, next_ms=next_ms, handled_ms=skipped_ms)
    backlog = _kept(job, Without(schedule, job.left_out), now_ms) if catch_up else None
    until_ms = backlog.missed_to_ms if backlog else now_ms
    following = schedule.next_after(max(now_ms, job.handled_ms, skipped_ms))
    return Resumption(
        job_id=job.job_id,
        revision=job.revision,
        runs=due.runs_of(job, schedule, backlog.kept, now_ms) if backlog else (),
        rows=missed(job, schedule, until_ms, now_ms, *_why(job, catch_up)) + _passed_over(job, schedule, now_ms),
        next_ms=following.at_ms if following else None,
        handled_ms=max(now_ms, skipped_ms),
    )


def _passed_over(job: DueJob, schedule: Schedule, now_ms: int) -> tuple[LedgerRow, ...]:
    """Rows for what lies ahead, and yet before what somebody asked to leave out: the clock was set back behind it, and
    the cursor goes behind all of it at once."""
    if not job.generation:
        return ()
    pieces = stretches(max(now_ms, job.handled_ms), job.skip_until_ms or 0, job.left_out)
    words = "the clock was set back while the job was held; it goes on behind what was asked to be left out"
    rows = (row(job, schedule, after_ms, to_ms, now_ms, SkipReason.CLOCK, words) for after_ms, to_ms in pieces)
    return tuple(made for made in rows if made is not None)


def missed(
    job: DueJob, schedule: Schedule, until_ms: int, now_ms: int, reason: SkipReason, detail: str
) -> tuple[LedgerRow, ...]:
    """One row for the occurrences in (handled, until], none where there is none; what was left out comes between."""
    pieces = stretches(job.handled_ms, until_ms, job.left_out)
    rows = (row(job, schedule, after_ms, to_ms, now_ms, reason, detail) for after_ms, to_ms in pieces)
    return tuple(made for made in rows if made is not None)


def row(
    job: DueJob, schedule: Schedule, after_ms: int, to_ms: int, now_ms: int, reason: SkipReason, detail: str
) -> LedgerRow | None:
    """For the occurrences in (after, to], or None when there is none."""
    first = schedule.next_after(after_ms)
    last = schedule.latest_at_or_before(to_ms, after_ms)
    if first is None or last is None:
        return None
    count = schedule.count(after_ms, last.at_ms, COUNTED_MAX)
    number = max(1, count.number)
    return LedgerRow(
        job_id=job.job_id,
        key=due.key(job, "r", first.at_ms, last.at_ms),
        from_ms=first.at_ms,
        to_ms=last.at_ms,
        count=number,
        run_id=None,
        reason=reason,
        detail=detail if count.exact else f"{detail}; at least {number} were missed",
        at_ms=now_ms,
    )


def _kept(job: DueJob, schedule: Schedule, now_ms: int) -> misfire.Backlog | None:
    first = schedule.next_after(job.handled_ms)
    if first is None or first.at_ms > now_ms:
        return None
    return misfire.choose(schedule, job.policies, first.at_ms, now_ms)


def _why(job: DueJob, catch_up: bool) -> tuple[SkipReason, str]:
    reason = SkipReason.QUARANTINED if job.quarantined else SkipReason.PAUSED
    words = job.suspended_why or "the job was paused"
    return reason, f"{words}; misfire {job.policies.misfire} at its resumption" if catch_up else words
