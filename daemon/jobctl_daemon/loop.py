"""The one loop that drives every service: a pass, then a wait for its wake or its instant.

A service is one `run_once()` that says when it wants to be called next. A pass that fails, whatever it fails of, is
tried again with growing delay, is logged once for each kind of error, and shows in `status`. Only a cancellation that
somebody asked for passes through: a `CancelledError` that comes from inside is a failure like any other.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from jobctl.clock import Clock
from jobctl.errors import JobctlError
from jobctl_daemon.health import Beat, Health
from jobctl_daemon.wake import Alarm, Wake

_RETRY_MS_MIN = 100
_RETRY_MS_MAX = 5_000
#: A pass that wants another one at once, though it did nothing, may be looking through much that is of no concern, page
#: by page. Or it is a fault, and then so many turns are enough to see it; the waits after them leave the host in peace.
_IDLE_TURNS = 10
_IDLE_MS_MAX = 50


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass did: `again` when more is waiting, else the wall instant of the next one (None: when woken)."""

    did: int = 0
    again: bool = False
    next_ms: int | None = None


class Service(Protocol):
    """One duty of the daemon."""

    name: str
    wake: Wake

    @property
    def pace_ms(self) -> int:
        """Passes begin at least so far apart: under load what comes meanwhile is one pass; the first is at once."""
        ...

    async def run_once(self) -> Pass: ...


async def drive(service: Service, clock: Clock, health: Health, on_failure: Callable[[], None]) -> None:
    """Runs a service until it is cancelled. `on_failure` is called after a pass that failed."""
    beat = health.register(service.name)
    service.wake.on_set = partial(health.woken, beat)
    alarm = Alarm(service.wake, clock)
    retry_ms, idle = _RETRY_MS_MIN, 0
    try:
        while True:
            began_ms = clock.boot_ms()
            done = await _one_pass(service, beat, clock, health)
            if done is None:
                on_failure()
                await asyncio.sleep(retry_ms / 1000)  # noqa: TID251 - a wake must not shorten it
                retry_ms = min(retry_ms * 2, _RETRY_MS_MAX)
                continue
            retry_ms = _RETRY_MS_MIN
            idle = idle + 1 if done.again and not done.did else 0
            if done.again:
                await asyncio.sleep(_turn_s(idle))  # noqa: TID251 - a turn for the others
                continue
            alarm.at(done.next_ms)
            beat.due_ms = done.next_ms
            await service.wake.wait()
            early_ms = began_ms + service.pace_ms - clock.boot_ms()
            if early_ms > 0:
                await asyncio.sleep(early_ms / 1000)  # noqa: TID251 - a pace, not a wait for something
    finally:
        alarm.close()


def _turn_s(idle: int) -> float:
    """No wait at all while something gets done."""
    if idle <= _IDLE_TURNS:
        return 0
    return min(1 << min(idle - _IDLE_TURNS - 1, 10), _IDLE_MS_MAX) / 1000


async def _one_pass(service: Service, beat: Beat, clock: Clock, health: Health) -> Pass | None:
    health.begin(beat)
    try:
        done = _checked(await service.run_once())
    except GeneratorExit:  # the coroutine is being closed
        raise
    except BaseException as error:  # the border of a service: recorded, shown, tried again
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        _failed(service.name, beat, health, error)
        return None
    if _is_cancelled():  # the pass has swallowed it: wait_for does, when what it waits for comes at the same moment
        raise asyncio.CancelledError
    if beat.error is not None:
        after_s = (clock.boot_ms() - (beat.failing_ms or 0)) // 1000
        structlog.get_logger().info("service.recovered", service=service.name, failures=beat.failures, after_s=after_s)
    health.end(beat)
    return done


def _checked(done: object) -> Pass:
    if not isinstance(done, Pass):
        raise TypeError(f"a pass returned {done!r}")
    return done


def _failed(name: str, beat: Beat, health: Health, error: BaseException) -> None:
    """Records and tells it. What we raise ourselves says all in its words; anything else comes with its traceback."""
    known = isinstance(error, JobctlError)
    text = str(error) if known else f"{type(error).__name__}: {error}"
    health.end(beat, text)
    structlog.get_logger().error("service.failed", service=name, error=text, exc_info=None if known else error)


def _is_cancelled() -> bool:
    """Whether somebody has asked the current task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
