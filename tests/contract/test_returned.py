"""Claims that a dead daemon left: given back, counted, and handed back to be ended when they come too often."""

import pytest

from jobctl.states import OnFailure, RunState
from kit.stores import ADA, MINUTE, T0, Rig, spec

MOST = 5


async def returned(rig: Rig, *claims: object, most: int = MOST) -> list[int]:
    pairs = [(claim.run_id, claim.fence) for claim in claims]  # type: ignore[attr-defined]
    return await rig.store.returned(pairs, most, rig.now_ms, "its daemon had died")


async def test_a_claim_that_comes_back_is_ready_again_with_no_attempt_burnt(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0 - MINUTE)
    assert await returned(rig, claim) == []
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.attempt, run.fence, run.due_at) == ("ready", 0, claim.fence, "2027-01-15T08:00:00Z")
    row = await rig.row(claim.run_id)
    assert (row["returns"], row["failures"], row["losses"], row["node"]) == (1, 0, 0, None)
    event = rig.events[-1]
    assert (event.kind, event.data["reason"]) == ("run.ready", "its daemon had died")
    (again,) = await rig.claim()
    assert (again.attempt, again.run_id) == (1, claim.run_id)
    assert again.fence > claim.fence


async def test_the_fifth_time_a_claim_is_handed_back_and_not_given_back(rig: Rig) -> None:
    job = await rig.add(spec(on_failure=OnFailure.DEAD))
    (claim,) = await rig.claimed(job.id, T0)
    for _ in range(MOST - 1):
        assert await returned(rig, claim) == []
        (claim,) = await rig.claim()
    assert await returned(rig, claim) == [claim.run_id]
    assert await rig.state(claim.run_id) == "running"
    assert await returned(rig, claim) == [claim.run_id]
    assert (await rig.died(claim))[0].answer == "ok"
    assert await rig.state(claim.run_id) == "dead"
    assert rig.kinds(claim.run_id).count("run.ready") == MOST


async def test_an_ordinary_claim_given_back_is_not_counted(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    for _ in range(2 * MOST):
        await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
        (claim,) = await rig.claim()
    assert (await rig.row(claim.run_id))["returns"] == 0
    assert await returned(rig, claim) == []


async def test_of_several_each_is_counted_by_itself(rig: Rig) -> None:
    job = await rig.add()
    poison, fine, cancelled, ended = await rig.claimed(job.id, *range(T0 - 4, T0))
    for _ in range(MOST - 1):
        await returned(rig, poison)
        (poison,) = await rig.claim()
    await rig.store.cancel(ADA, cancelled.run_id, "ada", T0)
    await rig.finish(ended)
    assert await returned(rig, poison, fine, cancelled, ended) == [poison.run_id]
    assert await rig.states(poison.run_id, fine.run_id, cancelled.run_id, ended.run_id) == [
        "running", "ready", "cancelled", "succeeded",
    ]  # fmt: skip


async def test_an_old_fence_gives_nothing_back(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    assert await rig.store.returned([(claim.run_id, claim.fence - 1), (999, 1)], 1, T0, "x") == []
    assert await rig.state(claim.run_id) == "running"
    assert await rig.store.returned([], MOST, T0, "x") == []


async def test_a_stopped_claim_that_would_be_poison_is_cancelled(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    assert await returned(rig, claim, most=1) == []
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.reason) == ("cancelled", "it was stopped by ada before it began")


@pytest.mark.parametrize("what", ["job", "queue", "daemon"])
async def test_a_claim_that_comes_back_to_a_paused_job_is_held_and_counted(rig: Rig, what: str) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.hold(what, job.id)
    assert await returned(rig, claim) == []
    row = await rig.row(claim.run_id)
    assert (row["state"], row["held"], row["gate"], row["returns"]) == ("scheduled", 1, None, 1)
    assert rig.kinds(claim.run_id)[-1] == "run.held"
    await rig.let_go(what, job.id)
    await rig.look()
    assert len(await rig.claim()) == 1


async def test_a_run_of_a_deleted_job_ends_with_its_claim(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.delete_job(ADA, job.id, T0)
    assert await returned(rig, claim) == []
    assert await rig.state(claim.run_id) == "cancelled"


async def test_a_one_shot_whose_claim_came_back_cancelled_is_done(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    await returned(rig, claim)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"


async def test_the_end_of_a_poisoned_run_may_be_a_failure_for_the_record(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    assert await returned(rig, claim, most=1) == [claim.run_id]
    await rig.finish(claim, state=RunState.FAILED)
    assert await rig.state(claim.run_id) == "failed"
