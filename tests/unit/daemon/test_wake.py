"""An alarm where there is no timerfd: it naps, and looks at the clocks when it wakes."""

import asyncio

import pytest

from jobctl_daemon import wake
from jobctl_daemon.wake import Alarm, Wake
from kit.clock import ManualClock


@pytest.fixture(autouse=True)
def short_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "_timerfd_create", lambda: -1)
    monkeypatch.setattr(wake, "_NAP_S_MAX", 0.001)


@pytest.mark.parametrize("step_ms", [-7_200_000, 3_000])
async def test_a_step_of_the_clock_wakes_it_with_the_next_nap(step_ms: int) -> None:
    clock, woken = ManualClock(), Wake()
    alarm = Alarm(woken, clock)
    alarm.at(clock.now_ms() + 3_600_000)
    clock.step(step_ms)
    await asyncio.wait_for(woken.wait(), 10)
    alarm.close()


async def test_time_that_passes_does_not_wake_it_before_its_instant() -> None:
    clock, woken = ManualClock(), Wake()
    alarm = Alarm(woken, clock)
    alarm.at(clock.now_ms() + 60_000)
    clock.tick(59_999)
    naps = [asyncio.get_running_loop().create_future() for _ in range(3)]
    for nap in naps:
        asyncio.get_running_loop().call_later(0.005, nap.set_result, None)
        await nap
    assert not woken.is_set()
    clock.tick(1)
    await asyncio.wait_for(woken.wait(), 10)
    alarm.close()
