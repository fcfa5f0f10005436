"""From a stored definition and a patch to the draft of the new one: a JSON merge (RFC 7396) with our exceptions.

A field that is given replaces, null is the default again. `env`, `retry` and `mail` are merged by their own fields.
`schedule` and `target` are replaced whole, because half of an old one and half of a new one is neither; a schedule that
names no zone keeps the one it had.
"""

from difflib import get_close_matches
from typing import Any, Final

import msgspec

from jobctl.defaults import ADD, MISFIRE_WITHIN_MS
from jobctl.drafts.circumstances import Circumstances
from jobctl.errors import InvalidInput
from jobctl.mismatch import mismatch
from jobctl.model import (
    Job,
    JobDraft,
    JobSpec,
    Mail,
    Policies,
    RetryDraft,
    Schedule,
    ScheduleDraft,
    ScheduleSpec,
    Target,
)
from jobctl.states import Overlap
from jobctl.wire import seconds
from jobctl_daemon.shown import definition, shown_schedule

_PARTS: Final[dict[str, type[msgspec.Struct]]] = {
    "schedule": ScheduleDraft,
    "target": Target,
    "retry": RetryDraft,
    "mail": Mail,
}
_MERGED: Final = ("env", "retry", "mail")
_FIXED: Final = {
    "source": "it says where the job came from",
    "paused": "`jobctl pause` and `jobctl resume` do that",
}
_FIELDS: Final = tuple(name for name in JobDraft.__struct_fields__ if name not in _FIXED)
_TIMES: Final = ("cron", "every", "at", "after", "on_boot", "on_start")
_NAME_CHARS_MAX: Final = 60


def merged(spec: JobSpec, patch: dict[str, Any], here: Circumstances) -> JobDraft:
    """The draft that `spec` means, with the patch applied. Raises `InvalidInput` for fields that cannot be changed."""
    _check_fields(patch)
    fields = asked(spec, here)
    plan, zone = fields.pop("schedule"), spec.schedule.timezone
    _check_time(plan, patch)
    for name, value in patch.items():
        if name in _MERGED and isinstance(value, dict):
            fields[name] = {**fields.get(name, {}), **value}
        else:
            fields[name] = value
    fields["schedule"] = _schedule(fields.get("schedule", {}) if "schedule" in patch else plan, patch, zone)
    if "overlap_queue" not in patch and fields.get("overlap") != Overlap.QUEUE:
        fields.pop("overlap_queue", None)
    wanted = _without_nulls(fields)
    if not wanted.get("mail", True):  # every part of it was taken out
        del wanted["mail"]
    return _draft(wanted)


def asked(spec: JobSpec, here: Circumstances) -> dict[str, Any]:
    """The fields of a draft that means this definition, as JSON.

    What follows from another field is left out where it is as it follows, so that it goes on following.
    """
    rules, plan = spec.policies, spec.schedule
    after = None if plan.after_job is None else f"{_upstream(plan.after_job, here)}:{plan.after_on}"
    fields: dict[str, Any] = msgspec.to_builtins(definition(plan, spec.execution, rules, after))
    when: dict[str, Any] = msgspec.to_builtins(whole_schedule(plan, after))
    del when["words"], fields["path"]  # made here, never given
    if rules.misfire_within_ms == MISFIRE_WITHIN_MS[rules.misfire]:
        del fields["misfire_within"]
    for name in _following(rules):
        del fields["retry"][name]
    if rules.overlap is not Overlap.QUEUE:
        del fields["overlap_queue"]
    about = {"name": spec.name, "queue": spec.queue, "priority": spec.priority, "schedule": when}
    return _without_nulls(fields | about)


def whole_schedule(plan: ScheduleSpec, after: str | None) -> Schedule:
    """The schedule as it is shown; one by hand too, which has a zone and may have been given more."""
    return shown_schedule(plan, after) or Schedule(
        timezone=plan.timezone,
        words=plan.words,
        jitter=seconds(plan.jitter_ms) if plan.jitter_ms else None,
        dst_gap=plan.dst_gap,
        dst_overlap=plan.dst_overlap,
    )


def _upstream(job_id: int, here: Circumstances) -> str:
    """An id names a job as well as its name does, and no name is a number."""
    return here.upstream[1] if here.upstream and here.upstream[0] == job_id else str(job_id)


def _following(rules: Policies) -> list[str]:
    same = {"backoff": rules.backoff_ms == ADD.backoff_ms, "backoff_max": rules.backoff_max_ms == ADD.backoff_max_ms}
    return [name for name, as_default in same.items() if as_default]


def _schedule(plan: Any, patch: dict[str, Any], zone: str) -> Any:
    """The schedule, with the zone that it keeps when nobody names one."""
    plan = {} if plan is None else plan
    if not isinstance(plan, dict) or "timezone" in (patch.get("schedule") or ()):
        return plan
    others = {name: value for name, value in plan.items() if name != "timezone"}
    if patch.get("run_at") is not None and "schedule" not in patch:
        others = {}
    return others if "timezone" in patch else {**others, "timezone": zone}


def _check_time(plan: dict[str, Any], patch: dict[str, Any]) -> None:
    """A new zone or jitter in a schedule without a time would quietly take the time away."""
    new = patch.get("schedule")
    if new and isinstance(new, dict) and patch.get("run_at") is None and _timed(plan) and not _timed(new):
        raise InvalidInput(
            "a schedule is replaced whole, and this one has no time",
            f"give its {', '.join(_TIMES[:-1])} or {_TIMES[-1]} too; null is by hand",
            field="schedule",
        )


def _timed(plan: dict[str, Any]) -> bool:
    return any(plan.get(name) not in (None, False) for name in _TIMES)


def _without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    """A null is a field that was not given, in the parts as well."""
    return {
        name: {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value
        for name, value in fields.items()
        if value is not None
    }


def _draft(fields: dict[str, Any]) -> JobDraft:
    try:
        return msgspec.convert(fields, JobDraft)
    except msgspec.ValidationError as error:
        raise mismatch(error, fields, JobDraft, "the change") from error


def _check_fields(patch: dict[str, Any]) -> None:
    for name, why in _FIXED.items():
        if name in patch:
            raise InvalidInput(f"{name} cannot be changed here", why, field=name)
    for name in patch:
        if name not in _FIELDS:
            raise _unknown(name)
    for part, kind in _PARTS.items():
        given = patch.get(part)
        for name in given if isinstance(given, dict) else ():
            if name not in kind.__struct_fields__:
                raise _unknown(f"{part}.{name}")


def _unknown(name: str) -> InvalidInput:
    """Which field it may have been; one may also be looked for outside the part that it is in."""
    name = name[:_NAME_CHARS_MAX]
    parted = [f"{part}.{field}" for part, kind in _PARTS.items() for field in kind.__struct_fields__]
    within = {known.rpartition(".")[2]: known for known in (*parted, *_FIELDS)}
    last = name.rpartition(".")[2]
    near = [within[last]] if last in within else get_close_matches(name, (*_FIELDS, *parted), n=1)
    near = near or [within[field] for field in get_close_matches(last, within, n=1)]
    told = name in Job.__struct_encode_fields__
    message = f"{name} is told by the daemon, not set" if told else f"there is no field {name!a}"
    return InvalidInput(
        message, f"did you mean {near[0]}?" if near and not told else "see `jobctl help api`", field=name
    )
