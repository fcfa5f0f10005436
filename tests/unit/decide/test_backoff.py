"""The delay before a retry: above nothing, never above the cap, the same each time, and for any number of failures."""

from itertools import pairwise

import pytest

from jobctl_daemon.decide.backoff import delay_ms

HOUR = 3_600_000
YEAR = 365 * 24 * HOUR
#: No delay ends after the year 9999.
LAST_MS = 253_402_300_799_999
NTHS = [*range(200), 999, 1000, 1001, 4095, 4096, 65_535, 65_536, 99_999, 100_000]


@pytest.mark.case("F077")
@pytest.mark.parametrize("base_ms", [0, 1, 2, 7, 1_000, HOUR, YEAR, 1 << 40])
@pytest.mark.parametrize("cap_ms", [1, 2, 1_000, HOUR, YEAR])
def test_a_delay_is_above_nothing_and_never_above_its_cap(base_ms: int, cap_ms: int) -> None:
    for nth in NTHS:
        assert 0 < delay_ms(base_ms, cap_ms, nth, "job/s:1") <= cap_ms


@pytest.mark.case("F077")
def test_a_hundred_thousand_failures_in_a_row_have_each_a_delay() -> None:
    for nth in range(100_001):
        wait_ms = delay_ms(10_000, HOUR, nth, "job/s:1")
        assert 0 < wait_ms <= HOUR
        assert 1_800_000_000_000 + wait_ms < LAST_MS


@pytest.mark.case("F077")
def test_no_cap_and_no_base_are_a_moment_and_not_none() -> None:
    assert delay_ms(0, 0, 0, "") == delay_ms(-5, -5, -5, "") == 1


def test_a_delay_is_the_base_doubled_with_up_to_a_fifth_on_top() -> None:
    for nth in range(1, 9):
        raw_ms = 10_000 * 2 ** (nth - 1)
        found = {delay_ms(10_000, HOUR, nth, f"job/s:{number}") for number in range(200)}
        assert raw_ms <= min(found) < max(found) <= raw_ms * 1.2
        assert max(found) - min(found) > raw_ms * 0.15


def test_at_the_cap_delays_are_spread_below_it() -> None:
    found = {delay_ms(10_000, HOUR, 40, f"job/s:{number}") for number in range(200)}
    assert HOUR * 0.8 <= min(found) < max(found) <= HOUR
    assert len(found) > 150


def test_a_decision_made_again_is_the_same_decision() -> None:
    assert {delay_ms(10_000, HOUR, 3, "job/s:7") for _ in range(10)} == {delay_ms(10_000, HOUR, 3, "job/s:7")}
    assert delay_ms(10_000, HOUR, 3, "job/s:7") != delay_ms(10_000, HOUR, 3, "job/s:8")


@pytest.mark.case("F077")
@pytest.mark.parametrize("seed", ["a", "job/s:1", "ä\n", ""])
def test_delays_grow_until_the_jitter_at_the_cap(seed: str) -> None:
    waits = [delay_ms(1_000, HOUR, nth, seed) for nth in range(1, 12)]
    assert all(one < two for one, two in pairwise(waits))
