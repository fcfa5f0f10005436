"""What a changed definition means for a job's schedule (docs/failures.md: no surprise fire)."""

from collections.abc import Sequence

import msgspec

from jobctl.errors import InvalidInput
from jobctl.model import JobSpec, ScheduleSpec
from jobctl.schedule import Once, Schedule
from jobctl.states import SkipReason
from jobctl_daemon.decide.pause import missed
from jobctl_daemon.decide.skip import carried_over, shortened
from jobctl_daemon.rows import Amendment, DueJob, Edit, LedgerRow


def edit(
    job: DueJob,
    old: JobSpec,
    new: JobSpec,
    rev: int,
    was: Schedule | None,
    becomes: Schedule | None,
    now_ms: int,
    asked: Sequence[LedgerRow],
) -> Edit:
    """The edit as the store writes it. `was`: the old schedule; None when it cannot be expanded any more, and so is
    `becomes` when it stays.

    A changed schedule counts from now: occurrences of the old one up to now that have no row yet become one, and the
    first of the new one is after now, and after what somebody asked to leave out: the rows of that which reach beyond
    now are `asked`. A single instant is asked for itself, so it is not left out; `InvalidInput` for one that has
    passed: it could only fire by surprise. An unchanged schedule leaves the cursor alone, but for one that was parked
    because of its definition.
    """
    changed = timing(old.schedule) != timing(new.schedule) or job.unreadable is not None
    if changed and isinstance(becomes, Once) and becomes.at_ms <= now_ms:
        raise InvalidInput(
            "this time has passed", "give a time ahead, or run it now: `jobctl run JOB`", field="schedule.at"
        )
    skip_until_ms = None if isinstance(becomes, Once) else job.skips_after(now_ms)
    handled_ms = skip_until_ms or now_ms
    aimed = changed and job.suspended_since_ms is None
    following = becomes.next_after(handled_ms) if aimed and becomes is not None else None
    rows = _missed(job, was, now_ms) if changed and was is not None else ()
    amended: tuple[Amendment, ...] = ()
    if changed and was is not None and becomes is not None and job.skips_after(now_ms) is not None:
        carried, amended = _carried_over(job, asked, was, becomes, skip_until_ms, now_ms)
        rows += carried
    return Edit(
        job_id=job.job_id,
        rev=rev,
        name=new.name,
        schedule=new.schedule,
        execution=new.execution,
        policies=new.policies,
        queue=new.queue,
        priority=new.priority,
        schedule_changed=changed,
        execution_changed=old.execution != new.execution,
        rows=rows,
        amended=amended,
        next_ms=following.at_ms if following else None,
        handled_ms=handled_ms,
        skip_until_ms=skip_until_ms,
        revision=job.revision,
    )


def timing(spec: ScheduleSpec) -> ScheduleSpec:
    """The schedule without the words that describe it."""
    return msgspec.structs.replace(spec, words="")


def _missed(job: DueJob, was: Schedule, now_ms: int) -> tuple[LedgerRow, ...]:
    if isinstance(was, Once) and job.handled_ms <= job.created_ms:  # it may have passed before the job was made
        job = msgspec.structs.replace(job, handled_ms=min(job.handled_ms, was.at_ms - 1))
    return missed(job, was, now_ms, now_ms, *_why(job))


def _carried_over(
    job: DueJob, asked: Sequence[LedgerRow], was: Schedule, becomes: Schedule, until_ms: int | None, now_ms: int
) -> tuple[tuple[LedgerRow, ...], tuple[Amendment, ...]]:
    """The rows of what stays left out, and what is left of those that said so before; not what is as it was."""
    rows = carried_over(job, asked, becomes, until_ms, now_ms) if until_ms is not None else ()
    same = {(row.from_ms, row.key, row.count) for row in rows} & {(row.from_ms, row.key, row.count) for row in asked}
    left = [row for row in asked if (row.from_ms, row.key, row.count) not in same]
    fresh = tuple(row for row in rows if (row.from_ms, row.key, row.count) not in same)
    return fresh, shortened(left, was, now_ms)


def _why(job: DueJob) -> tuple[SkipReason, str]:
    if job.suspended_since_ms is not None:
        reason = SkipReason.QUARANTINED if job.quarantined else SkipReason.PAUSED
        return reason, job.suspended_why or "the job was paused"
    return SkipReason.EDITED, "its schedule was edited"
