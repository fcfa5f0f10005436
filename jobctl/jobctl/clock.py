"""The one source of time. Everything takes a `Clock`; nothing else asks the operating system."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time decides what is due; boot time measures durations and deadlines."""

    def now_ms(self) -> int:
        """Wall time, milliseconds UTC since the epoch."""
        ...

    def boot_ms(self) -> int:
        """Milliseconds since boot, suspend included (CLOCK_BOOTTIME): never steps."""
        ...

    def awake_ms(self) -> int:
        """The same without the time that the machine slept (CLOCK_MONOTONIC)."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def boot_ms(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000

    def awake_ms(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
