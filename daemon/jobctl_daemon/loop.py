"""The one loop that drives every service: a pass, then a wait for its wake or its instant.

A service is one `run_once()` that says when it wants to be called next. A pass that fails is tried again with growing
delay, is logged once for each kind of error, and shows in `status`; cancellation always passes through.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from jobctl.clock import Clock
from jobctl_daemon.health import Beat, Health
from jobctl_daemon.wake import Alarm, Wake

_RETRY_MS_MIN = 100
_RETRY_MS_MAX = 5_000


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
    pace_ms: int
    """Passes begin at least so far apart: under load what comes meanwhile is one pass; the first is at once."""

    async def run_once(self) -> Pass: ...


async def drive(service: Service, clock: Clock, health: Health, on_failure: Callable[[], None]) -> None:
    """Runs a service until it is cancelled. `on_failure` is called after a pass that failed."""
    alarm = Alarm(service.wake, clock)
    beat = health.register(service.name)
    retry_ms = _RETRY_MS_MIN
    try:
        while True:
            began_ms = clock.boot_ms()
            done = await _one_pass(service, beat, health)
            if done is None:
                on_failure()
                await asyncio.sleep(retry_ms / 1000)  # noqa: TID251 - a wake must not shorten it
                retry_ms = min(retry_ms * 2, _RETRY_MS_MAX)
                continue
            retry_ms = _RETRY_MS_MIN
            if done.again:
                await asyncio.sleep(0)  # noqa: TID251 - a turn for the others, not a wait
                continue
            alarm.at(done.next_ms)
            await service.wake.wait()
            early_ms = began_ms + service.pace_ms - clock.boot_ms()
            if early_ms > 0:
                await asyncio.sleep(early_ms / 1000)  # noqa: TID251 - a pace, not a wait for something
    finally:
        alarm.close()


async def _one_pass(service: Service, beat: Beat, health: Health) -> Pass | None:
    health.begin(beat)
    try:
        done = await service.run_once()
    except Exception as error:  # noqa: BLE001 - the border of a service: recorded, shown, tried again
        text = f"{type(error).__name__}: {error}"
        if beat.error != text:
            structlog.get_logger().exception("service.failed", service=service.name)
        health.end(beat, text)
        return None
    if beat.error is not None:
        structlog.get_logger().info("service.recovered", service=service.name)
    health.end(beat)
    return done
