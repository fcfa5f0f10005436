"""The cron schedule: nominal wall times laid over the zone's stretches of constant offset."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from jobctl.errors import InvalidInput

from .base import Schedule
from .clock_change import ClockChangePolicy, DstGap, DstOverlap, check_gap, check_overlap, is_repeated
from .cron_text import CronFields, parse_cron
from .fire import Count, Fire
from .offsets import FIRST_MS, LAST_MS, Stretch, Stretches, stretches_of
from .wall import WallTimes
from .zone import find_zone

_COUNTED_MS = 20 * 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class Cron(Schedule):
    """A cron text in a zone, with its choices for clock changes.

    Making one raises `InvalidInput` for a bad text, zone or policy; afterwards nothing raises. `@reboot` is
    not a time: see `OnBoot`.
    """

    text: str
    tz: str
    dst_gap: DstGap = "auto"
    dst_overlap: DstOverlap = "auto"

    def __post_init__(self) -> None:
        if parse_cron(self.text).reboot:
            raise InvalidInput("@reboot is not a time", "Use a schedule on boot: `--on-boot`.", field="cron")
        find_zone(self.tz)
        check_gap(self.dst_gap)
        check_overlap(self.dst_overlap)

    @property
    def fields(self) -> CronFields:
        """What the text means."""
        return parse_cron(self.text)

    @property
    def never(self) -> bool:
        """Whether no date can ever match, as for 30 February."""
        return _engine(self.text, self.tz, self.dst_gap, self.dst_overlap).never

    def next_after(self, t_ms: int) -> Fire | None:
        """The first fire strictly after `t_ms`; remembered, since a burst is a few texts many times."""
        return _remembered(self.text, self.tz, self.dst_gap, self.dst_overlap, t_ms)

    def _next(self, t_ms: int) -> Fire | None:
        return _engine(self.text, self.tz, self.dst_gap, self.dst_overlap).next_after(t_ms)

    def count(self, after_ms: int, until_ms: int, limit: int = 1_000_000) -> Count:
        """How many fires lie in (`after_ms`, `until_ms`]: exact up to `limit` and for spans up to 20 years,
        beyond either a lower bound. Counted by the day, not by the fire."""
        engine = _engine(self.text, self.tz, self.dst_gap, self.dst_overlap)
        return engine.count(after_ms, until_ms, limit)

    def nominal_walls(self, first_ms: int, end_ms: int) -> Iterator[int]:
        """The nominal wall times from `first_ms` to before `end_ms`, in ms of the wall clock, whether or not
        the zone has them."""
        return _engine(self.text, self.tz, self.dst_gap, self.dst_overlap).nominal_walls(first_ms, end_ms)


class _Engine:
    """The calculation behind equal schedules."""

    __slots__ = ("_policy", "_stretches", "_walls")

    def __init__(self, walls: WallTimes, stretches: Stretches, policy: ClockChangePolicy) -> None:
        self._walls = walls
        self._stretches = stretches
        self._policy = policy

    @property
    def never(self) -> bool:
        return self._walls.never

    def next_after(self, t_ms: int) -> Fire | None:
        if self._walls.never or t_ms >= LAST_MS:
            return None
        from_ms = max(t_ms + 1, FIRST_MS)
        while from_ms < LAST_MS:
            stretch = self._stretches.at(from_ms)
            if from_ms == stretch.start_ms and (skipped := self._skipped(stretch)):
                return self._after_gap(stretch, skipped)
            # A stretch may begin before `from_ms`, also where it follows another without a change.
            wanted_ms = max(from_ms + stretch.offset_ms, self._policy.first_wall_ms(stretch))
            wall_ms = self._walls.at_or_after(wanted_ms)
            if wall_ms is None:
                return None
            if wall_ms < self._policy.end_wall_ms(stretch):
                repeated = is_repeated(stretch, wall_ms)
                return Fire(wall_ms - stretch.offset_ms, "overlap" if repeated else None)
            from_ms = stretch.end_ms
        return None

    def count(self, after_ms: int, until_ms: int, limit: int) -> Count:
        last_ms = min(until_ms, LAST_MS - 1)
        if self._walls.never:
            return Count(0)
        from_ms = max(after_ms + 1, FIRST_MS)
        stop_ms = min(last_ms + 1, from_ms + _COUNTED_MS)
        number = 0
        while from_ms < stop_ms and number <= limit:
            stretch = self._stretches.at(from_ms)
            number += self._count_within(stretch, from_ms, min(stop_ms, stretch.end_ms))
            from_ms = stretch.end_ms
        if number > limit:
            return Count(limit, exact=False)
        return Count(number, exact=stop_ms > last_ms)

    def nominal_walls(self, first_ms: int, end_ms: int) -> Iterator[int]:
        wall_ms = self._walls.at_or_after(first_ms)
        while wall_ms is not None and wall_ms < end_ms:
            yield wall_ms
            wall_ms = self._walls.at_or_after(wall_ms + 1)

    def _count_within(self, stretch: Stretch, from_ms: int, stop_ms: int) -> int:
        first_ms = max(from_ms + stretch.offset_ms, self._policy.first_wall_ms(stretch))
        end_ms = min(stop_ms + stretch.offset_ms, self._policy.end_wall_ms(stretch))
        number = self._walls.count(first_ms, end_ms)
        if from_ms <= stretch.start_ms and self._skipped(stretch) and not self._due_at_start(stretch):
            number += 1
        return number

    def _skipped(self, stretch: Stretch) -> int:
        """How many nominal times the gap before a stretch swallowed that are to run at its start."""
        if not self._policy.catches_up(stretch):
            return 0
        return self._walls.count(stretch.start_ms + stretch.before_ms, stretch.start_ms + stretch.offset_ms)

    def _due_at_start(self, stretch: Stretch) -> bool:
        start_ms = stretch.start_ms + stretch.offset_ms
        return start_ms < self._policy.end_wall_ms(stretch) and self._walls.count(start_ms, start_ms + 1) == 1

    def _after_gap(self, stretch: Stretch, skipped: int) -> Fire:
        """One run for all times of the gap, and for one that is due at its very end anyway."""
        return Fire(stretch.start_ms, "gap", skipped - 1 + self._due_at_start(stretch))


@lru_cache(maxsize=4096)
def _engine(text: str, tz: str, gap: DstGap, overlap: DstOverlap) -> _Engine:
    fields = parse_cron(text)
    return _Engine(WallTimes(fields), stretches_of(tz), ClockChangePolicy(gap, overlap, fields.wildcard))


@lru_cache(maxsize=16_384)
def _remembered(text: str, tz: str, gap: DstGap, overlap: DstOverlap, t_ms: int) -> Fire | None:
    return _engine(text, tz, gap, overlap).next_after(t_ms)


def forget_zones() -> None:
    """Drops what was computed from the tz database, so that a new release of it is read."""
    from zoneinfo import ZoneInfo

    ZoneInfo.clear_cache()
    for cache in (_remembered, _engine, stretches_of):
        cache.cache_clear()
