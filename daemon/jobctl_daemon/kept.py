"""Tasks that must not die unseen: the one place of the daemon where tasks are made.

Every task has a reference, so that it is not collected, and somebody who hears of its end. One that lives as long as
the daemon is started again when it ends for whatever reason: an error, a `return`, a cancellation nobody asked for.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

from jobctl.clock import Clock
from jobctl_daemon.health import Health

_AGAIN_MS_MIN = 100
_AGAIN_MS_MAX = 5_000
#: One that has lived for so long starts from the shortest delay again.
_WELL_MS = 60_000

T = TypeVar("T")
Make = Callable[[], Coroutine[Any, Any, None]]


class Kept:
    """The long-lived tasks of the daemon. `on_death` of one is called before it is started again."""

    def __init__(self, clock: Clock, health: Health) -> None:
        self._clock = clock
        self._health = health
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, asyncio.TimerHandle] = {}
        self._delays_ms: dict[str, int] = {}
        self._ending = False

    def keep(self, name: str, make: Make, on_death: Callable[[], None]) -> None:
        """Runs `make()` until `end`, again and again if need be: after 0.1 s, growing to 5 s."""
        self._again.pop(name, None)
        began_ms = self._clock.boot_ms()
        task = asyncio.get_running_loop().create_task(make(), name=name)
        self._tasks[name] = task

        def ended(task: "asyncio.Task[None]") -> None:
            if self._tasks.get(name) is task:
                del self._tasks[name]
            error = asyncio.CancelledError("nobody asked for it") if task.cancelled() else task.exception()
            if self._ending:
                return
            self._died(name, error)
            on_death()
            delay_ms = self._delay_ms(name, self._clock.boot_ms() - began_ms)
            self._again[name] = task.get_loop().call_later(delay_ms / 1000, self.keep, name, make, on_death)

        task.add_done_callback(ended)

    async def end(self) -> None:
        """Cancels them all and waits until they are gone."""
        self._ending = True
        for handle in self._again.values():
            handle.cancel()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _died(self, name: str, error: BaseException | None) -> None:
        text = "it returned" if error is None else f"{type(error).__name__}: {error}"
        self._health.end(self._health.register(name), f"it died: {text}")
        structlog.get_logger().error("task.died", service=name, error=text, exc_info=error)

    def _delay_ms(self, name: str, lived_ms: int) -> int:
        last_ms = 0 if lived_ms >= _WELL_MS else self._delays_ms.get(name, 0)
        self._delays_ms[name] = min(max(last_ms * 2, _AGAIN_MS_MIN), _AGAIN_MS_MAX)
        return self._delays_ms[name]


class Errands:
    """Short tasks that nobody waits for. One that fails is told in the log."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, name: str, errand: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Begins it on the next turn of the loop."""
        task = asyncio.get_running_loop().create_task(errand, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            text = f"{type(error).__name__}: {error}"
            structlog.get_logger().error("task.failed", service=task.get_name(), error=text, exc_info=error)
