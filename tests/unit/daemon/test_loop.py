"""The one loop around every service, and what wakes it."""

import asyncio

import pytest

from jobctl.clock import SystemClock
from jobctl_daemon.health import Health, Lag
from jobctl_daemon.loop import Pass, drive
from jobctl_daemon.wake import Alarm, Wake
from kit.clock import ManualClock


class Recorder:
    """A service that plays a list of answers and then tells that it is through."""

    name = "recorder"
    pace_ms = 0

    def __init__(self, answers: list[Pass | Exception]) -> None:
        self.wake = Wake()
        self.calls = 0
        self.through = asyncio.Event()
        self._answers = answers

    async def run_once(self) -> Pass:
        self.calls += 1
        answer = self._answers.pop(0) if self._answers else Pass()
        if not self._answers:
            self.through.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def _drive_through(service: Recorder, health: Health) -> None:
    task = asyncio.ensure_future(drive(service, SystemClock(), health, lambda: None))
    await asyncio.wait_for(service.through.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_service_with_more_to_do_is_called_again_at_once() -> None:
    service = Recorder([Pass(again=True), Pass(again=True), Pass()])
    await _drive_through(service, Health(SystemClock()))

    assert service.calls == 3


async def test_a_service_is_called_again_at_the_instant_it_asked_for() -> None:
    clock = SystemClock()
    asked_ms = clock.now_ms() + 30
    service = Recorder([Pass(next_ms=asked_ms), Pass()])
    await _drive_through(service, Health(clock))

    assert clock.now_ms() >= asked_ms


async def test_a_pass_that_fails_is_tried_again_and_shows_meanwhile() -> None:
    health = Health(SystemClock())
    service = Recorder([RuntimeError("no disk"), RuntimeError("no disk"), Pass()])
    await _drive_through(service, health)

    assert service.calls == 3
    assert health.services["recorder"].beats == 3


async def test_a_service_whose_pass_swallows_its_cancellation_ends_all_the_same() -> None:
    """Else a daemon that stops waits for it for ever."""

    class Deaf(Recorder):
        async def run_once(self) -> Pass:
            self.through.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return Pass()
            raise AssertionError("nobody sets it")

    service = Deaf([])
    task = asyncio.ensure_future(drive(service, SystemClock(), Health(SystemClock()), lambda: None))
    await asyncio.wait_for(service.through.wait(), 10)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=10)

    assert done == {task}
    assert task.cancelled()


async def test_a_wake_between_two_waits_is_not_lost() -> None:
    wake = Wake()
    wake.set()

    await asyncio.wait_for(wake.wait(), 1)


async def test_an_alarm_in_the_past_wakes_at_once_and_none_silences_it() -> None:
    wake = Wake()
    alarm = Alarm(wake, SystemClock())
    try:
        alarm.at(1)
        await asyncio.wait_for(wake.wait(), 5)
        alarm.at(None)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wake.wait(), 0.05)
    finally:
        alarm.close()


def test_a_service_inside_one_pass_for_too_long_is_stalled() -> None:
    clock = ManualClock()
    health = Health(clock)
    beat = health.register("dispatch")
    health.begin(beat)
    clock.tick(60_000)

    assert health.stalled() == {"dispatch": "has been inside one pass for 60 s"}
    health.end(beat)
    assert health.stalled() == {}


def test_start_lag_keeps_its_maximum_and_bounds_its_quantiles() -> None:
    lag = Lag()
    for value in [*[3] * 98, 40, 900]:
        lag.add(value)

    assert lag.quantile_ms(0.5) == 3
    assert 40 <= lag.quantile_ms(0.99) < 128
    assert lag.max_ms == 900
