"""One epoll, one heap of timers, one thread."""

from __future__ import annotations

import heapq
import select

from .clock import boot_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READ = select.EPOLLIN
WRITE = select.EPOLLOUT
_EVENTS_A_TURN = 256
# epoll counts on a clock that stands still while the machine sleeps, deadlines do not: so look again.
_LONGEST_WAIT_S = 10.0


class Timer:
    """One call to come; cancel() makes it nothing."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Forget the call; harmless after it was made."""
        self.call = None


class Loop:
    """Hands out events until stop(). A fault in a handler is complained of and harms only that event."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = 0
        self._stopped = False
        self.turns: list[Callable[[], bool]] = []

    def add(self, descriptor: int, events: int, handler: Callable[[int], None]) -> None:
        """Call handler(events) whenever the descriptor is ready."""
        self._epoll.register(descriptor, events)
        self._handlers[descriptor] = handler

    def change(self, descriptor: int, events: int) -> None:
        """Listen for other events."""
        self._epoll.modify(descriptor, events)

    def remove(self, descriptor: int) -> None:
        """Listen no more; before the descriptor is closed."""
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def at(self, deadline_s: float, call: Callable[[], None]) -> Timer:
        """Make a call once boot_s() has reached the deadline."""
        timer = Timer(call)
        self._count += 1
        heapq.heappush(self._timers, (deadline_s, self._count, timer))
        if self._count % 4096 == 0:
            self._sweep()
        return timer

    def after(self, delay_s: float, call: Callable[[], None]) -> Timer:
        """Make a call in so many seconds."""
        return self.at(boot_s() + delay_s, call)

    def stop(self) -> None:
        """End run() after this turn."""
        self._stopped = True

    def run(self) -> None:
        """Turn until stopped: descriptors first, then timers, so that an exit is seen before its deadline."""
        busy = False
        while not self._stopped:
            for descriptor, events in self._epoll.poll(0 if busy else self._wait_s(), _EVENTS_A_TURN):
                handler = self._handlers.get(descriptor)
                if handler is not None:
                    self._guard(lambda handler=handler, events=events: handler(events))  # type: ignore[misc]
            self._fire()
            busy = False
            for turn in self.turns:
                busy = bool(self._guard(turn)) or busy

    def _wait_s(self) -> float | None:
        while self._timers and self._timers[0][2].call is None:
            heapq.heappop(self._timers)
        if not self._timers:
            return None
        return min(max(0.0, self._timers[0][0] - boot_s()), _LONGEST_WAIT_S)

    def _fire(self) -> None:
        # Those that fall due meanwhile have their turn after the descriptors, or slow ones could keep each other going.
        now = boot_s()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            call, timer.call = timer.call, None
            if call is not None:
                self._guard(call)

    def _guard(self, call: Callable[[], object]) -> object:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - commands outlive a fault of ours; it is written down
            self._complain(f"fault: {_where(error)}: {error!r}")
            return None

    def _sweep(self) -> None:
        self._timers = [entry for entry in self._timers if entry[2].call is not None]
        heapq.heapify(self._timers)


def _where(error: BaseException) -> str:
    # The traceback module would cost a megabyte for a thing that never happens.
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " > ".join(frames)
