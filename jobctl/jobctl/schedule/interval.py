"""A fixed rate: every so many milliseconds of real time, on a grid through an anchor."""

from dataclasses import dataclass

from jobctl.errors import InvalidInput

from .base import Schedule
from .duration import MAX_DURATION_MS, format_duration
from .fire import Count, Fire

MIN_INTERVAL_MS = 1000


@dataclass(frozen=True, slots=True)
class Every(Schedule):
    """`anchor_ms` plus any whole multiple of `interval_ms`, before the anchor too: when the clock is set back,
    an interval goes on. Raises `InvalidInput` for an interval under a second or over ten years."""

    interval_ms: int
    anchor_ms: int

    def __post_init__(self) -> None:
        if not MIN_INTERVAL_MS <= self.interval_ms <= MAX_DURATION_MS:
            raise InvalidInput(
                f"an interval of {format_duration(self.interval_ms)} is not possible",
                f"It is between {format_duration(MIN_INTERVAL_MS)} and {format_duration(MAX_DURATION_MS)}.",
                field="every",
            )

    def next_after(self, t_ms: int) -> Fire:
        """The first grid point strictly after `t_ms`."""
        return Fire(self.anchor_ms + ((t_ms - self.anchor_ms) // self.interval_ms + 1) * self.interval_ms)

    def latest_at_or_before(self, t_ms: int, after_ms: int) -> Fire | None:
        """The last grid point in (`after_ms`, `t_ms`]."""
        at_ms = self.anchor_ms + (t_ms - self.anchor_ms) // self.interval_ms * self.interval_ms
        return Fire(at_ms) if at_ms > after_ms else None

    def count(self, after_ms: int, until_ms: int, limit: int = 1_000_000) -> Count:
        """The grid points in (`after_ms`, `until_ms`], up to `limit`."""
        last = (until_ms - self.anchor_ms) // self.interval_ms
        number = max(0, last - (after_ms - self.anchor_ms) // self.interval_ms)
        return Count(number) if number <= limit else Count(limit, exact=False)
