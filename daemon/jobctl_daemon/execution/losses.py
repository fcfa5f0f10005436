"""How soon a runner that was lost is seen to: at once, unless runners die again and again.

One that dies as soon as it is started would otherwise be started without end, as fast as the host can.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from jobctl.clock import Clock

_LATELY_MS: Final = 60_000
#: Losses lately that may be chance, or a person who ends them.
_FREE: Final = 12
_DELAY_MS_MIN: Final = 250
_DELAY_MS_MAX: Final = 5_000


class Losses:
    """Counts them in real time, and calls `see_to_it` when it is time: once for all that come until then."""

    def __init__(self, clock: Clock, see_to_it: Callable[[], None]) -> None:
        self._clock = clock
        self._see_to_it = see_to_it
        self._lately: deque[int] = deque(maxlen=_FREE + 32)
        self._pending: asyncio.TimerHandle | None = None

    def one_more(self) -> None:
        """A runner was lost."""
        delay_ms = self._delay_ms()
        if self._pending is None:
            self._pending = asyncio.get_running_loop().call_later(delay_ms / 1000, self._now)

    def _now(self) -> None:
        self._pending = None
        self._see_to_it()

    def _delay_ms(self) -> int:
        now_ms = self._clock.boot_ms()
        while self._lately and now_ms - self._lately[0] >= _LATELY_MS:
            self._lately.popleft()
        self._lately.append(now_ms)
        over = len(self._lately) - _FREE
        return min(_DELAY_MS_MIN << min(over - 1, 10), _DELAY_MS_MAX) if over > 0 else 0
