"""A definition as the job it would become, for those that only ask."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from jobctl import wire
from jobctl.model import Job, JobSpec, Queue
from jobctl.states import RunState
from jobctl_daemon.rows import Caller, Edit
from jobctl_daemon.shown import QUARANTINED, definition, pause_words


def as_job(
    spec: JobSpec, owner: Caller, next_ms: int | None, now_ms: int, after: str | None, over: Mapping[str, Queue]
) -> Job:
    """The job, without the id and uid that only the store gives. `after`: its upstream job as JOB:END; `over`: the
    pauses of its queue and of the daemon."""
    paused_since = wire.rfc3339(now_ms) if spec.paused else None
    job = Job(
        id=0,
        uid="",
        name=spec.name,
        owner=owner.name,
        state="ok",
        enabled=True,
        paused=spec.paused,
        paused_by=owner.name if spec.paused else None,
        paused_since=paused_since,
        paused_until=None,
        paused_why=None,
        suspended_by=None,
        suspended_since=None,
        suspended_until=None,
        suspended_why=None,
        quarantined=False,
        queue=spec.queue,
        priority=spec.priority,
        version=1,
        rev=1,
        next_run_at=None if next_ms is None else wire.rfc3339(next_ms),
        last_run=None,
        running=0,
        retrying=0,
        dead=0,
        skipping=0,
        error=None,
        source=spec.source,
        declared=spec.declared,
        created_at=wire.rfc3339(now_ms),
        **definition(spec.schedule, spec.execution, spec.policies, after),
    )
    held = _held(job, over, now_ms)
    return msgspec.structs.replace(job, state="paused", next_run_at=None, **held) if held["suspended_by"] else job


def as_edited(
    job: Job, next_ms: int | None, edit: Edit, after: str | None, over: Mapping[str, Queue], now_ms: int
) -> Job:
    """The job as the edit would leave it. `next_ms`: where its cursor would wait if nothing held it."""
    edited = msgspec.structs.replace(
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
    held = _held(edited, over, now_ms)
    suspended_by = held["suspended_by"]
    aimed = edit.schedule_changed or suspended_by != job.suspended_by
    return msgspec.structs.replace(
        edited,
        state=_state(job, suspended_by) if aimed else job.state,
        next_run_at=None if suspended_by else edited.next_run_at,
        **held,
    )


def _held(job: Job, over: Mapping[str, Queue], now_ms: int) -> dict[str, str | None]:
    """The fields that say what holds it: its own pause, or one of those over it."""
    pauses: dict[str, Job | Queue] = {**({"job": job} if job.paused else {}), **over}
    if not pauses:
        return dict.fromkeys(("suspended_by", "suspended_since", "suspended_until", "suspended_why"))
    holder, pause = next(iter(pauses.items()))
    ends = [one.paused_until for one in pauses.values()]
    words = pause_words(holder, job.queue, pause.paused_by, pause.paused_why)
    return {
        "suspended_by": holder,
        "suspended_since": job.suspended_since or wire.rfc3339(now_ms),
        "suspended_until": None if None in ends else max(filter(None, ends), key=datetime.fromisoformat),
        "suspended_why": (job.paused_why or QUARANTINED) if job.quarantined else words,
    }


def _state(job: Job, suspended_by: str | None) -> str:
    """The word for a job whose schedule is aimed anew."""
    if suspended_by is not None:
        return "paused"
    if job.running:
        return "running"
    return "failed" if job.last_run and job.last_run.state in (RunState.FAILED, RunState.DEAD) else "ok"
