"""A definition as the job it would become, for those that only ask."""

import msgspec

from jobctl import wire
from jobctl.model import Job, JobSpec
from jobctl.states import RunState
from jobctl_daemon.rows import Caller, Edit
from jobctl_daemon.shown import definition


def as_job(
    spec: JobSpec, owner: Caller, next_ms: int | None, now_ms: int, after: str | None, paused_over: str | None
) -> Job:
    """The job, without the id and uid that only the store gives. `after`: its upstream job as JOB:END; `paused_over`:
    queue or daemon."""
    suspended_by = "job" if spec.paused else paused_over
    return Job(
        id=0,
        uid="",
        name=spec.name,
        owner=owner.name,
        state="ok" if suspended_by is None else "paused",
        enabled=True,
        paused=spec.paused,
        paused_by=owner.name if spec.paused else None,
        paused_since=wire.rfc3339(now_ms) if spec.paused else None,
        paused_until=None,
        paused_why=None,
        suspended_by=suspended_by,
        quarantined=False,
        queue=spec.queue,
        priority=spec.priority,
        version=1,
        rev=1,
        next_run_at=None if next_ms is None or suspended_by is not None else wire.rfc3339(next_ms),
        last_run=None,
        running=0,
        retrying=0,
        dead=0,
        skipping=0,
        error=None,
        source=spec.source,
        created_at=wire.rfc3339(now_ms),
        **definition(spec.schedule, spec.execution, spec.policies, after),
    )


def as_edited(job: Job, next_ms: int | None, edit: Edit, after: str | None, paused_over: str | None) -> Job:
    """The job as the edit would leave it. `next_ms`: where its cursor would wait if nothing held it."""
    suspended_by = "job" if job.paused else paused_over
    if suspended_by is not None:
        next_ms = None
    aimed = edit.schedule_changed or suspended_by != job.suspended_by
    return msgspec.structs.replace(
        job,
        state=_state(job, suspended_by) if aimed else job.state,
        suspended_by=suspended_by,
        name=edit.name,
        queue=edit.queue,
        priority=edit.priority,
        version=job.version + (edit.schedule_changed or edit.execution_changed),
        rev=job.rev + 1,
        next_run_at=None if next_ms is None else wire.rfc3339(next_ms),
        error=None if edit.schedule_changed else job.error,
        **definition(edit.schedule, edit.execution, edit.policies, after),
    )


def _state(job: Job, suspended_by: str | None) -> str:
    """The word for a job whose schedule is aimed anew."""
    if suspended_by is not None:
        return "paused"
    if job.running:
        return "running"
    return "failed" if job.last_run and job.last_run.state in (RunState.FAILED, RunState.DEAD) else "ok"
