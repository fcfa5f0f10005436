"""A schedule in plain English."""

from datetime import UTC, datetime

from .base import Schedule
from .boot import OnBoot, OnStart
from .cron import Cron
from .cron_text import CronFields
from .duration import UNITS_MS
from .interval import Every
from .once import Once

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_UNITS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second", "ms": "millisecond"}
_FEW_TIMES = 6


def describe(schedule: Schedule) -> str:
    """What a schedule does, such as "every day at 03:00"; times are of its own zone. Does not raise."""
    match schedule:
        case Cron():
            words = _cron_words(schedule.fields)
            return f"{words}, a date that never comes" if schedule.never else words
        case Every():
            return f"every {_long_duration(schedule.interval_ms)}"
        case Once():
            return f"once at {_utc(schedule.at_ms)}"
        case OnBoot():
            return "on boot"
        case OnStart():
            return "when the daemon starts"
        case _:
            return str(schedule)


def _cron_words(fields: CronFields) -> str:
    days = _days(fields)
    times = _few_times(fields)
    if times is None:
        times = _rhythm(fields)
        return f"{times} {days}" if days else times
    if not days:
        return f"every day {times}"
    if _only_weekdays(fields) and fields.weekdays and len(fields.months) == 12:
        return f"every {_weekdays(fields.weekdays)} {times}"
    return f"{times} {days}"


def _few_times(fields: CronFields) -> str | None:
    """`at 09:00 and 17:00`, when there are only a few times a day."""
    if len(fields.hours) * len(fields.minutes) > _FEW_TIMES or len(fields.hours) > 3:
        return None
    return "at " + _joined([f"{hour:02}:{minute:02}" for hour in fields.hours for minute in fields.minutes])


def _rhythm(fields: CronFields) -> str:
    minutes, hours = fields.minutes, fields.hours
    minute_step, hour_step = _even_step(minutes, 60), _even_step(hours, 24)
    if len(hours) == 24:
        if minutes == (0,):
            return "every hour"
        return _every(minute_step, "minute") if minute_step else f"{_at_minutes(minutes)} of every hour"
    if minutes == (0,) and hour_step:
        return _every(hour_step, "hour")
    past = f"past hour{'s' if len(hours) > 1 else ''} {_numbers(hours)}"
    return f"{_every(minute_step, 'minute')} {past}" if minute_step else f"{_at_minutes(minutes)} {past}"


def _even_step(numbers: tuple[int, ...], whole: int) -> int | None:
    """The step of numbers that divide the whole evenly from 0, so that the rhythm never stumbles."""
    if whole % len(numbers):
        return None
    step = whole // len(numbers)
    return step if numbers == tuple(range(0, whole, step)) and len(numbers) > 1 else None


def _every(step: int, unit: str) -> str:
    return f"every {unit}" if step == 1 else f"every {step} {unit}s"


def _at_minutes(minutes: tuple[int, ...]) -> str:
    return f"at minute{'s' if len(minutes) > 1 else ''} {_numbers(minutes)}"


def _only_weekdays(fields: CronFields) -> bool:
    """Whether the weekday decides alone."""
    return fields.both_days and len(fields.days) == 31


def _days(fields: CronFields) -> str:
    """Which days, or nothing for every day."""
    months = "" if len(fields.months) == 12 else f"in {_names(fields.months, _MONTHS, 1)}"
    every_day, every_weekday = len(fields.days) == 31, len(fields.weekdays) == 7
    on_days = f"on day{'s' if len(fields.days) > 1 else ''} {_numbers(fields.days)} of the month"
    on_weekdays = f"on {_weekdays(fields.weekdays)}"
    if (every_day and every_weekday) or (not fields.both_days and (every_day or every_weekday)):
        days = "every day" if months else ""
    elif every_day:
        days = on_weekdays
    elif every_weekday:
        days = on_days
    elif fields.both_days:
        days = f"{on_days} if it is {_listed(list(fields.weekdays))}"
    else:
        days = f"{on_days} or {on_weekdays}"
    return " ".join(part for part in (days, months) if part)


def _listed(weekdays: list[int]) -> str:
    names = [_WEEKDAYS[number] for number in _from_monday(weekdays)]
    return f"a {names[0]}" if len(names) == 1 else f"a {', '.join(names[:-1])} or {names[-1]}"


def _weekdays(numbers: tuple[int, ...]) -> str:
    return _names(tuple((number - 1) % 7 for number in _from_monday(list(numbers))), _WEEKDAYS[1:] + _WEEKDAYS[:1], 0)


def _from_monday(numbers: list[int]) -> list[int]:
    return sorted(numbers, key=lambda number: (number - 1) % 7)


def _names(numbers: tuple[int, ...], names: tuple[str, ...], low: int) -> str:
    return _joined([
        names[first - low] if first == last else f"{names[first - low]} to {names[last - low]}"
        for first, last in _runs(numbers)
    ])  # fmt: skip


def _numbers(numbers: tuple[int, ...]) -> str:
    return _joined([str(first) if first == last else f"{first}–{last}" for first, last in _runs(numbers)])


def _runs(numbers: tuple[int, ...]) -> list[tuple[int, int]]:
    """Runs of three and more as (first, last), everything else alone."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [
        pair for run in runs for pair in ([(run[0], run[-1])] if len(run) > 2 else [(number, number) for number in run])
    ]


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _long_duration(duration_ms: int) -> str:
    whole = [(unit, duration_ms // size) for unit, size in UNITS_MS.items() if duration_ms % size == 0]
    unit, number = next((unit, number) for unit, number in whole if number)
    if number < 100:
        return _every(number, _UNITS[unit]).removeprefix("every ")
    parts, rest_ms = [], duration_ms
    for unit, size_ms in UNITS_MS.items():
        number, rest_ms = (0, rest_ms) if unit == "w" else divmod(rest_ms, size_ms)
        if number:
            parts.append(f"{number} {_UNITS[unit]}{'s' if number > 1 else ''}")
    return " ".join(parts)


def _utc(at_ms: int) -> str:
    if not -62_000_000_000_000 < at_ms < 253_000_000_000_000:
        return f"@{at_ms // 1000}"
    when = datetime.fromtimestamp(at_ms // 1000, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%S UTC")
