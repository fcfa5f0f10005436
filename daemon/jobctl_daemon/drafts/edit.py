"""The new definition of a job that there is. What a patch does not touch stays exactly as it is."""

from typing import Any, Final

import msgspec

from jobctl.defaults import ADD
from jobctl.drafts.circumstances import Circumstances
from jobctl.drafts.job import Checked
from jobctl.drafts.names import checked_name
from jobctl.drafts.place import place_of
from jobctl.drafts.policies import checked_policies
from jobctl.drafts.when import checked_schedule, first_ms
from jobctl.drafts.work import checked_work
from jobctl.errors import InvalidInput
from jobctl.model import JobDraft, JobSpec, ScheduleSpec
from jobctl.schedule import warnings_of
from jobctl_daemon.drafts.merge import merged
from jobctl_daemon.schedules import schedule_of

_WORK: Final = frozenset({
    "target", "stdin", "payload_ref", "env", "env_file", "login_env", "user", "cwd", "umask", "nice",
})  # fmt: skip


def checked_edit(spec: JobSpec, patch: dict[str, Any], here: Circumstances) -> Checked:
    """The definition after a patch; its instant and its warnings are those of a schedule that changed.

    A schedule that means the same as before is the old value: an interval keeps its anchor and a one-shot its instant.
    One that this host cannot expand, or a user who is gone, is in the way only of a change to itself.
    """
    draft = merged(spec, patch, here)
    schedule = _schedule(spec.schedule, draft, patch, here)
    work = spec.execution
    if not _WORK.isdisjoint(patch):
        work = msgspec.structs.replace(checked_work(draft, here), path=work.path)
    queue, priority = place_of(draft, ADD, here)
    edited = msgspec.structs.replace(
        spec,
        name=checked_name(draft.name, draft.target),
        schedule=schedule,
        execution=work,
        policies=checked_policies(draft, ADD),
        queue=queue,
        priority=priority,
    )
    named = draft.name is not None
    if schedule == spec.schedule:
        return Checked(edited, None, (), named)
    value = schedule_of(schedule)
    return Checked(edited, first_ms(schedule, value, here), warnings_of(value), named)


def _schedule(old: ScheduleSpec, draft: JobDraft, patch: dict[str, Any], here: Circumstances) -> ScheduleSpec:
    if "schedule" not in patch and patch.get("run_at") is None:
        return _in_zone(old, draft.timezone or here.host_tz) if "timezone" in patch else old
    new = checked_schedule(draft.schedule, draft.run_at, draft.timezone, here)
    if new.every_ms == old.every_ms:
        new = msgspec.structs.replace(new, anchor_ms=old.anchor_ms)
    return old if msgspec.structs.replace(new, words=old.words) == old else new


def _in_zone(old: ScheduleSpec, zone: str) -> ScheduleSpec:
    if zone == old.timezone:
        return old
    new = msgspec.structs.replace(old, timezone=zone)
    try:
        schedule_of(new)
    except InvalidInput as error:
        raise InvalidInput(error.message, error.hint, field="timezone") from error
    return new
