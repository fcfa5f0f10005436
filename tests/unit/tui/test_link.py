"""How a link to a daemon is judged, and when it is tried again."""

import pytest

from jobctl.errors import Conflict, Forbidden, Unavailable, Unreachable, VersionMismatch
from jobctl_tui.live.link import LAST_RETRY_MS, Link, State, heartbeat, is_refusal, retry_after_ms


@pytest.mark.parametrize(
    ("silent_ms", "state"),
    [(0, "live"), (4_000, "live"), (4_001, "slow"), (10_000, "slow"), (10_001, "down")],
)
def test_a_daemon_is_slow_after_four_seconds_of_silence_and_gone_after_ten(silent_ms: int, state: str) -> None:
    assert heartbeat(silent_ms, 2_000) == state


def test_a_daemon_that_is_asked_less_often_may_be_silent_for_longer() -> None:
    assert heartbeat(12_000, 10_000) == "live"
    assert heartbeat(12_001, 10_000) == "slow"


def test_tries_get_rarer_up_to_five_seconds_and_never_end() -> None:
    waits = [retry_after_ms(tries, 1.0) for tries in range(1, 9)]
    assert waits == [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]
    assert retry_after_ms(1_000_000, 1.0) == LAST_RETRY_MS


def test_tries_of_many_screens_are_spread_over_half_the_time() -> None:
    assert {retry_after_ms(6, share) for share in (0.0, 0.5, 1.0)} == {2500, 3750, 5000}


def test_another_version_and_another_users_daemon_are_refusals_and_a_busy_one_is_not() -> None:
    assert is_refusal(VersionMismatch("no"))
    assert is_refusal(Forbidden("no"))
    assert not is_refusal(Unreachable("no"))
    assert not is_refusal(Unavailable("no"))


def test_why_it_is_not_live_is_what_the_system_said() -> None:
    said = Unreachable("cannot reach the daemon", details={"why": "connection refused"})
    assert Link("down", 0, said).why == "connection refused"
    assert Link("refused", 0, Conflict("it is another")).why == "it is another"
    assert Link("live", 0).why == ""


@pytest.mark.parametrize(
    ("state", "reached", "away"),
    [
        ("connecting", False, False),
        ("live", True, False),
        ("slow", True, False),
        ("down", False, True),
        ("refused", False, True),
    ],
)
def test_what_changes_jobs_may_be_asked_of_a_slow_daemon_and_of_one_not_heard_yet(
    state: State, reached: bool, away: bool
) -> None:
    assert (Link(state, 0).reached, Link(state, 0).away) == (reached, away)
