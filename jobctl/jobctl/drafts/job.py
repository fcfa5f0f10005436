"""The whole definition."""

from dataclasses import dataclass
from typing import Final

import msgspec

from jobctl.defaults import ADD, RUN, Defaults
from jobctl.drafts.circumstances import Circumstances
from jobctl.drafts.names import checked_name
from jobctl.drafts.place import place_of
from jobctl.drafts.policies import checked_policies
from jobctl.drafts.schedules import AfterJob, ByHand, schedule_of
from jobctl.drafts.values import matching
from jobctl.drafts.when import checked_schedule, due_at, first_ms
from jobctl.drafts.work import checked_work
from jobctl.model import JobDraft, JobSpec, RunDraft, ScheduleDraft
from jobctl.schedule import warnings_of

_SOURCE: Final = r"(?:api|cli|file|crontab)(?::[^\x00-\x1f\x7f]{1,500})?"


@dataclass(frozen=True, slots=True)
class Checked:
    """A definition that the store can take, the instant to wait for, and what its author should know."""

    spec: JobSpec
    next_ms: int | None
    warnings: tuple[str, ...]
    named: bool = True
    """False when the name was made from the command: then it may be changed to one that is free."""


def checked_job(draft: JobDraft, here: Circumstances, otherwise: Defaults = ADD) -> Checked:
    """The definition that a draft means; `otherwise` is what holds for what it does not say."""
    schedule = checked_schedule(draft.schedule, draft.run_at, draft.timezone, here)
    value = schedule_of(schedule)
    queue, priority = place_of(draft, otherwise, here)
    spec = JobSpec(
        name=checked_name(draft.name, draft.target),
        schedule=schedule,
        execution=checked_work(draft, here),
        policies=checked_policies(draft, otherwise),
        queue=queue,
        priority=priority,
        source=matching(draft.source, _SOURCE, "source", "it is api, cli, file or crontab"),
        paused=draft.paused,
    )
    timeless = isinstance(value, ByHand | AfterJob)
    warnings = [*warnings_of(value), *_zone_warnings(draft.schedule, draft.timezone, here, timeless)]
    return Checked(spec, first_ms(schedule, value, here), tuple(warnings), named=draft.name is not None)


def checked_run(draft: RunDraft, here: Circumstances) -> tuple[JobSpec, int]:
    """The hidden job of an ad-hoc command, and the instant at which it is due. Policies: those of `jobctl run`."""
    job = JobDraft(
        target=draft.target,
        name=draft.name,
        stdin=draft.stdin,
        env=draft.env,
        user=draft.user,
        cwd=draft.cwd,
        umask=draft.umask,
        timeout=draft.timeout,
        grace=draft.grace,
        retry=draft.retry,
        on_failure=draft.on_failure,
        queue=draft.queue,
        priority=draft.priority,
        notify=draft.notify,
        log_max=draft.log_max,
        note=draft.note,
    )
    spec = checked_job(job, here, RUN).spec
    due_ms = due_at(draft.run_at, draft.timezone, here)
    return msgspec.structs.replace(spec, hidden=True), due_ms


def _zone_warnings(draft: ScheduleDraft | None, timezone: str | None, here: Circumstances, timeless: bool) -> list[str]:
    given = timezone or (draft.timezone if draft else None)
    if given or here.host_tz_known or timeless:
        return []
    return [f"this host does not say its time zone, so {here.host_tz} is used; give one with --tz"]
