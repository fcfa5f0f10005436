"""How long the loop is busy between two looks at the world: so late is, at most, what becomes due meanwhile.

Measured where the loop waits: it costs two readings of the clock a turn, and nothing while the loop sleeps.
"""

import selectors
from collections.abc import Callable
from typing import Any, Final

from jobctl.clock import Clock
from jobctl_daemon.health import Lag

#: A turn that lasts so long is told in the log.
BLOCKED_MS: Final = 1_000


class Turns(selectors.DefaultSelector):
    """The loop's selector, which knows how long it was not asked."""

    def __init__(self, clock: Clock, on_blocked: Callable[[int], None]) -> None:
        super().__init__()
        self.busy = Lag()
        self._clock = clock
        self._on_blocked = on_blocked
        self._began_ms: int | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, Any]]:
        if self._began_ms is not None:
            busy_ms = self._clock.awake_ms() - self._began_ms
            self.busy.add(busy_ms)
            if busy_ms >= BLOCKED_MS:
                self._on_blocked(busy_ms)
        events = super().select(timeout)
        self._began_ms = self._clock.awake_ms()
        return events
