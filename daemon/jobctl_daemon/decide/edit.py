"""What a changed definition means for a job's schedule (docs/failures.md: no surprise fire)."""

import msgspec

from jobctl.errors import InvalidInput
from jobctl.model import JobSpec, ScheduleSpec
from jobctl.schedule import Once, Schedule
from jobctl.states import SkipReason
from jobctl_daemon.decide.pause import missed
from jobctl_daemon.rows import DueJob, Edit, LedgerRow


def edit(
    job: DueJob, old: JobSpec, new: JobSpec, rev: int, was: Schedule | None, becomes: Schedule | None, now_ms: int
) -> Edit:
    """The edit as the store writes it. `was`: the old schedule; None when it cannot be expanded any more, and so is
    `becomes` when it stays.

    A changed schedule counts from now: occurrences of the old one up to now that have no row yet become one, and the
    first of the new one is after now. `InvalidInput` for a single instant that has passed: it could only fire by
    surprise. An unchanged schedule leaves the cursor alone, but for one that was parked because of its definition.
    """
    changed = timing(old.schedule) != timing(new.schedule) or job.unreadable is not None
    if changed and isinstance(becomes, Once) and becomes.at_ms <= now_ms:
        raise InvalidInput(
            "this time has passed", "give a time ahead, or run it now: `jobctl run JOB`", field="schedule.at"
        )
    aimed = changed and job.suspended_since_ms is None
    following = becomes.next_after(now_ms) if aimed and becomes is not None else None
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
        missed=_missed(job, was, now_ms) if changed and was is not None else None,
        next_ms=following.at_ms if following else None,
        revision=job.revision,
    )


def timing(spec: ScheduleSpec) -> ScheduleSpec:
    """The schedule without the words that describe it."""
    return msgspec.structs.replace(spec, words="")


def _missed(job: DueJob, was: Schedule, now_ms: int) -> LedgerRow | None:
    if isinstance(was, Once) and job.handled_ms <= job.created_ms:  # it may have passed before the job was made
        job = msgspec.structs.replace(job, handled_ms=min(job.handled_ms, was.at_ms - 1))
    return missed(job, was, now_ms, now_ms, *_why(job))


def _why(job: DueJob) -> tuple[SkipReason, str]:
    if job.quarantined:
        return SkipReason.QUARANTINED, "the job was quarantined"
    if job.suspended_since_ms is not None:
        return SkipReason.PAUSED, "the job was paused"
    return SkipReason.EDITED, "its schedule was edited"
