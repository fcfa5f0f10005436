"""What Debian's cron itself starts, and when: its main loop (`cron.c`, 3.0pl1-162) retold in its own terms.

It exists to be compared with our schedules before a host is taken over; no job is ever run by it. A daemon that has run
for long is meant: one that is started anew in a repeated hour does not know what it did in the first pass.
"""

from collections import Counter
from dataclasses import dataclass, replace

from jobctl.errors import InvalidInput

from .cron_text import CronFields, parse_cron
from .debian import debian_numbers
from .offsets import Stretch, stretches_of
from .wall import MINUTE_MS, WallTimes

_SMALL = 5
_LARGE = 3 * 60
#: After a change the daemon's own time stands still for so long at most.
_HELD_MS = (_LARGE + 1) * MINUTE_MS


def debian_fields(text: str) -> CronFields | None:
    """What Debian's parser makes of a text, accidents included; None for what it refuses."""
    try:
        return parse_cron(text)
    except InvalidInput:
        numbers = debian_numbers(text)
    if numbers is None:
        return None
    words = tuple(text.split())
    minutes, hours, days, months, weekdays = numbers
    return CronFields(
        minutes,
        hours,
        days,
        months,
        tuple(sorted({day % 7 for day in weekdays})),
        wildcard=words[0].startswith("*") or words[1].startswith("*"),
        both_days=words[2].startswith("*") or words[4].startswith("*"),
        reboot=False,
        words=words,
    )


def debian_starts(fields: CronFields, tz: str, after_ms: int, until_ms: int) -> dict[int, int]:
    """Instant → number of starts in (`after_ms`, `until_ms`], in order. `@reboot` has none.

    Several times that one gap holds are several starts, 10 s apart; they count at the minute of the first.
    """
    walls = _walls(fields)
    if walls is None or walls.never:
        return {}
    entry = _Entry(walls, fields.wildcard)
    found: Counter[int] = Counter()
    from_ms = after_ms + 1
    while from_ms <= until_ms:
        stretch = stretches_of(tz).at(from_ms)
        found += entry.starts_in(stretch, from_ms, until_ms)
        from_ms = stretch.end_ms  # where nothing changed the next stretch began before
    return {at_ms: found[at_ms] for at_ms in sorted(found) if after_ms < at_ms <= until_ms}


def _walls(fields: CronFields) -> WallTimes | None:
    """None where a field is empty, as Debian leaves it for a range that runs backwards: such a line never runs."""
    if not all((fields.minutes, fields.hours, fields.months)):
        return None
    if fields.days and fields.weekdays:
        return WallTimes(fields)
    if fields.both_days or not (fields.days or fields.weekdays):
        return None
    # Either kind of day would do, and one has none.
    days, weekdays = fields.days or tuple(range(1, 32)), fields.weekdays or tuple(range(7))
    return WallTimes(replace(fields, days=days, weekdays=weekdays, both_days=True))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a crontab. `wild` is cron's own word: MIN_STAR or HR_STAR is set."""

    walls: WallTimes
    wild: bool

    def matches(self, minute: int) -> bool:
        return self.walls.count(minute * MINUTE_MS, (minute + 1) * MINUTE_MS) > 0

    def starts_in(self, stretch: Stretch, from_ms: int, until_ms: int) -> "Counter[int]":
        """The starts of a stretch: while the clock that jumped is caught up with, and then each minute that matches."""
        found: Counter[int] = Counter()
        if stretch.before_ms != stretch.offset_ms and from_ms < stretch.start_ms + _HELD_MS:
            found, settled = self._catching_up(stretch)
            from_ms = max(from_ms, settled * MINUTE_MS - stretch.offset_ms)
        end_ms = min(stretch.end_ms, until_ms + 1) + stretch.offset_ms
        wall_ms = self.walls.at_or_after(from_ms + stretch.offset_ms)
        while wall_ms is not None and wall_ms < end_ms:
            found[wall_ms - stretch.offset_ms] += 1
            wall_ms = self.walls.at_or_after(wall_ms + 1)
        return found

    def _catching_up(self, stretch: Stretch) -> "tuple[Counter[int], int]":
        """Starts, and the minute of the wall clock from which real and virtual time are one."""
        found: Counter[int] = Counter()
        virtual = -(-(stretch.start_ms + stretch.before_ms) // MINUTE_MS) - 1
        running = -(-(stretch.start_ms + stretch.offset_ms) // MINUTE_MS)
        end = (stretch.end_ms + stretch.offset_ms) // MINUTE_MS
        while running < end:
            at_ms = running * MINUTE_MS - stretch.offset_ms
            ahead = running - virtual
            if ahead == 1 or ahead > _LARGE or ahead <= -_LARGE:
                return found, running  # in step, or a correction of the clock: the jump is not looked at
            if ahead <= 0:
                found[at_ms] += self.wild and self.matches(running)
                running += 1
                continue
            if ahead > _SMALL:
                found[at_ms] += self.wild and self.matches(running)
            skipped = range(virtual + 1, running + 1)
            found[at_ms] += sum(self.matches(minute) for minute in skipped if ahead <= _SMALL or not self.wild)
            return found, running + 1
        return found, running
