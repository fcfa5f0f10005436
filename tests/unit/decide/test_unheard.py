"""While a living runner has not told what it holds, nothing is said of claims that nobody knows."""

import pytest

from jobctl_daemon.decide.adoption import plan
from jobctl_daemon.rows import Running


def claim(run_id: int, boot_id: str = "now", stop_wanted: str | None = None) -> Running:
    return Running(
        run_id=run_id,
        fence=1,
        attempt=1,
        job_id=1,
        boot_id=boot_id,
        pid=None,
        pid_start=None,
        claimed_ms=0,
        started_ms=None,
        stop_wanted=stop_wanted,
    )


@pytest.mark.parametrize("boot_id", ["now", "before"])
def test_an_unknown_claim_is_left_as_it_is(boot_id: str) -> None:
    made = plan([claim(1, boot_id)], {}, "now", complete=False)
    assert (made.unclaimed, made.lost) == ((), ())
    assert [run.run_id for run in made.unjudged] == [1]


def test_when_all_have_been_heard_it_is_given_back_or_lost() -> None:
    made = plan([claim(1), claim(2, "before")], {}, "now")
    assert [run.run_id for run in made.unclaimed] == [1]
    assert [run.run_id for run in made.lost] == [2]
    assert made.unjudged == ()


@pytest.mark.parametrize("complete", [True, False])
def test_what_a_runner_holds_is_stopped_as_somebody_asked(complete: bool) -> None:
    made = plan([claim(1, stop_wanted="kill")], {"1-1": "running"}, "now", complete=complete)
    assert [run.run_id for run in made.stops] == [1]
