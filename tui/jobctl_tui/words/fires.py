"""What a definition will do, computed here by the rules of the daemon: it needs none to answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from jobctl.drafts import Checked, Circumstances
from jobctl.drafts.checks import examined
from jobctl.drafts.schedules import schedule_of
from jobctl.errors import InvalidInput
from jobctl.model import ScheduleSpec
from jobctl.reading.times import duration, milliseconds, moment, no_time, rfc3339, span
from jobctl.schedule import Cron, Preview, Transition, find_zone, host_zone, preview
from jobctl_tui.words.draft import Draft
from jobctl_tui.words.field import place_of

Json = dict[str, Any]

#: Another job is looked up by the daemon: here it is taken to be there.
_SOME_JOB: Final = 1
_PAST_MS_MAX: Final = 60_000
_DAY_MS: Final = 86_400_000
#: What a step of `d` makes of the two policies.
POLICIES: Final = (("auto", "auto"), ("run-after", "first"), ("run-after", "both"), ("skip", "first"),
                   ("skip", "second"))  # fmt: skip
_SHIFTS: Final = (-1, 1, -2, 2)


class Trouble(NamedTuple):
    """What is wrong with a field, and what to do."""

    reason: str
    hint: str = ""


class Foretold(NamedTuple):
    """What comes of a draft."""

    troubles: Mapping[str, Trouble]
    """By field; under "" what belongs to none that is shown."""
    wrongs: Sequence[tuple[str, str]] = ()
    """The same by the API's names, in one sentence each: for a text that has lines."""
    words: str = ""
    """The schedule as a person reads it; empty while it cannot be read."""
    preview: Preview | None = None
    warnings: Sequence[str] = ()
    spec: ScheduleSpec | None = None


# ── what it is checked against ──────────────────────────────────────────────


def circumstances(status: Mapping[str, Any] | None, now_ms: int, uid: int, job: Json | None) -> Circumstances:
    """The daemon's host as its status tells it; without one, this host and this user."""
    told = status or {}
    zone, where = host_zone()
    caller = told.get("caller") or {}
    user = str(told.get("user") or "")
    return Circumstances(
        now_ms=now_ms,
        host_tz=str(told.get("timezone") or zone),
        daemon_user=user,
        caller_uid=int(caller.get("uid", uid)),
        system=bool(told.get("system", True)),
        path="",
        host_tz_known="default" not in str(told.get("timezone_from") or where),
        owner=str(job["owner"]) if job else None,
        upstream=(_SOME_JOB, _upstream(job)),
    )


def _upstream(job: Json | None) -> str:
    after = str(((job or {}).get("schedule") or {}).get("after") or "")
    return after.rpartition(":")[0] if after else "that job"


# ── what comes of it ──────────────────────────────────────────────


def foretell(draft: Draft, here: Circumstances, n: int) -> Foretold:
    """Everything that is wrong with a draft, and its next `n` fires with the clock changes of twelve months."""
    here = _with_upstream(draft, here)
    checked, wrongs = examined(_asked(draft), here)
    wrongs = [wrong._replace(hint="") if "help api" in wrong.hint else wrong for wrong in wrongs]
    told = tuple((wrong.field, f"{wrong.reason}; {wrong.hint}" if wrong.hint else wrong.reason) for wrong in wrongs)
    troubles: dict[str, Trouble] = {}
    for wrong in wrongs:
        troubles.setdefault(place_of(wrong.field) or "", Trouble(wrong.reason, wrong.hint))
    troubles |= {ident: Trouble(error.message, error.hint) for ident, error in draft.unreadable.items()}
    checked = checked or _schedule_alone(draft, here)
    if checked is None or not {"schedule", "timezone"}.isdisjoint(troubles):
        return Foretold(troubles, told)
    spec = _anchored(draft, checked.spec.schedule)
    past = _past(draft, spec, here.now_ms)
    if past:
        troubles["schedule"] = past
    found = preview(schedule_of(spec), here.now_ms, n=n, tz=spec.timezone)
    words = spec.words if spec.after_job else found.words
    return Foretold(troubles, told, words, found, checked.warnings, spec)


def _asked(draft: Draft) -> Json:
    """The whole definition; what it has already, and only some may give, is not looked at again."""
    body = draft.body
    for name in ("user", "nice"):
        if name in body and body[name] == draft.base.get(name):
            del body[name]
    return body


def _with_upstream(draft: Draft, here: Circumstances) -> Circumstances:
    after = (draft.table.get("schedule") or {}).get("after")
    if not after:
        return here
    name, _, end = str(after).rpartition(":")
    named = name if end in ("success", "failure", "any") and name else str(after)
    return replace(here, upstream=(_SOME_JOB, named))


def _schedule_alone(draft: Draft, here: Circumstances) -> Checked | None:
    """The schedule while other fields are not right yet."""
    body = draft.body
    plain = {"target": {"shell": "true"}, "name": "x"}
    checked, _ = examined(plain | {name: body[name] for name in ("schedule", "timezone") if name in body}, here)
    return checked


def _anchored(draft: Draft, spec: ScheduleSpec) -> ScheduleSpec:
    """An interval that is not changed goes on counting from where the daemon is."""
    job = draft.job
    if job is None or spec.every_ms is None or not job.get("next_run_at"):
        return spec
    if draft.base.get("schedule") != draft.table.get("schedule"):
        return spec
    return msgspec.structs.replace(spec, anchor_ms=milliseconds(job["next_run_at"]))


def _past(draft: Draft, spec: ScheduleSpec, now_ms: int) -> Trouble | None:
    """A single instant that has passed, where somebody has just asked for it."""
    asked = draft.job is None or draft.base.get("schedule") != draft.table.get("schedule")
    if spec.at_ms is None or not asked or spec.at_ms >= now_ms - _PAST_MS_MAX:
        return None
    return Trouble(f"that was {span((now_ms - spec.at_ms) / 1000)} ago", "for now: in 0s, or run it by hand")


# ── lines ──────────────────────────────────────────────


class FireLine(NamedTuple):
    """A fire as it is shown: on the clock of the job, in UTC, and how far away."""

    local: str
    utc: str
    ahead: str
    note: str = ""


def fire_lines(found: Preview, now_ms: int) -> list[FireLine]:
    """The next fires."""
    seconds = any(fire.at_ms // 1000 % 60 for fire in found.fires)
    notes = {"gap": "the clock goes forward", "overlap": "the clock goes back"}
    return [
        FireLine(
            _wall(fire.local, fire.abbreviation, seconds),
            _utc(fire.at_ms, fire.local, seconds),
            f"in {span((fire.at_ms - now_ms) / 1000)}",
            notes.get(fire.note or "", ""),
        )
        for fire in found.fires
    ]


def without_fires(foretold: Foretold) -> str:
    """What starts a job that no time starts."""
    spec = foretold.spec
    if spec is None:
        return ""
    if spec.after_job is not None:
        name = spec.words.removeprefix("after ")
        return f"each time {name}" if name else "after another job"
    return no_time("by hand" if foretold.words == "by hand" else foretold.words)


class ChangeLine(NamedTuple):
    """A clock change that touches the schedule: what the clock does, what becomes of the fires, and by which policy."""

    day: str
    what: str
    becomes: str
    policy: str


def change_lines(found: Preview, spec: ScheduleSpec) -> list[ChangeLine]:
    """Those of the next twelve months that swallow or repeat a time of the schedule."""
    lines = []
    for change in found.transitions:
        if not change.swallowed and not change.repeated:
            continue
        what, _, becomes = change.words.partition(": ")
        name, value = ("gap", spec.dst_gap) if change.kind == "gap" else ("twice", spec.dst_overlap)
        clocks = f"clocks go {_before(change)} > {_clock(change.local)}"
        lines.append(ChangeLine(_day(change.local), f"{what} ({clocks})", becomes, f"{name}: {value}"))
    return lines


def untouched(found: Preview) -> str:
    """Said where clocks change and nothing of the schedule is touched."""
    if not found.transitions or any(change.swallowed or change.repeated for change in found.transitions):
        return ""
    days = ", ".join(_day(change.local) for change in found.transitions[:3])
    return f"none of its times is touched ({days})"


def ways_around(found: Preview, spec: ScheduleSpec, now_ms: int) -> str:
    """What would avoid every clock change: another hour, tried out for the same twelve months, or UTC."""
    if spec.cron is None or not any(change.swallowed or change.repeated for change in found.transitions):
        return ""
    minute, hour, *rest = [*spec.cron.split(), "", ""][:5]
    texts = []
    if hour.isdecimal() and spec.cron.count(" ") >= 4:
        for shift in _SHIFTS:
            text = " ".join((minute, str((int(hour) + shift) % 24), *rest))
            if 0 <= int(hour) + shift < 24 and _is_quiet(text, spec, now_ms):
                texts.append(text)
    utc = "" if spec.timezone == "UTC" else "the timezone UTC"
    return " or ".join(filter(None, (*texts[:2], utc)))


def _is_quiet(text: str, spec: ScheduleSpec, now_ms: int) -> bool:
    try:
        found = preview(Cron(text, spec.timezone), now_ms, n=0)
    except InvalidInput:
        return False
    return not any(change.swallowed or change.repeated for change in found.transitions)


def next_policy(gap: str, overlap: str) -> tuple[str, str]:
    """The pair of policies after one."""
    at = POLICIES.index((gap, overlap)) if (gap, overlap) in POLICIES else -1
    return POLICIES[(at + 1) % len(POLICIES)]


def shift_words(before: Preview | None, after: Preview | None) -> tuple[str, str, str] | None:
    """The first fire before and after a change, and how much it moves; None where it stays."""
    was = before.fires[0] if before and before.fires else None
    now = after.fires[0] if after and after.fires else None
    if (was and was.at_ms) == (now and now.at_ms):
        return None
    moved = ""
    if was and now:
        by_ms = now.at_ms - was.at_ms
        moved = f"{_exactly(abs(by_ms))} {'later' if by_ms > 0 else 'earlier'}"
    told = [_short(fire.local, fire.abbreviation) if fire else "none" for fire in (was, now)]
    if was and now and was.local[:10] == now.local[:10]:
        told[1] = told[1].partition("  ")[2]
    return told[0], told[1], moved


def _short(local: str, zone: str) -> str:
    at = moment(local)
    return f"{_DAYS[at.weekday()]} {at.day:02d} {_MONTHS[at.month - 1]}  {at:%H:%M} {zone}"


def _exactly(duration_ms: int) -> str:
    """In whole minutes as one writes it, else in two units."""
    return duration(duration_ms / 1000) if duration_ms % 60_000 == 0 else span(duration_ms / 1000)


def offset_words(found: Preview, now_ms: int) -> str:
    """`CET now, UTC+1`: what the zone of a schedule is at this moment."""
    local = datetime.fromtimestamp(now_ms // 1000, find_zone(found.zone))
    minutes = round((local.utcoffset() or timedelta()).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return f"{local.tzname()} now, UTC{sign}{hours}" + (f":{rest:02}" if rest else "")


def _wall(local: str, zone: str, seconds: bool) -> str:
    at = moment(local)
    clock = f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    return f"{_day(local)}  {clock} {zone}"


def _utc(at_ms: int, local: str, seconds: bool) -> str:
    at = moment(rfc3339(at_ms // 1000 * 1000))
    clock = f"{at:%H:%M:%S}Z" if seconds else f"{at:%H:%M}Z"
    days = (at.date() - moment(local).date()).days
    return f"{clock} {days:+d}d" if days else clock


_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _day(local: str) -> str:
    at = moment(local)
    return f"{_DAYS[at.weekday()]} {at.day:02d} {_MONTHS[at.month - 1]} {at.year}"


def _clock(local: str) -> str:
    return f"{moment(local):%H:%M}"


def _before(change: Transition) -> str:
    """What the clock showed when it changed."""
    wall_ms = (change.at_ms + change.old_offset_ms) % _DAY_MS
    return f"{wall_ms // 3_600_000:02}:{wall_ms // 60_000 % 60:02}"
