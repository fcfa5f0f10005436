"""Instants as people write them: `in 10m`, `2h ago`, `tomorrow 09:00`, `mon 09:00`, `2026-12-01T09:00 Asia/Tokyo`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from jobctl.errors import InvalidInput

from .duration import parse_duration
from .fields import WEEKDAYS
from .offsets import DAY_MS, LAST_MS, Stretches, stretches_of

_MAX_TEXT = 100
_FIRST_YEAR, _LAST_YEAR = 1970, 9900
_HINT = "Write `in 10m`, `17:30`, `tomorrow 09:00`, `mon 09:00`, `2026-12-01 09:00` or `2026-12-01T09:00Z`."
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"(?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?)"
_OFFSET = r"(?P<offset>[zZ]|[+-][0-9]{2}:?[0-9]{2})"
_DAY = r"(?P<day>[A-Za-z]+)"
_WITH_OFFSET = re.compile(rf"{_DATE}[Tt ]{_TIME} ?{_OFFSET}")
_ON_DATE = re.compile(rf"{_DATE}(?:[Tt ]{_TIME})?")
_ON_DAY = re.compile(rf"{_DAY}(?: {_TIME})?")
_TIME_ONLY = re.compile(_TIME)
_ZONE_AT_END = re.compile(r"(?P<rest>.*\S) (?P<zone>UTC|GMT|[A-Za-z_]+/[A-Za-z0-9_+/-]+)")
_CLOCK = re.compile(r"[:.]")
_AGO = re.compile(r"(?P<duration>[0-9].*[a-z]) ago")
_DURATION = re.compile(r"(?:in )?(?P<duration>[0-9].*[a-z])")


@dataclass(frozen=True, slots=True)
class _Here:
    """Now, as the wall clock of the zone shows it."""

    now_ms: int
    stretches: Stretches

    @property
    def day(self) -> int:
        return (self.now_ms + self.stretches.at(self.now_ms).offset_ms) // DAY_MS

    def at(self, day: int, time_ms: int) -> int:
        return self.stretches.instant_of(day * DAY_MS + time_ms)


def parse_when(text: str, now_ms: int, tz: str) -> int:
    """The instant that a text means, in UTC milliseconds since the epoch.

    Local times are of zone `tz`, unless the text ends in an offset or a zone name. A local time that a clock
    change skips is the end of the gap; one that occurs twice is the first. A time or weekday alone is the next
    such after `now_ms`; a day alone is its midnight. An instant that has passed is returned as it is: whether
    that is an error is for the caller to say. Raises `InvalidInput` for what cannot be read, for a day that does
    not exist and for an unknown zone.
    """
    bare = " ".join(text.split())
    if len(bare) > _MAX_TEXT or not bare.isascii():
        raise _unreadable(text)
    if bare.lower() == "now":
        return now_ms
    zone = _ZONE_AT_END.fullmatch(bare)
    if zone is not None:
        bare, tz = zone["rest"], zone["zone"]
    here = _Here(now_ms, stretches_of(tz))
    for pattern, read in _FORMS:
        match = pattern.fullmatch(bare)
        if match is not None:
            at_ms = read(match, here)
            if not -LAST_MS < at_ms < LAST_MS:
                raise InvalidInput(f"{text[:40]!a} is too far away", _HINT, field="when")
            return at_ms
    raise _unreadable(text)


def _unreadable(text: str) -> InvalidInput:
    return InvalidInput(f"{text[:40]!a} is not a time", _HINT, field="when")


def _epoch(match: re.Match[str], here: _Here) -> int:  # noqa: ARG001
    return int(match["seconds"]) * 1000 + int((match["fraction"] or "").ljust(3, "0"))


def _from_now(match: re.Match[str], here: _Here) -> int:
    return here.now_ms + parse_duration(match["duration"])


def _before_now(match: re.Match[str], here: _Here) -> int:
    return here.now_ms - parse_duration(match["duration"])


def _with_offset(match: re.Match[str], here: _Here) -> int:  # noqa: ARG001
    offset = match["offset"].replace(":", "")
    wall_ms = _day_of(match["date"]) * DAY_MS + _time_ms(match["time"])
    if offset in "zZ":
        return wall_ms
    hours, minutes = int(offset[1:3]), int(offset[3:5])
    if hours > 23 or minutes > 59:
        raise InvalidInput(f"there is no offset {match['offset']}", "Write it as +01:00.", field="when")
    return wall_ms - (1 if offset[0] == "+" else -1) * (hours * 60 + minutes) * 60_000


def _on_date(match: re.Match[str], here: _Here) -> int:
    return here.at(_day_of(match["date"]), _time_ms(match["time"]))


def _time_only(match: re.Match[str], here: _Here) -> int:
    return _next_such(here, here.day, _time_ms(match["time"]), step_days=1)


def _on_day(match: re.Match[str], here: _Here) -> int:
    name, time_ms = match["day"].lower(), _time_ms(match["time"])
    if name in _NEAR_DAYS:
        return here.at(here.day + _NEAR_DAYS[name], time_ms)
    weekday = WEEKDAYS.index(name[:3]) if name[:3] in WEEKDAYS else -1
    if weekday < 0 or name not in (name[:3], _LONG_WEEKDAYS[weekday]):
        hint = f"Days are yesterday, today, tomorrow, {', '.join(WEEKDAYS)}, or a date such as 2026-12-01."
        raise InvalidInput(f"{match['day'][:20]} is not a day", hint, field="when")
    # 1 January 1970 was a Thursday.
    return _next_such(here, here.day + (weekday - 4 - here.day) % 7, time_ms, step_days=7)


def _next_such(here: _Here, day: int, time_ms: int, step_days: int) -> int:
    at_ms = here.at(day, time_ms)
    return at_ms if at_ms > here.now_ms else here.at(day + step_days, time_ms)


def _day_of(text: str) -> int:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"there is no day {text}", "Dates are year-month-day.", field="when") from None
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise InvalidInput(f"{text} is too far away", f"Use a year up to {_LAST_YEAR}.", field="when")
    return day.toordinal() - _EPOCH_ORDINAL


def _time_ms(text: str | None) -> int:
    """Milliseconds since midnight; no text is midnight."""
    hour, minute, second, fraction = [*_CLOCK.split(text), "", ""][:4] if text else ("0", "0", "", "")
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise InvalidInput(f"there is no time {text}", "Times are 00:00 to 23:59.", field="when")
    return (int(hour) * 60 + int(minute)) * 60_000 + int(second or 0) * 1000 + int(fraction.ljust(3, "0"))


_NEAR_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_LONG_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], _Here], int]], ...] = (
    (re.compile(r"@(?P<seconds>[0-9]{1,12})(?:\.(?P<fraction>[0-9]{1,3}))?"), _epoch),
    (_WITH_OFFSET, _with_offset),
    (_ON_DATE, _on_date),
    (_TIME_ONLY, _time_only),
    (_AGO, _before_now),
    (_DURATION, _from_now),
    (_ON_DAY, _on_day),
)
