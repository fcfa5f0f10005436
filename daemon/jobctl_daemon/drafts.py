"""From what a caller sends to a checked, complete definition. Pure: time and what is true of the host are passed in.

Every default of `jobctl add` is here (design/execution.md, "Defaults"), and every limit on what a job may say.
All errors are `InvalidInput` with the field and what to do.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from jobctl.errors import InvalidInput
from jobctl.model import Duration, Execution, JobDraft, JobSpec, Policies, RunDraft, ScheduleDraft, ScheduleSpec, Target
from jobctl.schedule import (
    MAX_DURATION_MS,
    Schedule,
    describe,
    format_duration,
    parse_cron,
    parse_duration,
    parse_when,
    warnings_of,
)
from jobctl.states import Misfire, Overlap
from jobctl_daemon.schedules import ByHand, schedule_of

GRACE_MS: Final = 10_000
LATE_AFTER_MS: Final = 10_000
MISFIRE_WITHIN_MS: Final = 86_400_000
MISFIRE_GRACE_MS: Final = 60_000
LOG_MAX_BYTES: Final = 10_000_000
UMASK: Final = 0o022

NAME_CHARS_MAX: Final = 128
#: Linux takes 128 KiB for one argument or variable (MAX_ARG_STRLEN) and 2 MiB for all with the default stack.
TEXT_BYTES_MAX: Final = 131_071
ARGUMENTS_BYTES_MAX: Final = 1 << 20
ENV_MAX: Final = 1000
NOTE_CHARS_MAX: Final = 4000
TAGS_MAX: Final = 32
TAG_CHARS_MAX: Final = 64
PATH_BYTES_MAX: Final = 4095
_LOG_BYTES_MIN, _LOG_BYTES_MAX = 4096, 1 << 40

_NAME: Final = re.compile(r"[\w.@/:+][\w .@/:+-]*(?<! )")
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.@:+-]+")
_VARIABLE: Final = re.compile(r"[^\x00-\x20=\x7f]{1,255}")
_TAG: Final = re.compile(rf"[\w.:/@+-]{{1,{TAG_CHARS_MAX}}}")
_SOURCE: Final = re.compile(r"(?:api|cli|file|crontab)(?::[^\x00-\x1f\x7f]{1,500})?")
_UMASK: Final = re.compile(r"(?:0o)?0?[0-7]{1,3}")
_SIZE: Final = re.compile(r"([0-9]{1,15})\s?([kmgt]?)(i?)b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is true at the door: the moment, the host, and who asks."""

    now_ms: int
    host_tz: str
    daemon_user: str
    caller_uid: int
    system: bool
    """Whether the daemon is root's, and may run commands as others."""
    path: str
    user_exists: Callable[[str], bool] = lambda _: True
    host_tz_known: bool = True
    """False when the host does not say its zone and UTC is a guess."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A definition that the store can take, the instant to wait for, and what its author should know."""

    spec: JobSpec
    next_ms: int | None
    warnings: tuple[str, ...]
    named: bool = True
    """False when the name was made from the command: then it may be changed to one that is free."""


def checked_job(draft: JobDraft, here: Circumstances) -> Checked:
    """The definition that a draft means."""
    schedule = checked_schedule(draft.schedule, draft.run_at, draft.timezone, here)
    value = schedule_of(schedule)
    spec = JobSpec(
        name=_name(draft.name, draft.target),
        schedule=schedule,
        execution=_execution(draft, here),
        policies=_policies(draft),
        source=_matching(draft.source, _SOURCE, "source", "it is api, cli, file or crontab"),
        paused=draft.paused,
    )
    warnings = [*warnings_of(value), *_zone_warnings(draft.schedule, draft.timezone, here, isinstance(value, ByHand))]
    return Checked(spec, _first_ms(schedule, value, here), tuple(warnings), named=draft.name is not None)


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
        overlap=Overlap.ALLOW,
        log_max=draft.log_max,
        note=draft.note,
    )
    spec = checked_job(job, here).spec
    due_ms = due_at(draft.run_at, draft.timezone, here)
    return msgspec.structs.replace(spec, hidden=True), due_ms


def due_at(run_at: str | None, timezone: str | None, here: Circumstances, own_tz: str | None = None) -> int:
    """When a run by hand is due: now, or at the instant asked for; one that has passed is now.

    Local times are of the zone asked for, else of the job's own, else of the host's.
    """
    if run_at is None:
        if timezone is not None:
            raise InvalidInput("timezone says nothing without run_at", "leave it out", field="timezone")
        return here.now_ms
    return max(here.now_ms, _instant(run_at, timezone or own_tz or here.host_tz, "run_at", here))


# ── when ──────────────────────────────────────────────


def _first_ms(spec: ScheduleSpec, value: Schedule, here: Circumstances) -> int | None:
    """The instant to wait for. That of a one-shot may have passed: then it runs at once."""
    if spec.at_ms is not None:
        return spec.at_ms
    following = value.next_after(here.now_ms)
    return following.at_ms if following else None


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
        every_ms=_milliseconds(wanted.every, "schedule.every"),
        anchor_ms=here.now_ms if wanted.every is not None else 0,
        at_ms=at_ms,
        on_boot=wanted.on_boot or reboot,
        on_start=wanted.on_start,
        jitter_ms=_milliseconds(wanted.jitter, "schedule.jitter") or 0,
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


def _zone_warnings(draft: ScheduleDraft | None, timezone: str | None, here: Circumstances, by_hand: bool) -> list[str]:
    given = timezone or (draft.timezone if draft else None)
    if given or here.host_tz_known or by_hand:
        return []
    return [f"this host does not say its time zone, so {here.host_tz} is used; give one with --tz"]


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


# ── what ──────────────────────────────────────────────


def _name(name: str | None, target: Target) -> str:
    if name is None:
        return made_name(target)
    if len(name) > NAME_CHARS_MAX or not _NAME.fullmatch(name) or not name.isprintable():
        raise InvalidInput(
            f"{name[:40]!a} cannot be a job's name",
            f"1 to {NAME_CHARS_MAX} letters, digits, spaces and . _ - @ : / +, not beginning with - or a space",
            field="name",
        )
    if name.isdecimal():
        raise InvalidInput(f"{name[:40]} could be an id", "put a letter into the name", field="name")
    return name


def made_name(target: Target) -> str:
    """A name from the command: the last part of its first word."""
    words = target.command or (target.shell or "").split()
    base = _NOT_IN_A_NAME.sub("-", words[0].rstrip("/").rpartition("/")[2] if words else "").strip("-")[:100].strip("-")
    return base if base and not base.isdecimal() else "job"


def numbered(name: str, number: int) -> str:
    """The name with a number behind it, for when it is taken."""
    return f"{name}-{number}"


def _execution(draft: JobDraft, here: Circumstances) -> Execution:
    command, shell = _target(draft.target)
    return Execution(
        command=command,
        shell=shell,
        stdin=_stdin(draft),
        payload_ref=_path(draft.payload_ref, "payload_ref"),
        env=_env(draft.env),
        env_file=_path(draft.env_file, "env_file"),
        user=_user(draft.user, here),
        cwd=_path(draft.cwd, "cwd"),
        umask=_umask(draft.umask),
        nice=_nice(draft.nice, here),
        path=here.path,
    )


def _target(target: Target) -> tuple[list[str] | None, str | None]:
    if (target.command is None) == (target.shell is None):
        raise InvalidInput("a job runs one thing", "give target.command or target.shell", field="target")
    if target.shell is not None:
        if not target.shell.strip():
            raise InvalidInput("the shell line is empty", "give the line to run", field="target.shell")
        return None, _text(target.shell, "target.shell")
    command = target.command or []
    if not command or not command[0]:
        raise InvalidInput("there is no command", "the first word is the program", field="target.command")
    if sum(len(_text(word, "target.command").encode()) + 1 for word in command) > ARGUMENTS_BYTES_MAX:
        raise InvalidInput("the arguments have over 1 MiB", "put them into a file", field="target.command")
    return command, None


def _text(text: str, field: str) -> str:
    if "\0" in text:
        raise InvalidInput("a NUL byte cannot be passed to a command", "leave it out", field=field)
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
        raise InvalidInput(
            "one argument has over 128 KiB, more than the kernel takes", "use stdin or a file", field=field
        )
    return text


def _stdin(draft: JobDraft) -> str | None:
    if draft.stdin is not None and draft.payload_ref is not None:
        raise InvalidInput("a command has one input", "give stdin or payload_ref", field="payload_ref")
    return draft.stdin


def _env(env: dict[str, str]) -> dict[str, str]:
    if len(env) > ENV_MAX:
        raise InvalidInput(f"there are over {ENV_MAX} variables", "put them into an env_file", field="env")
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise InvalidInput(
                f"{name[:40]!a} cannot name a variable", "no =, spaces or control characters", field="env"
            )
        _text(f"{name}={value}", f"env.{name[:40]}")
    if sum(len(name) + len(value.encode()) + 2 for name, value in env.items()) > ARGUMENTS_BYTES_MAX:
        raise InvalidInput("the variables have over 1 MiB", "put them into an env_file", field="env")
    return env


def _path(path: str | None, field: str) -> str | None:
    if path is None:
        return None
    if not path.startswith("/") or "\0" in path or len(path.encode()) > PATH_BYTES_MAX:
        hint = "~ is not expanded: write the whole path" if path.startswith("~") else "write it from / on"
        raise InvalidInput(f"{path[:60]!a} is not an absolute path", hint, field=field)
    return path


def _user(user: str | None, here: Circumstances) -> str | None:
    if user is None or user == here.daemon_user:
        return None
    if not here.system:
        raise InvalidInput(
            f"this daemon runs as {here.daemon_user} and cannot become {user[:40]!a}",
            "leave the user out, or ask the system's daemon as root",
            field="user",
        )
    if not re.fullmatch(r"[A-Za-z0-9_.][A-Za-z0-9_.@\\-]{0,63}\$?", user) or not here.user_exists(user):
        raise InvalidInput(f"there is no user {user[:40]!a}", "see `getent passwd`", field="user")
    return user


def _umask(text: str | None) -> int:
    if text is None:
        return UMASK
    return int(_matching(text, _UMASK, "umask", "octal digits such as 022").removeprefix("0o"), 8)


def _nice(nice: int | None, here: Circumstances) -> int:
    value = 0 if nice is None else nice
    if not -20 <= value <= 19:
        raise InvalidInput(f"nice is {str(value)[:20]}", "it goes from -20 to 19", field="nice")
    if value < 0 and not here.system:
        raise InvalidInput("only root may raise a priority", "nice goes from 0 to 19 here", field="nice")
    return value


# ── how ──────────────────────────────────────────────


def _policies(draft: JobDraft) -> Policies:
    misfire = draft.misfire or Misfire.ONCE
    within_ms = _milliseconds(draft.misfire_within, "misfire_within")
    if within_ms is None:
        within_ms = MISFIRE_GRACE_MS if misfire is Misfire.SKIP else MISFIRE_WITHIN_MS
    return Policies(
        timeout_ms=_positive(_milliseconds(draft.timeout, "timeout"), "timeout"),
        grace_ms=_or(_milliseconds(draft.grace, "grace"), GRACE_MS),
        late_after_ms=_or(_milliseconds(draft.late_after, "late_after"), LATE_AFTER_MS),
        overlap=draft.overlap or Overlap.SKIP,
        misfire=misfire,
        misfire_within_ms=within_ms,
        log_max=_log_max(draft.log_max),
        tags=_tags(draft.tags),
        note=_note(draft.note),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _milliseconds(duration: Duration | None, field: str) -> int | None:
    """Seconds as a number, or a text with units."""
    if duration is None:
        return None
    if isinstance(duration, str):
        try:
            return parse_duration(duration)
        except InvalidInput as error:
            raise InvalidInput(error.message, error.hint, field=field) from error
    if not 0 <= duration <= MAX_DURATION_MS / 1000:  # NaN is not either
        raise InvalidInput(
            f"{str(duration)[:20]} s is not possible", f"0 to {format_duration(MAX_DURATION_MS)}", field=field
        )
    return round(duration * 1000)


def _positive(value_ms: int | None, field: str) -> int | None:
    if value_ms is not None and value_ms <= 0:
        raise InvalidInput(f"a {field} of 0 would end it before it begins", "leave it out for none", field=field)
    return value_ms


def _log_max(limit: int | str | None) -> int:
    """Bytes, or a text such as 10MB; k, M, G and T are powers of 1000, with an i of 1024."""
    size = LOG_MAX_BYTES if limit is None else limit if isinstance(limit, int) else _bytes(limit)
    if not _LOG_BYTES_MIN <= size <= _LOG_BYTES_MAX:
        raise InvalidInput(
            f"a log limit of {str(size)[:20]} bytes is not possible", "4096 bytes to 1 TiB", field="log_max"
        )
    return size


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text[:40]!a} is not a size", "write 500k, 10MB or 1GiB", field="log_max")
    unit: int = 1024 if match[3] else 1000
    power = " kmgt".index(match[2].lower() or " ")
    return int(match[1]) * int(unit**power)


def _tags(tags: list[str]) -> list[str]:
    if len(tags) > TAGS_MAX:
        raise InvalidInput(f"there are over {TAGS_MAX} tags", "fewer will do", field="tags")
    for tag in tags:
        _matching(tag, _TAG, "tags", f"1 to {TAG_CHARS_MAX} letters, digits and . _ - : / @ +")
    return list(dict.fromkeys(tags))


def _note(note: str | None) -> str | None:
    if note is not None and (len(note) > NOTE_CHARS_MAX or "\0" in note):
        raise InvalidInput(f"the note has over {NOTE_CHARS_MAX} characters or a NUL", "say it shorter", field="note")
    return note


def _matching(text: str, pattern: re.Pattern[str], field: str, hint: str) -> str:
    if not pattern.fullmatch(text):
        raise InvalidInput(f"{text[:40]!a} is not possible", hint, field=field)
    return text
