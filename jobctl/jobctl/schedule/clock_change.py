"""What happens to a nominal time when the clock changes: gaps and repeated ranges.

The rule of Debian's cron (3.0pl1-162, `cron.c`): a *wildcard* job, whose minute or hour starts with `*`, runs at
each real minute that matches; a *fixed* one runs once at the end of a gap that holds its time, and in the first
pass only of a repeated range. Changes of 3 hours and more are corrections of the clock, with no such care.
"""

from dataclasses import dataclass
from typing import Literal

from jobctl.errors import InvalidInput

from .offsets import Stretch

DstGap = Literal["auto", "run-after", "skip"]
DstOverlap = Literal["auto", "first", "second", "both"]
GAPS: tuple[DstGap, ...] = ("auto", "run-after", "skip")
OVERLAPS: tuple[DstOverlap, ...] = ("auto", "first", "second", "both")

_CORRECTION_MS = 3 * 3_600_000


@dataclass(frozen=True, slots=True)
class ClockChangePolicy:
    """A job's choice for gaps and repeated ranges. Only `auto` looks at the size of a change: a stated wish
    holds for every change of the zone, even for a skipped day."""

    gap: DstGap
    overlap: DstOverlap
    wildcard: bool

    def catches_up(self, stretch: Stretch) -> bool:
        """Whether times skipped by the gap just before this stretch run at its start."""
        jump_ms = stretch.offset_ms - stretch.before_ms
        if jump_ms <= 0:
            return False
        if self.gap == "auto":
            return not self.wildcard and jump_ms < _CORRECTION_MS
        return self.gap == "run-after"

    def first_wall_ms(self, stretch: Stretch) -> int:
        """From which wall time of this stretch on nominal times count."""
        start_ms = stretch.start_ms + stretch.offset_ms
        repeated_ms = stretch.before_ms - stretch.offset_ms
        if repeated_ms > 0 and self._overlap(repeated_ms) == "first":
            return start_ms + repeated_ms
        return start_ms

    def end_wall_ms(self, stretch: Stretch) -> int:
        """Before which wall time of this stretch nominal times count."""
        repeated_ms = stretch.offset_ms - stretch.after_ms
        if repeated_ms > 0 and self._overlap(repeated_ms) == "second":
            return stretch.end_ms + stretch.after_ms
        return stretch.end_ms + stretch.offset_ms

    def _overlap(self, repeated_ms: int) -> DstOverlap:
        if self.overlap != "auto":
            return self.overlap
        return "both" if self.wildcard or repeated_ms > _CORRECTION_MS else "first"


def is_repeated(stretch: Stretch, wall_ms: int) -> bool:
    """Whether a wall time of this stretch also occurs in the one before or after it."""
    return wall_ms < stretch.start_ms + stretch.before_ms or wall_ms >= stretch.end_ms + stretch.after_ms


def check_gap(text: str) -> DstGap:
    """A valid gap policy, or `InvalidInput`."""
    for known in GAPS:
        if text == known:
            return known
    raise InvalidInput(f"dst-gap {text[:40]!a} is unknown", f"Use {', '.join(GAPS)}.", field="dst_gap")


def check_overlap(text: str) -> DstOverlap:
    """A valid overlap policy, or `InvalidInput`."""
    for known in OVERLAPS:
        if text == known:
            return known
    hint = f"Use {', '.join(OVERLAPS)}."
    raise InvalidInput(f"dst-overlap {text[:40]!a} is unknown", hint, field="dst_overlap")
