"""A definition as the job it would become, for those that only ask."""

import msgspec

from jobctl import wire
from jobctl.model import Job, JobSpec
from jobctl_daemon.rows import Caller, DueJob, Edit
from jobctl_daemon.shown import definition


def as_job(spec: JobSpec, owner: Caller, next_ms: int | None, now_ms: int, after: str | None) -> Job:
    """The job, without the id and uid that only the store gives. `after`: its upstream job as JOB:END."""
    return Job(
        id=0,
        uid="",
        name=spec.name,
        owner=owner.name,
        state="paused" if spec.paused else "ok",
        enabled=True,
        paused=spec.paused,
        paused_by=owner.name if spec.paused else None,
        paused_since=wire.rfc3339(now_ms) if spec.paused else None,
        paused_until=None,
        paused_why=None,
        suspended_by="job" if spec.paused else None,
        quarantined=False,
        queue=spec.queue,
        priority=spec.priority,
        version=1,
        rev=1,
        next_run_at=None if next_ms is None or spec.paused else wire.rfc3339(next_ms),
        last_run=None,
        running=0,
        dead=0,
        skipping=0,
        error=None,
        source=spec.source,
        created_at=wire.rfc3339(now_ms),
        **definition(spec.schedule, spec.execution, spec.policies, after),
    )


def as_edited(job: Job, cursor: DueJob, edit: Edit, after: str | None) -> Job:
    """The job as the edit would leave it."""
    next_ms = edit.next_ms if edit.schedule_changed else cursor.next_ms
    return msgspec.structs.replace(
        job,
        name=edit.name,
        queue=edit.queue,
        priority=edit.priority,
        version=job.version + (edit.schedule_changed or edit.execution_changed),
        rev=job.rev + 1,
        next_run_at=None if next_ms is None else wire.rfc3339(next_ms),
        error=None if edit.schedule_changed else job.error,
        **definition(edit.schedule, edit.execution, edit.policies, after),
    )
