"""An event loop that does one thing when it is told to, by a clock that somebody else moves.

It is asyncio's own loop without its selector: what a program does between two waits is one `step`. Between any two of
them its process can be stopped, killed, or overtaken by another one. Threads are queues beside it: what is handed to
them is done when somebody calls `work`.
"""

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable
from typing import Any

from kit.clock import ManualClock

Connect = Callable[[Any, str], tuple[Any, Any]]


class StepLoop(asyncio.BaseEventLoop):
    """The loop of one process. `connect` is what it finds at the other end of a Unix socket."""

    def __init__(self, clock: ManualClock, connect: Connect) -> None:
        super().__init__()
        self._wall = clock
        self._connect = connect
        self.alarms: list[Alarm] = []
        self.handlers: dict[int, Callable[[], object]] = {}
        self.jobs: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        """What is to be done in a thread."""
        self.threads: list[Any] = []
        """Those of the database."""
        self.set_exception_handler(lambda loop, context: None)

    def time(self) -> float:
        """CLOCK_MONOTONIC, in seconds."""
        return self._wall.awake_ms() / 1000

    # ── one thing after the other ──────────────────────────────────────────────
    @property
    def ready(self) -> bool:
        return bool(self._ready)

    def step(self) -> None:
        """The oldest of what is ready."""
        handle = self._ready.popleft()
        if not handle._cancelled:
            events._set_running_loop(self)
            try:
                handle._run()
            finally:
                events._set_running_loop(None)

    def work(self) -> None:
        """The oldest of what waits for a thread."""
        function, future = self.jobs.popleft()
        if future.cancelled():
            return
        try:
            answer = function()
        except BaseException as error:
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_answer, future, answer)

    def wake(self) -> None:
        """What has become due is ready."""
        now_s = self.time() + self._clock_resolution
        while self._scheduled and (self._scheduled[0]._cancelled or self._scheduled[0]._when <= now_s):
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
            if not handle._cancelled:
                self._ready.append(handle)
        for alarm in self.alarms:
            if alarm.at_ms is not None and alarm.at_ms <= self._wall.now_ms():
                alarm.rings()

    def wait_ms(self) -> int | None:
        """How long until something becomes due; None: nothing will."""
        while self._scheduled and self._scheduled[0]._cancelled:
            heapq.heappop(self._scheduled)._scheduled = False
        waits = [alarm.at_ms - self._wall.now_ms() for alarm in self.alarms if alarm.at_ms is not None]
        if self._scheduled:
            waits.append(int((self._scheduled[0]._when - self.time()) * 1000) + 1)
        return max(0, min(waits)) if waits else None

    def alarm_ms(self) -> int | None:
        """The wall time of the next alarm; None: there is none."""
        return min((alarm.at_ms for alarm in self.alarms if alarm.at_ms is not None), default=None)

    def clock_was_set(self) -> None:
        """A timer that is cancelled on set says so at once (timerfd_create(2))."""
        for alarm in self.alarms:
            if alarm.at_ms is not None:
                alarm.rings()

    def unwind(self) -> None:
        """Ends everything in it, for a process that is gone: nothing it does any more reaches anybody."""
        for _ in range(20):
            for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
                task.cancel()
            for _ in range(2_000):
                if not self._ready:
                    break
                self.step()
            if not asyncio.all_tasks(self):
                break
            self.jobs.clear()
        self._scheduled.clear()
        self._ready.clear()
        self.close()

    # ── what the system does for it ──────────────────────────────────────────────
    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        future = self.create_future()
        self.jobs.append((lambda: func(*args), future))
        return future

    async def create_unix_connection(self, protocol_factory: Any, path: Any = None, **_: Any) -> Any:
        return self._connect(protocol_factory, path)

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        self.handlers[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self.handlers.pop(sig, None) is not None

    def _write_to_self(self) -> None:
        """There is no selector to be woken."""

    def _process_events(self, event_list: Any) -> None:
        """There are none."""


class Alarm:
    """In the place of `jobctl_daemon.wake.Alarm`: a timer of the process in whose loop it is made."""

    def __init__(self, wake: Any, clock: Any) -> None:
        self.at_ms: int | None = None
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        assert isinstance(self._loop, StepLoop)
        self._loop.alarms.append(self)

    def at(self, at_ms: int | None) -> None:
        self.at_ms = at_ms

    def close(self) -> None:
        if self in self._loop.alarms:
            self._loop.alarms.remove(self)

    def rings(self) -> None:
        self.at_ms = None
        self._loop.call_soon(self._wake.set)


def _answer(future: Any, answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: Any, error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
