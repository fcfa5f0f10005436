"""When a job is due: its schedule, its zone, and its first instant."""

from typing import Final

import msgspec

from jobctl.drafts.circumstances import Circumstances
from jobctl.drafts.schedules import after_words, schedule_of
from jobctl.drafts.values import milliseconds
from jobctl.errors import InvalidInput
from jobctl.model import ScheduleDraft, ScheduleSpec
from jobctl.schedule import Schedule, describe, parse_cron, parse_when
from jobctl.states import After

SELECTOR_CHARS_MAX: Final = 255


def checked_schedule(
    draft: ScheduleDraft | None, run_at: str | None, timezone: str | None, here: Circumstances
) -> ScheduleSpec:
    """The schedule that a draft means, with its words; none of its fields set means: by hand."""
    wanted = draft or ScheduleDraft()
    zone = _zone(wanted.timezone, timezone, here)
    at = _one_at(wanted, run_at)
    after = after_of(wanted)
    upstream = None if after is None else _found(after[0], here)
    at_ms = None if at is None else _instant(at, zone, "run_at" if run_at is not None else "schedule.at", here)
    reboot = wanted.cron is not None and _is_reboot(wanted.cron)
    spec = ScheduleSpec(
        timezone=zone,
        cron=None if reboot else wanted.cron,
        every_ms=milliseconds(wanted.every, "schedule.every"),
        anchor_ms=here.now_ms if wanted.every is not None else 0,
        at_ms=at_ms,
        after_job=upstream[0] if upstream else None,
        after_on=after[1] if after else After.SUCCESS,
        on_boot=wanted.on_boot or reboot,
        on_start=wanted.on_start,
        jitter_ms=milliseconds(wanted.jitter, "schedule.jitter") or 0,
        dst_gap=wanted.dst_gap,
        dst_overlap=wanted.dst_overlap,
        words=after_words(upstream[1], after[1]) if upstream and after else "",
    )
    try:
        spec = msgspec.structs.replace(spec, words=describe(schedule_of(spec)))
    except InvalidInput as error:
        raise _within("schedule", error) from error
    if spec.after_job is not None and spec.jitter_ms:
        raise InvalidInput(
            "a job that comes after another has no time of its own to move", "leave it out", field="schedule.jitter"
        )
    return spec


def after_of(draft: ScheduleDraft | None) -> tuple[str, After] | None:
    """The job that a draft comes after, as it was written, and with which end; the caller looks the job up.

    JOB[:success|failure|any]; a colon with anything else behind it is part of the job's name.
    """
    if draft is None or draft.after is None:
        return None
    selector, colon, end = draft.after.rpartition(":")
    known = bool(colon) and end in set(After)
    job, on = (selector, After(end)) if known else (draft.after, After.SUCCESS)
    if not job or len(job) > SELECTOR_CHARS_MAX or not job.isprintable():
        raise InvalidInput(
            f"{draft.after[:40]!a} names no job", f"JOB, or JOB:{'|'.join(After)}", field="schedule.after"
        )
    return job, on


def _found(job: str, here: Circumstances) -> tuple[int, str]:
    if here.upstream is None:
        raise InvalidInput(f"there is no job {job[:40]!a} to come after", "see `jobctl ls`", field="schedule.after")
    return here.upstream


def _is_reboot(cron: str) -> bool:
    try:
        return parse_cron(cron).reboot
    except InvalidInput as error:
        raise _within("schedule", error) from error


def _one_at(wanted: ScheduleDraft, run_at: str | None) -> str | None:
    if run_at is None:
        return wanted.at
    if (
        wanted.at is not None
        or wanted.cron is not None
        or wanted.every is not None
        or wanted.after is not None
        or wanted.on_boot
        or wanted.on_start
    ):
        raise InvalidInput("run_at is a schedule of its own", "give run_at or schedule, not both", field="run_at")
    return run_at


def _zone(of_schedule: str | None, top_level: str | None, here: Circumstances) -> str:
    if of_schedule is not None and top_level is not None and of_schedule != top_level:
        raise InvalidInput(
            f"timezone is {top_level!r} and schedule.timezone is {of_schedule!r}", "give it once", field="timezone"
        )
    return of_schedule or top_level or here.host_tz


def _instant(text: str, zone: str, field: str, here: Circumstances) -> int:
    try:
        return parse_when(text, here.now_ms, zone)
    except InvalidInput as error:
        raise InvalidInput(
            error.message, error.hint, field="timezone" if error.field == "timezone" else field
        ) from error


def _within(parent: str, error: InvalidInput) -> InvalidInput:
    field = error.field if error.field in (None, parent) else f"{parent}.{error.field}"
    return InvalidInput(error.message, error.hint, field=field or parent)


def first_ms(spec: ScheduleSpec, value: Schedule, here: Circumstances) -> int | None:
    """The instant to wait for. That of a one-shot may have passed: then it runs at once."""
    if spec.at_ms is not None:
        return spec.at_ms
    following = value.next_after(here.now_ms)
    return following.at_ms if following else None


def due_at(run_at: str | None, timezone: str | None, here: Circumstances, own_tz: str | None = None) -> int:
    """When a run by hand is due: now, or at the instant asked for; one that has passed is now.

    Local times are of the zone asked for, else of the job's own, else of the host's.
    """
    if run_at is None:
        if timezone is not None:
            raise InvalidInput("timezone says nothing without run_at", "leave it out", field="timezone")
        return here.now_ms
    return max(here.now_ms, _instant(run_at, timezone or own_tz or here.host_tz, "run_at", here))
