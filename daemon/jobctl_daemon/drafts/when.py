"""When a job is due: its schedule, its zone, and its first instant."""

import msgspec

from jobctl.errors import InvalidInput
from jobctl.model import ScheduleDraft, ScheduleSpec
from jobctl.schedule import Schedule, describe, parse_cron, parse_when
from jobctl_daemon.drafts.circumstances import Circumstances
from jobctl_daemon.drafts.values import milliseconds
from jobctl_daemon.schedules import schedule_of


def checked_schedule(
    draft: ScheduleDraft | None, run_at: str | None, timezone: str | None, here: Circumstances
) -> ScheduleSpec:
    """The schedule that a draft means, with its words; none of its fields set means: by hand."""
    wanted = draft or ScheduleDraft()
    zone = _zone(wanted.timezone, timezone, here)
    at = _one_at(wanted, run_at)
    at_ms = None if at is None else _instant(at, zone, "run_at" if run_at is not None else "schedule.at", here)
    reboot = wanted.cron is not None and _is_reboot(wanted.cron)
    spec = ScheduleSpec(
        timezone=zone,
        cron=None if reboot else wanted.cron,
        every_ms=milliseconds(wanted.every, "schedule.every"),
        anchor_ms=here.now_ms if wanted.every is not None else 0,
        at_ms=at_ms,
        on_boot=wanted.on_boot or reboot,
        on_start=wanted.on_start,
        jitter_ms=milliseconds(wanted.jitter, "schedule.jitter") or 0,
        dst_gap=wanted.dst_gap,
        dst_overlap=wanted.dst_overlap,
    )
    try:
        return msgspec.structs.replace(spec, words=describe(schedule_of(spec)))
    except InvalidInput as error:
        raise _within("schedule", error) from error


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
