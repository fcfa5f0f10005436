"""Which days a cron text matches, asked of croniter once for each kind of month.

For a calendar a month is its length and the weekday of its first day: at most 28 kinds, so after a while
nothing is asked any more, and days can be counted a month at a time.
"""

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

_LAST_YEAR = 9999
# The Gregorian calendar repeats after 400 years, so croniter is only ever asked about these.
_ASKED_FROM = 2000
_CYCLE = 400
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# 29 February on a given weekday pauses for 28 years, or 40 across 2100.
_LONGEST_PAUSE_YEARS = 50


@dataclass(frozen=True, slots=True)
class DayRule:
    """Day of month, month and weekday as sorted numbers, and whether both kinds of day must match."""

    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    both: bool


class Days:
    """The matching days of a rule, as day numbers since 1 January 1970."""

    __slots__ = ("_every_day", "_kinds", "_months", "_never", "_rule")

    def __init__(self, rule: DayRule) -> None:
        full_days, full_weekdays = len(rule.days) == 31, len(rule.weekdays) == 7
        self._rule = rule
        self._every_day = (full_days and full_weekdays) if rule.both else (full_days or full_weekdays)
        self._months = frozenset(rule.months)
        self._kinds: dict[tuple[int, int], Sequence[int]] = {}
        self._never = not self._every_day and next(self._ask(datetime(_ASKED_FROM, 1, 1)), None) is None  # noqa: DTZ001

    @property
    def never(self) -> bool:
        """No day will ever match, as for 30 February."""
        return self._never

    def at_or_after(self, day: int) -> int | None:
        """The first matching day from `day` on."""
        if self._never:
            return None
        when = date.fromordinal(day + _EPOCH_ORDINAL)
        year, month, wanted = when.year, when.month, when.day
        while year <= _LAST_YEAR:
            if month in self._months:
                days = self._in_month(year, month)
                place = bisect_left(days, wanted)
                if place < len(days):
                    return date(year, month, days[place]).toordinal() - _EPOCH_ORDINAL
            year, month, wanted = (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)
        return None

    def matches(self, day: int) -> bool:
        """Whether this very day matches."""
        when = date.fromordinal(day + _EPOCH_ORDINAL)
        return not self._never and when.day in self._in_month(when.year, when.month)

    def count(self, first: int, end: int) -> int:
        """How many days from `first` to before `end` match."""
        if self._never or first >= end:
            return 0
        start, stop = date.fromordinal(first + _EPOCH_ORDINAL), date.fromordinal(end + _EPOCH_ORDINAL)
        number = bisect_left(self._in_month(stop.year, stop.month), stop.day)
        number -= bisect_left(self._in_month(start.year, start.month), start.day)
        year, month = start.year, start.month
        while (year, month) < (stop.year, stop.month):
            number += len(self._in_month(year, month))
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return number

    def _in_month(self, year: int, month: int) -> Sequence[int]:
        if month not in self._months:
            return ()
        kind = monthrange(year, month)
        known = self._kinds.get(kind)
        if known is None:
            known = range(1, kind[1] + 1) if self._every_day else self._ask_month(year, month)
            self._kinds[kind] = known
        return known

    def _ask_month(self, year: int, month: int) -> tuple[int, ...]:
        asked_year = year % _CYCLE + _ASKED_FROM
        found = []
        for match in self._ask(datetime(asked_year, month, 1)):  # noqa: DTZ001
            if (match.year, match.month) != (asked_year, month):
                break
            found.append(match.day)
        return tuple(found)

    def _ask(self, start: datetime) -> Iterator[datetime]:
        """croniter's matching midnights from `start` on: wall time without a zone, numbers only."""
        # Imported here: with dateutil it costs as much as the rest of the command line together.
        from croniter import CroniterBadDateError, croniter

        engine = croniter(
            _text_for_croniter(self._rule),
            start - timedelta(seconds=1),
            ret_type=datetime,
            day_or=not self._rule.both,
            max_years_between_matches=_LONGEST_PAUSE_YEARS,
        )
        try:
            while isinstance(match := engine.get_next(), datetime):
                yield match
        except CroniterBadDateError:
            return


def _text_for_croniter(rule: DayRule) -> str:
    """Numbers only, and never a full list of days: croniter takes that for a star, which has another day rule."""
    days = "*" if len(rule.days) == 31 else ",".join(map(str, rule.days))
    weekdays = "*" if len(rule.weekdays) == 7 else ",".join(map(str, rule.weekdays))
    return f"0 0 {days} {','.join(map(str, rule.months))} {weekdays}"


@lru_cache(maxsize=512)
def days_of(rule: DayRule) -> Days:
    """The days of a rule, shared by all schedules that have it."""
    return Days(rule)
