"""The order in which claims are handed over after a daemon has died: a run that kills it takes no other with it."""

import pytest

from jobctl.model import Execution, Policies
from jobctl.states import Trigger
from jobctl_daemon.decide.adoption import in_order
from jobctl_daemon.rows import Claim

RETURNS_MOST = 5


def claim(run_id: int, returns: int = 0) -> Claim:
    return Claim(
        run_id=run_id,
        fence=1,
        attempt=1,
        key="m:1",
        job_id=1,
        job_uid="u",
        job_name="job",
        version=1,
        owner_uid=0,
        slot_ms=0,
        due_ms=0,
        trigger=Trigger.MANUAL,
        timezone="UTC",
        execution=Execution(),
        policies=Policies(),
        returns=returns,
    )


def test_claims_that_never_came_back_keep_their_order() -> None:
    claims = [claim(3), claim(1), claim(2)]
    assert in_order(claims) == claims


def test_what_came_back_goes_last() -> None:
    order = in_order([claim(1, 1), claim(2), claim(3, 1), claim(4)])
    assert [each.run_id for each in order] == [2, 4, 1, 3]


@pytest.mark.parametrize("poison", range(7))
def test_of_many_that_came_back_only_the_one_that_kills_comes_back_again_and_again(poison: int) -> None:
    waiting = dict.fromkeys(range(7), 0)
    for _ in range(RETURNS_MOST):
        order = [each.run_id for each in in_order([claim(run_id, returns) for run_id, returns in waiting.items()])]
        started = order[: order.index(poison)]
        waiting = {run_id: returns + 1 for run_id, returns in waiting.items() if run_id not in started}
    assert waiting == {poison: RETURNS_MOST}
