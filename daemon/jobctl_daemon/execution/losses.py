"""How soon a runner that was lost is seen to: at once, unless runners die again and again.

One that dies as soon as it is started would otherwise be started without end, as fast as the host can.
"""

from collections import deque
from typing import Final

from jobctl.clock import Clock

_LATELY_MS: Final = 60_000
#: Losses lately that may be chance, or a person who ends them.
_FREE: Final = 6
_DELAY_MS_MIN: Final = 250
_DELAY_MS_MAX: Final = 10_000


class Losses:
    """Counts them, in real time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lately: deque[int] = deque(maxlen=_FREE + 32)

    def delay_ms(self) -> int:
        """One more; how long to wait before it is seen to."""
        now_ms = self._clock.boot_ms()
        while self._lately and now_ms - self._lately[0] >= _LATELY_MS:
            self._lately.popleft()
        self._lately.append(now_ms)
        over = len(self._lately) - _FREE
        return min(_DELAY_MS_MIN << min(over - 1, 10), _DELAY_MS_MAX) if over > 0 else 0
