"""The misfire policies over a backlog."""

import pytest

from jobctl.model import Policies
from jobctl.schedule import Every, Fire, Once
from jobctl.states import Misfire
from jobctl_daemon.decide.misfire import COUNTED_MAX, choose, start_by_ms

MINUTE = 60_000
DAY = 86_400_000
MINUTELY = Every(interval_ms=MINUTE, anchor_ms=0)


def _at(backlog_kept: tuple[Fire, ...]) -> list[int]:
    return [fire.at_ms for fire in backlog_kept]


@pytest.mark.parametrize("misfire", list(Misfire))
def test_an_occurrence_on_its_time_runs_whatever_the_policy(misfire: Misfire) -> None:
    policies = Policies(misfire=misfire, misfire_within_ms=MINUTE)
    backlog = choose(MINUTELY, policies, 5 * MINUTE, 5 * MINUTE + 3)

    assert _at(backlog.kept) == [5 * MINUTE]
    assert backlog.missed == 0


@pytest.mark.parametrize(
    ("misfire", "within", "kept", "missed"),
    [
        (Misfire.ALL, DAY, [1, 2, 3, 4, 5], 0),
        (Misfire.ONCE, DAY, [5], 4),
        (Misfire.SKIP, 20_000, [], 5),
    ],
)
def test_five_due_times_while_down_give_five_one_or_none(
    misfire: Misfire, within: int, kept: list[int], missed: int
) -> None:
    now = 5 * MINUTE + 30_000
    backlog = choose(MINUTELY, Policies(misfire=misfire, misfire_within_ms=within), MINUTE, now)

    assert _at(backlog.kept) == [slot * MINUTE for slot in kept]
    assert backlog.missed == missed


def test_the_missed_range_names_its_first_and_last_occurrence() -> None:
    backlog = choose(MINUTELY, Policies(misfire=Misfire.ONCE), MINUTE, 5 * MINUTE)

    assert (backlog.missed_from_ms, backlog.missed_to_ms, backlog.missed) == (MINUTE, 4 * MINUTE, 4)


def test_all_keeps_at_most_ten_and_the_newest() -> None:
    backlog = choose(MINUTELY, Policies(misfire=Misfire.ALL), MINUTE, 40 * MINUTE)

    assert _at(backlog.kept) == [slot * MINUTE for slot in range(31, 41)]
    assert (backlog.missed_from_ms, backlog.missed_to_ms, backlog.missed) == (MINUTE, 30 * MINUTE, 30)


def test_once_runs_nothing_that_is_older_than_its_window() -> None:
    daily = Every(interval_ms=DAY, anchor_ms=0)
    backlog = choose(daily, Policies(misfire=Misfire.ONCE, misfire_within_ms=MINUTE), DAY, DAY + 2 * MINUTE)

    assert backlog.kept == ()
    assert backlog.missed == 1


def test_years_of_missed_minutes_are_one_range_and_quickly_found() -> None:
    now = 3 * 365 * DAY
    backlog = choose(MINUTELY, Policies(misfire=Misfire.ONCE), MINUTE, now)

    assert _at(backlog.kept) == [now]
    assert backlog.missed == now // MINUTE - 1 or (backlog.missed >= COUNTED_MAX and not backlog.exact)


def test_a_missed_one_shot_runs_late_without_a_window() -> None:
    backlog = choose(Once(at_ms=1_000), Policies(misfire=Misfire.SKIP, misfire_within_ms=1), 1_000, 400 * DAY)

    assert _at(backlog.kept) == [1_000]
    assert start_by_ms(Once(at_ms=1_000), Policies(), 1_000) is None
