"""The five fields of a cron text: their names, bounds, and the words they know."""

from dataclasses import dataclass

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class Field:
    """One field: numbers `low` to `high`, and three-letter names for them (any case)."""

    name: str
    low: int
    high: int
    names: dict[str, int]


FIELDS = (
    Field("minute", 0, 59, {}),
    Field("hour", 0, 23, {}),
    Field("day of month", 1, 31, {}),
    Field("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    Field("weekday", 0, 7, {name: number for number, name in enumerate(WEEKDAYS)}),
)
