"""A loop whose time leaps: when nothing is ready, the next timer is due at once, and the clock has moved on to it."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from kit.clock import ManualClock

T = TypeVar("T")


class _Leaping(selectors.DefaultSelector):
    """Sockets and threads are of the real world: they are looked at, and not waited for."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, Any]]:
        events = super().select(0)
        if not events and timeout is not None and timeout > 0:
            self._clock.tick(max(1, round(timeout * 1000)))
        return events if events or timeout is not None else super().select(1)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: ManualClock) -> None:
        super().__init__(_Leaping(clock))
        self._of = clock

    def time(self) -> float:
        return self._of.boot_ms() / 1000


def leaping(clock: ManualClock, what: Coroutine[Any, Any, T]) -> T:
    """Runs it by the clock."""
    with asyncio.Runner(loop_factory=lambda: _Loop(clock)) as runner:
        return runner.run(what)
