"""How soon a lost runner is seen to."""

from jobctl_daemon.execution.losses import Losses
from kit.clock import ManualClock


def test_a_few_are_seen_to_at_once_and_more_later_and_later() -> None:
    clock = ManualClock()
    losses = Losses(clock)
    delays = []
    for _ in range(14):
        delays.append(losses.delay_ms())
        clock.tick(100)
    assert delays[:6] == [0] * 6
    assert delays[6:] == [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]


def test_one_now_and_then_is_always_seen_to_at_once() -> None:
    clock = ManualClock()
    losses = Losses(clock)
    for _ in range(100):
        assert losses.delay_ms() == 0
        clock.tick(11_000)
    clock.step(-3_600_000)
    assert losses.delay_ms() == 0
