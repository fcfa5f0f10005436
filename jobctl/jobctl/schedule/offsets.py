"""Stretches of constant offset of a zone.

zoneinfo has no list of its changes, so they are found by probing and bisecting, in blocks of four years that
are kept. A stretch knows the offsets on both sides, which is all the clock-change rules need.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from .zone import find_zone

DAY_MS = 86_400_000
_BLOCK_MS = 4 * 365 * DAY_MS
# The shortest stretch any zone has ever had is just under four days (Freetown, September 1939); a test watches it.
_PROBE_MS = 2 * DAY_MS
_MAX_BLOCKS = 128

# The instants we answer for: datetime's years, less a margin for offsets and for the gaps between blocks.
FIRST_MS = -59_000_000_000_000
LAST_MS = 252_000_000_000_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start_ms` to before `end_ms` wall time = UTC + `offset_ms`; `before_ms` and `after_ms` are the
    offsets on either side. Where nothing changes for years a stretch may end without a change of offset."""

    start_ms: int
    end_ms: int
    offset_ms: int
    before_ms: int
    after_ms: int


class Stretches:
    """All stretches of one zone, found as they are asked for."""

    __slots__ = ("_blocks", "_changes", "_zone")

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._changes: dict[int, list[tuple[int, int, int]]] = {}
        self._blocks: dict[int, tuple[list[int], list[Stretch]]] = {}

    def at(self, t_ms: int) -> Stretch:
        """The stretch that holds an instant (one outside `FIRST_MS`..`LAST_MS` counts as the nearest inside)."""
        inside_ms = min(max(t_ms, FIRST_MS), LAST_MS)
        number = inside_ms // _BLOCK_MS
        starts, stretches = self._blocks.get(number) or self._build(number)
        return stretches[bisect_right(starts, inside_ms) - 1]

    def instant_of(self, wall_ms: int) -> int:
        """The instant of a wall time: the first one where it occurs twice, the gap's end where it does not exist."""
        stretch = self.at(wall_ms - DAY_MS)
        while stretch.end_ms + stretch.offset_ms <= wall_ms < LAST_MS - 2 * DAY_MS:
            stretch = self.at(stretch.end_ms)
        return max(wall_ms - stretch.offset_ms, stretch.start_ms)

    def changes_between(self, after_ms: int, until_ms: int) -> list[Stretch]:
        """The stretches that begin with a change of offset in (`after_ms`, `until_ms`]."""
        found = []
        stretch = self.at(after_ms)
        while (edge_ms := stretch.end_ms) <= min(until_ms, LAST_MS):
            stretch = self.at(edge_ms)
            # After an end without a change the same stretch goes on, and began before.
            if stretch.start_ms == edge_ms and stretch.before_ms != stretch.offset_ms:
                found.append(stretch)
        return found

    def _build(self, number: int) -> tuple[list[int], list[Stretch]]:
        """The stretches that touch a block, with real changes for at least half a block beyond it."""
        start_ms = number * _BLOCK_MS
        edges = [change for near in (number - 1, number, number + 1) for change in self._changes_in(near)]
        left_ms, right_ms = start_ms - _BLOCK_MS // 2, start_ms + _BLOCK_MS + _BLOCK_MS // 2
        first = self._offset_ms(left_ms)
        last = self._offset_ms(right_ms)
        edges = [(left_ms, first, first), *(e for e in edges if left_ms < e[0] < right_ms), (right_ms, last, last)]
        stretches = [
            Stretch(this[0], following[0], this[2], this[1], following[2]) for this, following in pairwise(edges)
        ]
        if len(self._blocks) >= _MAX_BLOCKS:
            self._blocks.clear()
            self._changes.clear()
        self._blocks[number] = built = ([stretch.start_ms for stretch in stretches], stretches)
        return built

    def _changes_in(self, number: int) -> list[tuple[int, int, int]]:
        """(instant, offset before, offset after) for each change in a block."""
        known = self._changes.get(number)
        if known is not None:
            return known
        found = []
        left_ms = number * _BLOCK_MS - 1
        end_ms = left_ms + _BLOCK_MS
        before = self._offset_ms(left_ms)
        while left_ms < end_ms:
            right_ms = min(left_ms + _PROBE_MS, end_ms)
            after = self._offset_ms(right_ms)
            if after != before:
                found.append((self._change_within(left_ms, right_ms, before), before, after))
            left_ms, before = right_ms, after
        self._changes[number] = found
        return found

    def _change_within(self, low_ms: int, high_ms: int, before: int) -> int:
        """The first instant with another offset than `before`, in (low, high]."""
        while high_ms - low_ms > 1:
            middle_ms = (low_ms + high_ms) // 2
            if self._offset_ms(middle_ms) == before:
                low_ms = middle_ms
            else:
                high_ms = middle_ms
        return high_ms

    def _offset_ms(self, t_ms: int) -> int:
        offset = datetime.fromtimestamp(t_ms // 1000, self._zone).utcoffset()
        return 0 if offset is None else offset // timedelta(milliseconds=1)


@lru_cache(maxsize=256)
def stretches_of(zone_name: str) -> Stretches:
    """The stretches of a zone by IANA name, shared by all schedules in it. Raises `InvalidInput`."""
    return Stretches(find_zone(zone_name))
