"""How long the loop is busy, measured where it waits."""

import asyncio
import time

from jobctl.clock import SystemClock
from jobctl_daemon.turns import Turns


def test_a_turn_that_blocks_is_measured_and_told_and_waiting_is_not() -> None:
    blocked: list[int] = []
    turns = Turns(SystemClock(), blocked.append)

    async def live() -> None:
        await asyncio.sleep(0.05)
        assert turns.busy.max_ms < 1_000
        time.sleep(1.1)  # what a bug would do
        await asyncio.sleep(1.2)

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(turns)) as runner:
        runner.run(live())
    assert len(blocked) == 1
    assert 1_100 <= blocked[0] == turns.busy.max_ms < 20_000
    assert turns.busy.count >= 3
