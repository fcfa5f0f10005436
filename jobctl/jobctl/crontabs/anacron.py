"""/etc/anacrontab: reading it as anacron(8) does, and the jobs that its lines become where no anacron runs them.

The source of the rules is `readtab.c` and `runjob.c` of Debian's anacron 2.3-36; START_HOURS_RANGE, RANDOM_DELAY,
@daily and @weekly are cronie's (its anacrontab(5)).

anacron runs what has not been run for so many days, whenever the machine is on. A job has a fixed time instead, and the
misfire policy *once* within its period: a machine that was off at that time runs it when it is on again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .jobs import Origin, Planned, draft_of
from .naming import unique
from .parts import SYSTEM_PATH, folders_run_by
from .read import Dialect
from .table import RANDOM_DELAY_MINUTES_MAX, CrontabLine, RefusedLine, is_utf8, shown

_EMPTY = re.compile(r"[ \t]*(?:$|#)")
_ASSIGNMENT = re.compile(r"[ \t]*([^ \t=]+)[ \t]*=(.*)", re.DOTALL)
_JOB = re.compile(r"[ \t]*(@[^ \t]+|[0-9]+)[ \t]+([0-9]+)[ \t]+([^ \t/]+)[ \t]+([^ \t].*)", re.DOTALL)
_HOURS = re.compile(r"([0-9]{1,2})-([0-9]{1,2})")
#: Debian's anacron takes any period that begins with one of its two words (strncmp).
_PERIODS: Final = {"@monthly": "@monthly", "@yearly": "@yearly", "@annually": "@yearly", "@daily": "1", "@weekly": "7"}
_DEBIAN_PERIODS: Final = ("@monthly", "@yearly")
#: anacron reads an int.
_INT_MAX: Final = 2**31 - 1
_DIGITS_MAX: Final = 20
_DAYS_MAX: Final = 3650
_DAY_S: Final = 86_400
_LAST_MINUTE: Final = 24 * 60 - 1
#: /etc/cron.d/anacron and anacron.timer of Debian start it from then on, once an hour.
_DEBIAN_START: Final = 7 * 60 + 30


@dataclass(frozen=True, slots=True)
class AnacronLine:
    """A job of the file with the environment in force on it. `period` is a number of days, @monthly or @yearly."""

    line: int
    period: str
    delay: int
    """Minutes after anacron's start."""
    identifier: str
    command: str
    env: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Anacrontab:
    """A whole file. Each line is judged alone, as anacron does it: what it does not understand it passes over."""

    items: tuple[AnacronLine, ...]
    refused: tuple[RefusedLine, ...]


def read_anacrontab(data: bytes) -> Anacrontab:
    """What an anacrontab says. Does not raise."""
    items: list[AnacronLine] = []
    refused: list[RefusedLine] = []
    env: dict[str, str] = {}
    for number, text, notes in _logical_lines(data.decode("utf-8", "surrogateescape")):
        if _EMPTY.match(text):
            continue
        if assignment := _ASSIGNMENT.fullmatch(text):
            env = {**env, assignment[1]: assignment[2]}
            continue
        found = _job(number, text, env, notes)
        if isinstance(found, AnacronLine):
            items.append(found)
        else:
            refused.append(RefusedLine(number, shown(text), found))
    return Anacrontab(tuple(items), tuple(refused))


def _logical_lines(text: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The number of the first line, the text, and what is to be said of it.

    A backslash at a line's end continues it; any other one is dropped by anacron (readtab.c, `read_tab_line`).
    """
    begun, parts = 0, []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        begun = begun or number
        parts.append(line)
        if line.endswith("\\"):
            continue
        yield _joined(begun, parts)
        begun, parts = 0, []
    if parts:
        yield _joined(begun, parts)


def _joined(number: int, parts: list[str]) -> tuple[int, str, tuple[str, ...]]:
    text = " ".join(part.removesuffix("\\") for part in parts)
    if "\\" not in text:
        return number, text, ()
    return number, text.replace("\\", ""), ("anacron drops every backslash in the file, so it runs without them",)


def _job(number: int, text: str, env: Mapping[str, str], notes: tuple[str, ...]) -> AnacronLine | str:
    """The job of a line, or why it has none."""
    match = _JOB.fullmatch(text)
    if match is None:
        return _no_job(text)
    period, delay, identifier, command = match.groups()
    if period.startswith("@"):
        known = next((word for word in _DEBIAN_PERIODS if period.startswith(word)), period)
        if known not in _PERIODS:
            return f"there is no period {shown(period)}: @monthly and @yearly, with cronie @daily and @weekly too"
        if known not in _DEBIAN_PERIODS:
            notes = (*notes, f"Debian's anacron does not know {known}, cronie's does")
        period = _PERIODS[known]
    elif not 0 < _number(period) <= _DAYS_MAX:
        return f"a period of {period[:12]} days: give 1 to {_DAYS_MAX}"
    else:
        period = str(int(period))
    if _number(delay) > _INT_MAX:
        return "the delay is out of range"
    return AnacronLine(number, period, int(delay), identifier, command, dict(env), notes)


def _number(digits: str) -> int:
    """What is too long to be looked at is too large."""
    return int(digits) if len(digits) <= _DIGITS_MAX else _INT_MAX + 1


def _no_job(text: str) -> str:
    words = text.split()
    if len(words) > 2 and "/" in words[2]:
        return "the job identifier has a slash: it is the name of a file"
    return "a line has a period in days, a delay in minutes, a job identifier and a command, or is NAME=value"


def planned_anacrontab(
    data: bytes,
    origin: Origin,
    *,
    tz: str | None = None,
    dialect: Dialect = "cronie",
    taken: Iterable[str] = (),
    run_elsewhere: Mapping[str, str] | None = None,
) -> list[Planned]:
    """Each line with its job, as `jobs.plan` does it for a crontab.

    `run_elsewhere`: folders of scripts that something else runs already, and what that is (periodic.py): a line that
    would run one of them again becomes no job.
    """
    names = set(taken)
    planned = []
    for found in read_anacrontab(data).items:
        name = unique(_name(found), names)
        minute, late = _minute_of_day(found, dialect)
        item = _item(found, minute, dialect)
        problem = _problem(found, run_elsewhere or {})
        draft = None
        if problem is None:
            names.add(name)
            draft = _draft(found, item, origin, name, tz)
        planned.append(Planned(item, origin, name, draft, problem, (*found.notes, *late)))
    return planned


def _name(found: AnacronLine) -> str:
    """The identifier, as far as a job may be called so."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", shown(found.identifier)).strip("-._")
    return name[:100] if name and not name.isdecimal() else f"anacron-{found.line}"


def _minute_of_day(found: AnacronLine, dialect: Dialect) -> tuple[int, tuple[str, ...]]:
    """When the job starts, in minutes after midnight: the first start of anacron in the day, and the delay."""
    begin = _DEBIAN_START
    hours = _HOURS.fullmatch(found.env.get("START_HOURS_RANGE", ""))
    if dialect == "cronie" and hours and int(hours[1]) < int(hours[2]) <= 24:
        begin = int(hours[1]) * 60
    if begin + found.delay > _LAST_MINUTE:
        return _LAST_MINUTE, ("its delay goes beyond midnight: it starts at 23:59",)
    return begin + found.delay, ()


def _item(found: AnacronLine, minute: int, dialect: Dialect) -> CrontabLine:
    at = f"{minute % 60} {minute // 60}"
    schedules = {"1": f"{at} * * *", "7": f"{at} * * 7", "@monthly": f"{at} 1 * *", "@yearly": f"{at} 1 1 *"}
    delay = found.env.get("RANDOM_DELAY", "")
    random_delay = int(delay) if dialect == "cronie" and re.fullmatch(r"[0-9]{1,5}", delay) else 0
    return CrontabLine(
        found.line,
        schedules.get(found.period, f"every {found.period} days"),
        None,
        found.command,
        None,
        {"PATH": SYSTEM_PATH, **found.env},
        random_delay=min(random_delay, RANDOM_DELAY_MINUTES_MAX),
        identity=f"anacron:{found.identifier}",
    )


def _problem(found: AnacronLine, run_elsewhere: Mapping[str, str]) -> str | None:
    for folder in sorted(folders_run_by(found.command)):
        if folder in run_elsewhere:
            return f"{run_elsewhere[folder]} runs {folder} already"
    if not is_utf8(found.identifier):
        return "its identifier has bytes that are not UTF-8"
    bad = next((name for name, value in found.env.items() if not is_utf8(name + value)), None)
    return None if bad is None else f"the variable {shown(bad)} has bytes that are not UTF-8"


def _draft(found: AnacronLine, item: CrontabLine, origin: Origin, name: str, tz: str | None) -> dict[str, Any]:
    """As a crontab line's, but that it is run when its time was missed, and not twice at once (anacron's lock).

    anacron goes to / and takes /bin/sh, whatever the file says of a HOME and a SHELL.
    """
    env = {key: value for key, value in item.env.items() if key != "SHELL"}
    draft = draft_of(replace(item, env=env), origin, name, tz)
    schedule = draft["schedule"]
    if item.schedule.startswith("every"):
        schedule = {**{key: value for key, value in schedule.items() if key != "cron"}, "every": _days(found) * _DAY_S}
    within = {"misfire": "once", "misfire_within": _days(found) * _DAY_S}
    return {**draft, "schedule": schedule, "cwd": "/", "overlap": "skip", **within}


def _days(found: AnacronLine) -> int:
    return {"@monthly": 31, "@yearly": 366}.get(found.period) or int(found.period)
