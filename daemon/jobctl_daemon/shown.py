"""How a definition is shown: the part of a `Job` that says what was asked for, whoever knows the rest."""

from typing import Any, Final

from jobctl.model import Execution, Policies, Retry, Schedule, ScheduleSpec
from jobctl.reading.times import duration
from jobctl.wire import rfc3339, seconds

#: Why a job is held whose runs died too often in a row, where nobody said more.
QUARANTINED: Final = "the job was quarantined"


def definition(
    schedule: ScheduleSpec, execution: Execution, policies: Policies, after: str | None, *, listed: bool = False
) -> dict[str, Any]:
    """Fields of a `Job` by name. In a list a job carries neither standard input nor environment."""
    return {
        "schedule": shown_schedule(schedule, after),
        "target": shown_target(execution),
        "stdin": None if listed else execution.stdin,
        "payload_ref": execution.payload_ref,
        "env": {} if listed else execution.env,
        "env_file": execution.env_file,
        "login_env": execution.login_env,
        "user": execution.user,
        "cwd": execution.cwd,
        "path": execution.path,
        "umask": f"{execution.umask:03o}",
        "nice": execution.nice,
        "timeout": None if policies.timeout_ms is None else seconds(policies.timeout_ms),
        "grace": seconds(policies.grace_ms),
        "late_after": seconds(policies.late_after_ms),
        "overlap": policies.overlap,
        "misfire": policies.misfire,
        "misfire_within": seconds(policies.misfire_within_ms),
        "overlap_queue": policies.overlap_queue,
        "limit": policies.limit,
        "retry": shown_retry(policies),
        "on_failure": policies.on_failure,
        "notify": policies.notify,
        "mail": policies.mail,
        "log_max": policies.log_max,
        "tags": policies.tags,
        "note": policies.note,
    }


def shown_schedule(spec: ScheduleSpec, after: str | None) -> Schedule | None:
    """The schedule, `after` as JOB:END by the upstream job's name of today; None for a job run by hand only."""
    if not scheduled(spec):
        return None
    return Schedule(
        timezone=spec.timezone,
        words=spec.words,
        cron=spec.cron,
        every=None if spec.every_ms is None else seconds(spec.every_ms),
        at=None if spec.at_ms is None else rfc3339(spec.at_ms),
        after=after if spec.after_job is not None else None,
        on_boot=spec.on_boot,
        on_start=spec.on_start,
        jitter=seconds(spec.jitter_ms) if spec.jitter_ms else None,
        dst_gap=spec.dst_gap,
        dst_overlap=spec.dst_overlap,
    )


def pause_words(holder: str, queue: str, by: str | None, why: str | None) -> str:
    """Who paused what, and why: `holder` is job, queue or daemon."""
    what = {"job": "the job", "queue": f"the queue {queue}"}.get(holder, "the daemon")
    return f"{what} was paused" + (f" by {by}" if by else "") + (f": {why}" if why else "")


def scheduled(spec: ScheduleSpec) -> bool:
    """Whether anything but a hand starts it."""
    timed = spec.cron is not None or spec.every_ms is not None or spec.at_ms is not None
    return timed or spec.after_job is not None or spec.on_boot or spec.on_start


def expression(spec: ScheduleSpec, after: str | None) -> str:
    """The schedule as it was given, short enough for a table; `after` as JOB:END. By hand it is empty."""
    if spec.cron is not None:
        return spec.cron
    if spec.every_ms is not None:
        return f"every {duration(spec.every_ms / 1000)}"
    if spec.at_ms is not None:
        return "once"
    if spec.after_job is not None:
        return f"after {(after or '?').removesuffix(':success')}"
    return "on boot" if spec.on_boot else "on start" if spec.on_start else ""


def shown_target(execution: Execution) -> dict[str, Any]:
    """What is run, by the name of its form."""
    return {"shell": execution.shell} if execution.shell is not None else {"command": execution.command}


def shown_retry(policies: Policies) -> Retry:
    """What happens after an attempt failed."""
    return Retry(
        max=policies.retries,
        backoff=seconds(policies.backoff_ms),
        backoff_max=seconds(policies.backoff_max_ms),
        no_retry_on=policies.no_retry_on,
        on_lost=policies.on_lost,
        lost=policies.lost_retries,
    )
