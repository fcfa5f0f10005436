"""A definition as the job it would become, for those that only ask."""

from typing import Any

from jobctl import wire
from jobctl.model import Execution, Job, JobSpec, Schedule, ScheduleSpec
from jobctl_daemon.rows import Caller


def as_job(spec: JobSpec, owner: Caller, next_ms: int | None, now_ms: int) -> Job:
    """The job, without the id and uid that only the store gives."""
    work, rules = spec.execution, spec.policies
    paused_since = wire.rfc3339(now_ms) if spec.paused else None
    return Job(
        id=0,
        uid="",
        name=spec.name,
        owner=owner.name,
        state="paused" if spec.paused else "ok",
        enabled=True,
        paused=spec.paused,
        paused_by=owner.name if spec.paused else None,
        paused_since=paused_since,
        paused_until=None,
        paused_why=None,
        schedule=_schedule(spec.schedule),
        target=_target(work),
        stdin=work.stdin,
        payload_ref=work.payload_ref,
        env=work.env,
        env_file=work.env_file,
        user=work.user,
        cwd=work.cwd,
        umask=f"{work.umask:03o}",
        nice=work.nice,
        timeout=None if rules.timeout_ms is None else wire.seconds(rules.timeout_ms),
        grace=wire.seconds(rules.grace_ms),
        late_after=wire.seconds(rules.late_after_ms),
        overlap=rules.overlap,
        misfire=rules.misfire,
        misfire_within=wire.seconds(rules.misfire_within_ms),
        log_max=rules.log_max,
        queue="default",
        priority=0,
        version=1,
        rev=1,
        next_run_at=None if next_ms is None or spec.paused else wire.rfc3339(next_ms),
        last_run=None,
        running=0,
        error=None,
        tags=rules.tags,
        note=rules.note,
        source=spec.source,
        created_at=wire.rfc3339(now_ms),
    )


def _target(work: Execution) -> dict[str, Any]:
    return {"command": work.command} if work.command is not None else {"shell": work.shell}


def _schedule(spec: ScheduleSpec) -> Schedule | None:
    if spec.cron is None and spec.every_ms is None and spec.at_ms is None and not (spec.on_boot or spec.on_start):
        return None
    return Schedule(
        timezone=spec.timezone,
        words=spec.words,
        cron=spec.cron,
        every=None if spec.every_ms is None else wire.seconds(spec.every_ms),
        at=None if spec.at_ms is None else wire.rfc3339(spec.at_ms),
        on_boot=spec.on_boot,
        on_start=spec.on_start,
        jitter=wire.seconds(spec.jitter_ms) if spec.jitter_ms else None,
        dst_gap=spec.dst_gap,
        dst_overlap=spec.dst_overlap,
    )
