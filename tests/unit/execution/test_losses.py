"""How soon a lost runner is seen to."""

import asyncio

from jobctl_daemon.execution.losses import Losses
from kit.clock import ManualClock
from kit.leaps import leaping


def test_a_few_are_seen_to_at_once_and_more_later_and_later() -> None:
    clock = ManualClock()
    seen: list[int] = []

    async def dies_again_and_again() -> None:
        losses = Losses(clock, lambda: seen.append(clock.boot_ms()))
        for _ in range(20):
            lost_ms, before = clock.boot_ms(), len(seen)
            losses.one_more()
            while len(seen) == before:
                await asyncio.sleep(0.01)
            seen[-1] -= lost_ms

    leaping(clock, dies_again_and_again())
    assert max(seen[:12]) < 20
    grown = [round(delay_ms / 250) for delay_ms in seen[12:17]]
    assert grown == [1, 2, 4, 8, 16]
    assert all(5_000 <= delay_ms < 5_050 for delay_ms in seen[17:])


def test_many_at_once_are_seen_to_once() -> None:
    clock = ManualClock()
    seen: list[int] = []

    async def go_together() -> None:
        losses = Losses(clock, lambda: seen.append(clock.boot_ms()))
        for _ in range(40):
            losses.one_more()
        await asyncio.sleep(30)

    leaping(clock, go_together())
    assert len(seen) == 1


def test_one_now_and_then_is_always_seen_to_at_once() -> None:
    clock = ManualClock()
    seen: list[int] = []

    async def now_and_then() -> None:
        losses = Losses(clock, lambda: seen.append(clock.boot_ms()))
        for number in range(100):
            losses.one_more()
            await asyncio.sleep(0.01)
            assert len(seen) == number + 1
            await asyncio.sleep(11)

    leaping(clock, now_and_then())
