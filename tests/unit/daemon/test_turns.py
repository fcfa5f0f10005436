"""How long the loop is busy, measured where it waits."""

import asyncio
import selectors

import pytest

from jobctl_daemon.turns import Turns
from kit.clock import ManualClock


def test_a_turn_that_blocks_is_measured_and_told() -> None:
    blocked: list[int] = []
    clock = ManualClock()
    turns = Turns(clock, blocked.append)

    async def live() -> None:
        await asyncio.sleep(0)
        assert turns.busy.max_ms == 0
        for busy_ms in (1_100, 900):  # as of a bug that holds it up, and of what is not told
            clock.tick(busy_ms)
            await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(turns)) as runner:
        runner.run(live())
    assert blocked == [1_100]
    assert turns.busy.max_ms == 1_100
    assert turns.busy.count >= 3


def test_what_the_loop_waits_is_not_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    with Turns(clock, lambda busy_ms: None) as turns:
        monkeypatch.setattr(selectors.DefaultSelector, "select", lambda *_: clock.tick(60_000) or [])
        turns.select(0)
        turns.select(0)
        assert (turns.busy.count, turns.busy.max_ms) == (1, 0)
