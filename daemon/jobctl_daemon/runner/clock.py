"""The two clocks: the wall for what people read, boot time for deadlines and durations."""

from __future__ import annotations

import time


def wall_ms() -> int:
    """Return milliseconds UTC since the epoch."""
    return time.time_ns() // 1_000_000


def boot_s() -> float:
    """Return seconds since boot, sleep of the machine included: nobody can set this clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
