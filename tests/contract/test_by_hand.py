"""What a person asks for: no pause holds it, no streak counts it, and what was changed for once is changed for once."""

import pytest

from jobctl.defaults import JOB_RUNS_MAX
from jobctl.errors import Conflict
from jobctl.model import Execution, Policies
from jobctl.states import Misfire, OnFailure, Overlap, Trigger
from jobctl_daemon.rows import DeadFilter, Replay
from kit.stores import ADA, MINUTE, T0, Rig, expansion, spec


async def test_replays_that_die_again_quarantine_nothing(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id, T0)
    for _ in range(6):
        await rig.replay(run_id)
        await rig.look()
        (claim,) = await rig.claim()
        await rig.died(claim)
    assert not (await rig.store.job(ADA, "backup")).quarantined


async def test_an_edited_replay_is_edited_for_that_once(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id, T0)
    await rig.replay(run_id, execution=Execution(shell="false"))
    await rig.look()
    (claim,) = await rig.claim()
    assert claim.execution.shell == "false"
    assert (await rig.store.run(ADA, run_id)).edited
    await rig.died(claim)

    await rig.replay(run_id)
    await rig.look()
    (again,) = await rig.claim()
    assert again.execution.shell == "true"
    assert not (await rig.store.run(ADA, run_id)).edited


async def test_the_brake_looks_at_the_whole_group_and_not_at_what_is_picked_of_it(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.dead(job.id, *(T0 - place for place in (4, 3, 2, 1)))
    for _ in range(2):
        await rig.replay(ids[0])
        await rig.look()
        (claim,) = await rig.claim()
        await rig.died(claim)
    wanted = DeadFilter(ids=tuple(ids[1:]), limit=1000)
    with pytest.raises(Conflict, match="died again 2 times"):
        await rig.store.replay(ADA, wanted, Replay(by="ada"), rig.now_ms, None)
    forced = await rig.store.replay(ADA, wanted, Replay(by="ada", force=True), rig.now_ms, None)
    assert sorted(forced.replayed) == sorted(ids[1:])


async def test_a_replay_in_turn_goes_in_the_order_in_which_it_was_listed(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.ALLOW))
    first, second, third = await rig.ready(job.id, T0 - 3, T0 - 2, T0 - 1)
    claims = {claim.run_id: claim for claim in await rig.claim()}
    for run_id in (third, first, second):
        rig.now_ms += 1
        await rig.died(claims[run_id])
    replayed = await rig.replay(stop_on_failure=True)
    assert replayed.replayed == [third, first, second]
    started = []
    for _ in range(3):
        rig.now_ms += 10
        await rig.look()
        (claim,) = await rig.claim()
        started.append(claim.run_id)
        await rig.finish(claim)
    assert started == [third, first, second]


async def test_a_job_whose_last_letter_is_given_up_is_not_a_failing_one(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id, T0)
    assert (await rig.store.job(ADA, "backup")).state == "failed"
    await rig.store.discard(ADA, DeadFilter(ids=(run_id,)), "ada", None, rig.now_ms)
    assert (await rig.store.job(ADA, "backup")).state == "ok"


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE])
async def test_misfire_all_makes_up_every_one_and_none_skips_another(rig: Rig, overlap: Overlap) -> None:
    rules = Policies(overlap=overlap, misfire=Misfire.ALL, on_failure=OnFailure.RECORD)
    job = await rig.add(spec(overlap=overlap))
    await rig.policies(job.id, overlap=overlap, misfire=rules.misfire)
    slots = [T0 - place * MINUTE for place in (4, 3, 2, 1, 0)]
    ids = await rig.scheduled(job.id, *slots, trigger=Trigger.CATCH_UP)
    ran = []
    for _ in slots:
        await rig.look()
        (claim,) = await rig.claim()
        ran.append(claim.run_id)
        await rig.finish(claim)
    assert ran == ids


async def test_a_run_that_waits_for_its_retry_is_counted_by_its_job_and_by_all(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim)
    assert (await rig.store.job(ADA, "backup")).retrying == 1
    counts = await rig.store.counts(ADA, rig.now_ms)
    assert (counts.ready, counts.retrying, counts.running) == (1, 1, 0)
    await rig.pause(job.id)
    counts = await rig.store.counts(ADA, rig.now_ms)
    assert (counts.ready, counts.retrying, counts.running) == (0, 1, 0)


async def test_what_is_put_back_of_a_replay_with_the_newest_definition_keeps_its_own(rig: Rig) -> None:
    job = await rig.add()
    first, second, third = await rig.dead(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.edit(job.id, execution=Execution(shell="echo new"))
    await rig.replay(stop_on_failure=True, current=True)
    for end in ("succeeds", "dies"):
        await rig.look()
        (claim,) = await rig.claim()
        assert claim.execution.shell == "echo new", end
        await (rig.finish(claim) if end == "succeeds" else rig.died(claim))
    assert [(await rig.store.run(ADA, run_id)).version for run_id in (first, second, third)] == [2, 2, 1]
    assert await rig.state(third) == "dead"


async def test_a_job_has_so_many_runs_that_have_not_ended_and_no_more_are_taken(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.ALLOW))
    await rig.expand(expansion(await rig.cursor(job.id), range(T0 - JOB_RUNS_MAX + 1, T0)))
    last = await rig.by_hand(job.id, T0 + MINUTE)
    with pytest.raises(Conflict, match=f"{JOB_RUNS_MAX} runs of backup have not ended"):
        await rig.by_hand(job.id)
    assert {one.unended for one in await rig.store.pending(T0, 10)} == {JOB_RUNS_MAX}
    await rig.expand(expansion(await rig.cursor(job.id), (T0,)))
    assert {one.unended for one in await rig.store.pending(T0, 10)} == {JOB_RUNS_MAX + 1}
    await rig.store.cancel(ADA, last, "ada", T0)
    other = await rig.add(spec("other"))
    assert await rig.by_hand(other.id) > last
