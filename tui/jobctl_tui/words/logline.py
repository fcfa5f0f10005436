"""When the lines of a log were written: the forms that this can take before each of them."""

from collections.abc import Callable
from enum import Enum

from jobctl.reading.times import rfc3339, span
from jobctl_tui.words.when import When


class Times(Enum):
    """What stands before each line."""

    CLOCK = "clock"
    SINCE = "since the start"
    NONE = "none"

    def after(self) -> "Times":
        """The one that the key leads to."""
        every = list(Times)
        return every[(every.index(self) + 1) % len(every)]


def stamp(times: Times, when: When, now_ms: int, begun_ms: int) -> Callable[[int], str]:
    """How a time of a line is written, all as wide."""
    if times is Times.SINCE:
        return lambda at_ms: f"+{span(max(0, at_ms - begun_ms) / 1000)}".rjust(7)
    viewer = when.viewer(now_ms)
    return lambda at_ms: _hour(viewer.full(rfc3339(at_ms)))


def _hour(full: str) -> str:
    """`03:00:31` of `Mon 30 Nov 2026 03:00:31 CET`."""
    return full.split(" ")[4]
