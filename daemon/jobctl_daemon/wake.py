"""Waking a service: at once, or at an exact wall-clock instant.

timerfd on CLOCK_REALTIME with TFD_TIMER_CANCEL_ON_SET (timerfd_create(2)) fires at the instant to the microsecond, also
after a suspend, and reports a step of the clock at once; an idle daemon therefore needs no periodic look. asyncio's own
timers round to whole milliseconds and know nothing of steps. Where there is no timerfd it sleeps a minute at a time and
then looks whether the clock was set.
"""

import asyncio
import ctypes
import os
from collections.abc import Callable
from typing import Final

from jobctl.clock import Clock

_TFD_TIMER_ABSTIME: Final = 1
_TFD_TIMER_CANCEL_ON_SET: Final = 2
_NAP_S_MAX: Final = 60.0
#: The clocks are not read at one instant; less than this is no step.
_STEP_MS: Final = 2_000
_INT64_MAX: Final = (1 << 63) - 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Wake:
    """An event that a service waits on, with an optional instant. One waiter at a time."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.on_set: Callable[[], None] = _nothing
        """Called by the first `set` after a wait: from then on there is work that waits."""

    def set(self) -> None:
        """Wakes the service now; a wake between two waits is not lost."""
        if not self._event.is_set():
            self._event.set()
            self.on_set()

    def is_set(self) -> bool:
        """Whether the next wait would return at once."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Until `set` was called since the last wait."""
        await self._event.wait()
        self._event.clear()


class Alarm:
    """Sets a `Wake` at a wall-clock instant. Closed by its owner."""

    def __init__(self, wake: Wake, clock: Clock) -> None:
        self._wake = wake
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._at_ms: int | None = None
        self._boot_at_ms = 0
        self._descriptor = _timerfd_create()
        if self._descriptor >= 0:
            self._loop.add_reader(self._descriptor, self._fired)

    def at(self, at_ms: int | None) -> None:
        """Arms the alarm, or with None silences it. An instant that has passed wakes at once."""
        if at_ms is None and self._at_ms is None:
            return
        self._at_ms = at_ms
        if self._descriptor >= 0:
            _timerfd_set(self._descriptor, at_ms)
        else:
            self._boot_at_ms = self._clock.now_ms() - self._clock.boot_ms()
            self._nap()

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _fired(self) -> None:
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            return
        except OSError:  # ECANCELED: the clock was set; the service looks again and re-arms
            pass
        self._wake.set()

    def _nap(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._at_ms is None:
            return
        left_s = (self._at_ms - self._clock.now_ms()) / 1000
        stepped_ms = self._clock.now_ms() - self._clock.boot_ms() - self._boot_at_ms
        if left_s <= 0 or abs(stepped_ms) > _STEP_MS:
            self._wake.set()
        else:
            self._handle = self._loop.call_later(min(left_s, _NAP_S_MAX), self._nap)


def _nothing() -> None:
    return None


_libc = ctypes.CDLL(None, use_errno=True)


def _timerfd_create() -> int:
    create = getattr(_libc, "timerfd_create", None)
    if create is None:
        return -1
    clock_realtime = 0
    descriptor: int = create(clock_realtime, os.O_NONBLOCK | os.O_CLOEXEC)
    return descriptor


def _timerfd_set(descriptor: int, at_ms: int | None) -> None:
    value = _Timespec(0, 0)
    if at_ms is not None:
        bounded = min(max(at_ms, 1), _INT64_MAX // 1_000_000)
        value = _Timespec(bounded // 1000, bounded % 1000 * 1_000_000)
    flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
    if _libc.timerfd_settime(descriptor, flags, ctypes.byref(_Itimerspec(_Timespec(0, 0), value)), None) != 0:
        raise OSError(ctypes.get_errno(), "timerfd_settime")
