"""What looks odd about a schedule, before it is too late."""

import re
from collections.abc import Iterator

from .base import Schedule
from .cron import Cron
from .cron_text import CronFields
from .fields import FIELDS

_STEP = re.compile(r"\*/([0-9]+)")
_CYCLES = ((0, 60, "hour"), (1, 24, "day"))


def warnings_of(schedule: Schedule) -> tuple[str, ...]:
    """Sentences on a schedule that is valid but may not mean what its author thinks. Does not raise."""
    if not isinstance(schedule, Cron):
        return ()
    fields = schedule.fields
    never = ("this date never comes, so the job never runs",) if schedule.never else ()
    return (*never, *_uneven_steps(fields), *_both_kinds_of_day(fields))


def _uneven_steps(fields: CronFields) -> Iterator[str]:
    for index, cycle, whole in _CYCLES:
        for step in map(int, _STEP.findall(fields.words[index])):
            name = FIELDS[index].name
            if step >= cycle:
                yield f"`*/{str(step)[:20]}` in the {name} is only {name} 0: the step is longer than the {whole}"
            elif cycle % step:
                last = (cycle - 1) // step * step
                yield f"`*/{step}` does not divide the {whole}: after {name} {last} comes 0, {cycle - last} later"


def _both_kinds_of_day(fields: CronFields) -> Iterator[str]:
    if fields.words[2] == "*" or fields.words[4] == "*":
        return
    if len(fields.days) == 31 and len(fields.weekdays) == 7:
        return
    if fields.both_days:
        yield "day of month and weekday must both match, because one of them starts with `*`"
    else:
        yield "day of month or weekday must match, not both: cron's rule when neither starts with `*`"
