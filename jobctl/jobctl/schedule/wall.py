"""The nominal times of a cron text on a clock that never changes: naive wall time, in milliseconds."""

from bisect import bisect_left

from .cron_text import CronFields
from .days import DayRule, days_of

MINUTE_MS = 60_000
DAY_MS = 86_400_000


class WallTimes:
    """Wall times are counted in ms from 1 January 1970 00:00 of the wall clock, whatever the zone."""

    __slots__ = ("_days", "_hours", "_minutes", "_per_day")

    def __init__(self, fields: CronFields) -> None:
        self._hours = fields.hours
        self._minutes = fields.minutes
        self._per_day = len(fields.hours) * len(fields.minutes)
        self._days = days_of(DayRule(fields.days, fields.months, fields.weekdays, fields.both_days))

    @property
    def never(self) -> bool:
        """There is no such time, as for 30 February."""
        return self._days.never

    def at_or_after(self, wall_ms: int) -> int | None:
        """The first nominal time from `wall_ms` on."""
        day, rest_ms = divmod(wall_ms, DAY_MS)
        rank = self._rank(rest_ms)
        if rank == self._per_day:
            day, rank = day + 1, 0
        found = self._days.at_or_after(day)
        if found is None:
            return None
        return found * DAY_MS + self._time_ms(rank if found == day else 0)

    def count(self, first_ms: int, end_ms: int) -> int:
        """How many nominal times lie from `first_ms` to before `end_ms`."""
        if first_ms >= end_ms:
            return 0
        first_day, first_rest = divmod(first_ms, DAY_MS)
        end_day, end_rest = divmod(end_ms, DAY_MS)
        number = self._days.count(first_day, end_day) * self._per_day
        if self._days.matches(first_day):
            number -= self._rank(first_rest)
        if self._days.matches(end_day):
            number += self._rank(end_rest)
        return number

    def _rank(self, rest_ms: int) -> int:
        """How many times of a day lie before `rest_ms` of it."""
        minute_of_day = -(-rest_ms // MINUTE_MS)
        hour, minute = divmod(minute_of_day, 60)
        place = bisect_left(self._hours, hour)
        rank = place * len(self._minutes)
        if place < len(self._hours) and self._hours[place] == hour:
            rank += bisect_left(self._minutes, minute)
        return rank

    def _time_ms(self, rank: int) -> int:
        hour, minute = divmod(rank, len(self._minutes))
        return (self._hours[hour] * 60 + self._minutes[minute]) * MINUTE_MS
