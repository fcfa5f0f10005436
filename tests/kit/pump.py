"""A loop of screens without screens: what threads post is called by the test, in its own thread."""

import queue
import time
from collections.abc import Callable
from typing import Final

#: For what has to come.
PATIENCE_S: Final = 20.0


class Pump:
    """Give `post` to whatever wants to be called on the loop."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.called = 0

    def post(self, call: Callable[[], None]) -> None:
        self._calls.put(call)

    @property
    def waiting(self) -> int:
        return self._calls.qsize()

    def turn(self, within_s: float = 0.0) -> bool:
        """The next call, if there is one within that time."""
        try:
            call = self._calls.get(timeout=within_s) if within_s else self._calls.get_nowait()
        except queue.Empty:
            return False
        call()
        self.called += 1
        return True

    def until(self, holds: Callable[[], object], within_s: float = PATIENCE_S) -> None:
        """Turns until it holds."""
        end_s = time.monotonic() + within_s
        while not holds():
            left_s = end_s - time.monotonic()
            assert left_s > 0, "it did not come to that in time"
            self.turn(min(left_s, 0.1))

    def during(self, seconds: float) -> None:
        """Turns for so long, whatever comes."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            self.turn(left_s)
