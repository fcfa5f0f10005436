"""Ready → running: fences that only rise, attempts that are counted, and claims that are given back."""

import asyncio

import pytest

from jobctl.states import Trigger
from jobctl_daemon.rows import StartedAttempt
from kit.stores import ADA, BOOT, MINUTE, NODE, ROOT, T0, Rig, spec


async def test_a_claim_has_everything_that_a_start_needs(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    assert (claim.key, claim.job_uid, claim.job_name) == (f"s:{T0}", job.uid, "backup")
    assert (claim.owner_uid, claim.owner_name) == (ADA.uid, ADA.name)
    assert (claim.attempt, claim.fence, claim.version, claim.timezone) == (1, T0, 1, "UTC")
    assert (claim.execution.shell, claim.execution.env) == ("true", {"A": "b"})
    assert (claim.trigger, claim.slot_ms, claim.due_ms) == (Trigger.SCHEDULE, T0, T0)
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.fence, run.attempt, run.node, run.started_at) == ("running", T0, 1, NODE, None)
    (attempt,) = await rig.store.attempts(ADA, claim.run_id)
    assert (attempt.fence, attempt.node, attempt.pid, attempt.ended_at) == (T0, NODE, None, None)
    assert rig.kinds(claim.run_id) == ["run.scheduled", "run.ready", "run.running"]
    assert (await rig.store.job(ADA, "backup")).state == "running"
    assert (await rig.store.job(ADA, "backup")).running == 1


async def test_claims_come_by_due_time_and_id_up_to_the_limit(rig: Rig) -> None:
    job = await rig.add()
    await rig.ready(job.id, T0 - 1, T0 - 3, T0 - 2)
    assert [claim.due_ms for claim in await rig.claim(2)] == [T0 - 3, T0 - 2]
    assert [claim.due_ms for claim in await rig.claim(2)] == [T0 - 1]
    assert await rig.claim(2) == []


async def test_two_claimers_share_what_is_ready(rig: Rig) -> None:
    job = await rig.add()
    await rig.ready(job.id, *range(T0 - 40, T0))
    taken = await asyncio.gather(*(rig.claim(10) for _ in range(6)))
    ids = [claim.run_id for claims in taken for claim in claims]
    assert len(ids) == len(set(ids)) == 40


async def test_a_run_given_back_is_claimed_again_with_a_higher_fence_and_the_same_attempt(rig: Rig) -> None:
    job = await rig.add()
    (first,) = await rig.claimed(job.id, T0)
    assert await rig.store.unclaim([(first.run_id, first.fence)], T0, T0, "no runner") == 1
    run = await rig.store.run(ADA, first.run_id)
    assert (run.state, run.attempt, run.fence, run.node) == ("ready", 0, first.fence, None)
    assert await rig.store.attempts(ADA, first.run_id) == []
    (second,) = await rig.claim()
    assert second.fence > first.fence
    assert second.attempt == first.attempt == 1
    assert (await rig.finish(first))[0].answer == "stale"
    assert (await rig.finish(second))[0].answer == "ok"
    kinds = ["run.scheduled", "run.ready", "run.running", "run.ready", "run.running", "run.succeeded"]
    assert rig.kinds(first.run_id) == kinds


async def test_a_run_given_back_for_later_waits_and_wakes(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0 + MINUTE, T0, "busy")
    assert await rig.claim() == []
    assert await rig.store.next_wake(T0) == T0 + MINUTE
    rig.now_ms = T0 + MINUTE
    assert [again.run_id for again in await rig.claim()] == [claim.run_id]


async def test_an_old_fence_gives_nothing_back(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    assert await rig.store.unclaim([(claim.run_id, claim.fence - 1), (999, 1)], T0, T0, "x") == 0
    assert await rig.state(claim.run_id) == "running"


async def test_a_cancelled_claim_that_is_given_back_ends_cancelled(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
    assert await rig.state(claim.run_id) == "cancelled"
    assert await rig.claim() == []
    assert rig.kinds(claim.run_id)[-1] == "run.cancelled"


async def test_fences_rise_when_the_clock_goes_back(rig: Rig) -> None:
    job = await rig.add()
    (first,) = await rig.claimed(job.id, T0 - 10 * MINUTE)
    rig.now_ms = T0 - 5 * MINUTE
    (second,) = await rig.claimed(job.id, T0 - 9 * MINUTE)
    assert second.fence >= first.fence == T0
    await rig.store.unclaim([(second.run_id, second.fence)], rig.now_ms, rig.now_ms, "x")
    (third,) = await rig.claim()
    assert third.fence > second.fence


async def test_a_started_process_is_noted_on_run_and_attempt(rig: Rig) -> None:
    job = await rig.add(spec(late_after_ms=10))
    (claim,) = await rig.claimed(job.id, T0)
    rig.now_ms = T0 + 11
    await rig.begun(claim)
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.started_at, run.late) == ("2027-01-15T08:00:00.011Z", True)
    (attempt,) = await rig.store.attempts(ADA, claim.run_id)
    assert (attempt.pid, attempt.started_at) == (4711, run.started_at)


@pytest.mark.case("F067")
async def test_a_start_under_an_old_fence_changes_nothing(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    late = StartedAttempt(run_id=claim.run_id, fence=claim.fence - 1, pid=1, pid_start=1, runner="a", started_ms=T0)
    await rig.store.started([late])
    assert (await rig.store.attempts(ADA, claim.run_id))[0].pid is None


async def test_everything_claimed_is_found_after_a_restart(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    await rig.ready(job.id, T0 + 1)
    await rig.begun(one)
    await rig.store.cancel(ADA, two.run_id, "ada", T0, "kill")
    found = await rig.store.running()
    assert [(run.run_id, run.fence, run.attempt, run.boot_id) for run in found] == [
        (one.run_id, one.fence, 1, BOOT),
        (two.run_id, two.fence, 1, BOOT),
    ]
    assert (found[0].pid, found[0].pid_start, found[0].started_ms, found[0].stop_wanted) == (4711, 99, T0, None)
    assert (found[1].pid, found[1].claimed_ms, found[1].stop_wanted) == (None, T0, "kill")


async def test_an_adopted_process_is_noted(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.begun(claim)
    alive = StartedAttempt(run_id=claim.run_id, fence=claim.fence, pid=5, pid_start=6, runner="b", started_ms=T0 + 1)
    await rig.store.started([alive])
    (found,) = await rig.store.running()
    assert (found.pid, found.pid_start, found.started_ms) == (5, 6, T0 + 1)


async def test_a_claim_and_a_cancel_leave_one_of_two_ends(rig: Rig) -> None:
    job = await rig.add()
    for number in range(8):
        (run_id,) = await rig.ready(job.id, T0 - number)
        pair = [rig.claim(), rig.store.cancel(ADA, run_id, "ada", T0)]
        if number % 2:
            pair.reverse()
        await asyncio.gather(*pair)
        run = await rig.store.run(ROOT, run_id)
        if run.state == "running":
            found = [row for row in await rig.store.running() if row.run_id == run_id]
            assert found[0].stop_wanted == "cancel"
        else:
            assert run.state == "cancelled"
            assert rig.kinds(run_id) == ["run.scheduled", "run.ready", "run.cancelled"]
