"""What happens to a run that is due while others of its job are active, and how what waits is let go."""

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jobctl.errors import Conflict
from jobctl.states import Overlap, RunState, SkipReason
from jobctl_daemon.rows import Admission, Admitted, Claim
from kit.stores import ADA, MINUTE, ROOT, T0, Rig, spec


async def waits(rig: Rig, run_id: int) -> bool:
    return bool((await rig.row(run_id))["waits"] == 1)


async def queued(rig: Rig, **policies: Any) -> tuple[int, Claim, int]:
    """A job under overlap queue with a run that is running and one that waits for it."""
    job = await rig.add(spec(overlap=Overlap.QUEUE, **policies))
    (claim,) = await rig.claimed(job.id, T0 - 1)
    (waiting,) = await rig.scheduled(job.id, T0)
    await rig.look()
    assert await waits(rig, waiting)
    return job.id, claim, waiting


# ── each policy ──────────────────────────────────────────────


async def test_under_allow_all_run_at_once(rig: Rig) -> None:
    job = await rig.add()
    await rig.scheduled(job.id, *range(T0 - 5, T0))
    await rig.look()
    assert len(await rig.claim()) == 5


async def test_under_allow_a_limit_skips_what_is_over_it(rig: Rig) -> None:
    job = await rig.add(spec(limit=2))
    ids = await rig.scheduled(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.look()
    assert await rig.states(*ids) == ["ready", "ready", "skipped"]
    run = await rig.store.run(ADA, ids[2])
    assert (run.outcome, run.reason) == ("limit", f"2 runs were still active, the oldest is {ids[0]}")
    (row,) = await rig.store.ledger(ADA, job.id, T0 - 1, T0 - 1, 10)
    assert (row.run_id, row.reason) == (ids[2], SkipReason.LIMIT)


@pytest.mark.parametrize("stage", ["ready", "running", "retrying"])
async def test_under_skip_whatever_is_active_skips_the_next(rig: Rig, stage: str) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    (active,) = await rig.ready(job.id, T0 - 2)
    if stage != "ready":
        (claim,) = await rig.claim()
        if stage == "retrying":
            await rig.retrying(claim)
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.look()
    run = await rig.store.run(ADA, run_id)
    assert (run.state, run.outcome, run.reason) == ("skipped", "overlap", f"run {active} was still active")


async def test_under_skip_a_limit_lets_so_many_run_at_once(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP, limit=2))
    ids = await rig.scheduled(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.look()
    assert await rig.states(*ids) == ["ready", "ready", "skipped"]


async def test_under_queue_the_next_waits_and_says_for_what(rig: Rig) -> None:
    _, claim, waiting = await queued(rig)
    run = await rig.store.run(ADA, waiting)
    assert (run.state, run.reason) == ("scheduled", "waits for an earlier run of its job")
    assert rig.kinds(waiting) == ["run.scheduled", "run.waiting"]
    assert await rig.store.pending(T0 + 9 * MINUTE, 10) == []
    assert await rig.store.next_wake(T0) is None
    counts = await rig.store.counts(ADA, T0 + 9 * MINUTE)
    assert (counts.scheduled, counts.ready, counts.running, counts.oldest_due_ms) == (1, 0, 1, None)
    await rig.finish(claim)
    assert rig.kinds(waiting)[-1] == "run.scheduled"
    (pending,) = await rig.store.pending(T0, 10)
    assert (pending.run_id, pending.active, pending.waiting) == (waiting, (), ())
    await rig.look()
    assert [found.run_id for found in await rig.claim()] == [waiting]


@pytest.mark.parametrize("most", [0, 1, 3])
async def test_under_queue_so_many_wait_as_the_job_says_and_more_are_skipped(rig: Rig, most: int) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE, overlap_queue=most))
    await rig.claimed(job.id, T0 - 9)
    ids = await rig.scheduled(job.id, T0 - 4, T0 - 3, T0 - 2, T0 - 1, T0)
    await rig.look()
    assert await rig.states(*ids) == ["scheduled"] * most + ["skipped"] * (5 - most)
    late = await rig.scheduled(job.id, T0 + 1)
    rig.now_ms = T0 + 1
    await rig.look()
    run = await rig.store.run(ADA, late[0])
    assert (run.state, run.outcome) == ("skipped", "overlap")
    assert f"{most} {'run waits' if most == 1 else 'runs wait'} for it already" in str(run.reason)


async def test_under_queue_what_waits_goes_one_after_another_in_order(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE, overlap_queue=3))
    (claim,) = await rig.claimed(job.id, T0 - 9)
    ids = await rig.scheduled(job.id, T0 - 1, T0 - 3, T0 - 2)
    await rig.look()
    order = []
    for _ in ids:
        await rig.finish(claim)
        await rig.look()
        (claim,) = await rig.claim()
        order.append(claim.slot_ms)
    assert order == [T0 - 3, T0 - 2, T0 - 1]


async def test_under_queue_a_limit_lets_so_many_run_and_the_next_one_wait(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE, limit=2))
    ids = await rig.scheduled(job.id, *range(T0 - 4, T0))
    await rig.look()
    assert await rig.states(*ids) == ["ready", "ready", "scheduled", "skipped"]
    one, _ = await rig.claim()
    await rig.finish(one)
    await rig.look()
    assert await rig.state(ids[2]) == "ready"


async def test_under_queue_what_is_asked_for_by_hand_waits_whatever_waits_already(rig: Rig) -> None:
    job_id, claim, waiting = await queued(rig)
    by_hand = [await rig.by_hand(job_id) for _ in range(3)]
    await rig.look()
    assert [await waits(rig, run_id) for run_id in by_hand] == [True, True, True]
    await rig.finish(claim)
    await rig.look()
    assert await rig.states(waiting, *by_hand) == ["ready", "scheduled", "scheduled", "scheduled"]
    assert [await waits(rig, run_id) for run_id in by_hand] == [True, True, True]


async def test_under_replace_a_running_one_is_stopped_and_the_new_one_waits_until_it_is_gone(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.REPLACE))
    (claim,) = await rig.claimed(job.id, T0 - 1)
    (run_id,) = await rig.scheduled(job.id, T0)
    assert await rig.look() == Admitted(moved=0, stops=((claim.run_id, claim.fence),), waiting=1)
    assert await rig.claim() == []
    (running,) = await rig.store.running()
    assert (running.run_id, running.stop_wanted) == (claim.run_id, "cancel")
    (effort,) = await rig.store.efforts([claim.run_id])
    assert effort.stop_by == f"run {run_id}, which replaces it"
    await rig.finish(claim, state=RunState.CANCELLED)
    await rig.look()
    assert [found.run_id for found in await rig.claim()] == [run_id]


async def test_under_replace_a_failure_of_what_is_being_replaced_is_not_tried_again(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.REPLACE))
    (claim,) = await rig.claimed(job.id, T0 - 1)
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.look()
    await rig.retrying(claim)
    await rig.look()
    assert await rig.states(claim.run_id, run_id) == ["cancelled", "ready"]


@pytest.mark.parametrize("stage", ["ready", "retrying", "held"])
async def test_under_replace_what_has_not_begun_or_waits_for_a_retry_is_superseded_at_once(
    rig: Rig, stage: str
) -> None:
    job = await rig.add(spec(overlap=Overlap.REPLACE))
    (old,) = await rig.ready(job.id, T0 - 1)
    if stage != "ready":
        await rig.retrying(*await rig.claim())
    if stage == "held":
        await rig.pause(job.id)
        new = await rig.by_hand(job.id)
    else:
        (new,) = await rig.scheduled(job.id, T0)
    assert (await rig.look()).stops == ()
    assert await rig.states(old, new) == ["superseded", "ready"]
    run = await rig.store.run(ADA, old)
    assert (run.outcome, run.reason) == ("superseded", f"replaced by run {new}")
    (row,) = await rig.store.ledger(ADA, job.id, T0 - 1, T0 - 1, 10)
    assert (row.run_id, row.reason, row.detail) == (old, SkipReason.OVERLAP, f"replaced by run {new}")
    assert rig.kinds(old)[-1] == "run.superseded"


async def test_under_replace_the_newest_of_several_is_left(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.REPLACE))
    ids = await rig.scheduled(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.look()
    assert await rig.states(*ids) == ["superseded", "superseded", "ready"]
    (claim,) = await rig.claim()
    for slot_ms in (T0, T0 + 1):
        rig.now_ms = slot_ms
        ids += await rig.scheduled(job.id, slot_ms)
        await rig.look()
    assert await rig.states(*ids[2:]) == ["running", "superseded", "scheduled"]
    await rig.finish(claim, state=RunState.CANCELLED)
    await rig.look()
    assert await rig.state(ids[-1]) == "ready"


async def test_under_replace_what_is_asked_for_by_hand_replaces_too(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.REPLACE))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.by_hand(job.id)
    assert (await rig.look()).stops == ((claim.run_id, claim.fence),)


# ── by hand ──────────────────────────────────────────────


async def test_by_hand_is_refused_where_it_could_only_be_skipped(rig: Rig) -> None:
    limited = await rig.add(spec("limited", limit=2))
    ids = await rig.ready(limited.id, T0 - 2, T0 - 1)
    with pytest.raises(Conflict, match="its limit is 2") as caught:
        await rig.by_hand(limited.id)
    assert caught.value.details["run_id"] == ids[0]
    skipping = await rig.add(spec("skipping", overlap=Overlap.SKIP))
    (claim,) = await rig.claimed(skipping.id, T0)
    await rig.retrying(claim)
    with pytest.raises(Conflict, match="its overlap policy is skip"):
        await rig.by_hand(skipping.id)
    await rig.by_hand(skipping.id, T0 + MINUTE)


@pytest.mark.parametrize("overlap", [Overlap.ALLOW, Overlap.QUEUE, Overlap.REPLACE])
async def test_by_hand_is_taken_where_it_runs_or_waits(rig: Rig, overlap: Overlap) -> None:
    job = await rig.add(spec(overlap=overlap))
    await rig.claimed(job.id, T0)
    await rig.by_hand(job.id)
    await rig.by_hand(job.id)


# ── the gate is free ──────────────────────────────────────────────


async def _finish(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.finish(claim)


async def _fail(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.finish(claim, state=RunState.FAILED)


async def _die(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.died(claim)


async def _stop(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.store.cancel(ADA, claim.run_id, "ada", rig.now_ms)
    await rig.finish(claim, state=RunState.CANCELLED)


async def _cancel_the_retry(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.retrying(claim)
    await rig.store.cancel(ADA, claim.run_id, "ada", rig.now_ms)


async def _cancel_and_give_back(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.store.cancel(ADA, claim.run_id, "ada", rig.now_ms)
    await rig.store.unclaim([(claim.run_id, claim.fence)], rig.now_ms, rig.now_ms, "no runner")


async def _cancel_and_return(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.store.cancel(ADA, claim.run_id, "ada", rig.now_ms)
    await rig.store.returned([(claim.run_id, claim.fence)], 5, rig.now_ms, "it died")


async def _give_back_and_cancel(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.store.unclaim([(claim.run_id, claim.fence)], rig.now_ms + MINUTE, rig.now_ms, "no runner")
    await rig.store.cancel(ADA, claim.run_id, "ada", rig.now_ms)


async def _skip_what_found_no_slot(rig: Rig, job_id: int, claim: Claim) -> None:
    await rig.store.unclaim([(claim.run_id, claim.fence)], rig.now_ms + MINUTE, rig.now_ms, "no runner")
    await rig.admit(claim.run_id, reason=SkipReason.MISFIRE)


@pytest.mark.parametrize(
    "leave",
    [
        _finish,
        _fail,
        _die,
        _stop,
        _cancel_the_retry,
        _cancel_and_give_back,
        _cancel_and_return,
        _give_back_and_cancel,
        _skip_what_found_no_slot,
    ],
)
async def test_what_waits_is_let_go_by_every_way_out(
    rig: Rig, leave: Callable[[Rig, int, Claim], Awaitable[None]]
) -> None:
    job_id, claim, waiting = await queued(rig)
    await leave(rig, job_id, claim)
    assert not await waits(rig, waiting)
    await rig.look()
    assert await rig.state(waiting) == "ready"


async def test_a_claim_given_back_keeps_the_gate(rig: Rig) -> None:
    _, claim, waiting = await queued(rig)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
    assert await waits(rig, waiting)
    (again,) = await rig.claim()
    assert again.run_id == claim.run_id


async def test_a_retry_keeps_the_gate(rig: Rig) -> None:
    _, claim, waiting = await queued(rig)
    await rig.retrying(claim)
    assert await waits(rig, waiting)


async def test_a_pause_that_holds_the_gate_s_run_lets_go_what_was_asked_for_by_hand(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    (ready,) = await rig.ready(job.id, T0 - 1)
    by_hand = await rig.by_hand(job.id)
    (other,) = await rig.scheduled(job.id, T0)
    await rig.look()
    assert await waits(rig, by_hand)
    await rig.pause(job.id)
    await rig.look()
    assert await rig.states(ready, by_hand) == ["scheduled", "ready"]
    await rig.resume(job.id)
    await rig.look()
    assert await waits(rig, ready)
    assert await rig.state(other) == "skipped"


async def test_a_claim_given_back_to_a_paused_job_lets_go_what_was_asked_for_by_hand(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    (claim,) = await rig.claimed(job.id, T0)
    by_hand = await rig.by_hand(job.id)
    await rig.look()
    await rig.pause(job.id)
    assert await waits(rig, by_hand)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
    await rig.look()
    assert await rig.state(by_hand) == "ready"


async def test_what_waits_goes_with_its_job(rig: Rig) -> None:
    job_id, claim, waiting = await queued(rig)
    await rig.store.delete_job(ADA, job_id, T0)
    assert await rig.state(waiting) == "cancelled"
    assert await rig.state(claim.run_id) == "running"


async def test_what_waits_may_be_cancelled(rig: Rig) -> None:
    _, claim, waiting = await queued(rig)
    assert (await rig.store.cancel(ADA, waiting, "ada", T0)).run.state == "cancelled"
    assert await rig.state(claim.run_id) == "running"


async def test_what_waits_past_its_last_instant_is_too_late(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE, overlap_queue=2))
    await rig.claimed(job.id, T0 - 9)
    (waiting, other) = await rig.scheduled(job.id, T0 - 2, T0 - 1, start_by_ms=T0 + 5)
    await rig.look()
    assert await rig.store.too_late(T0 + 5, 10) == []
    assert [run.run_id for run in await rig.store.too_late(T0 + 6, 10)] == [waiting, other]
    assert [run.run_id for run in await rig.store.too_late(T0 + 6, 1)] == [waiting]
    assert await rig.admit(waiting, reason=SkipReason.MISFIRE) == 1
    assert [await waits(rig, run_id) for run_id in (other,)] == [True]


async def test_what_waits_is_held_by_a_pause_and_looked_at_again_after_it(rig: Rig) -> None:
    job_id, claim, waiting = await queued(rig)
    await rig.pause(job_id)
    row = await rig.row(waiting)
    assert (row["held"], row["waits"]) == (1, 0)
    await rig.finish(claim)
    await rig.resume(job_id)
    await rig.look()
    assert await rig.state(waiting) == "ready"


async def test_nobody_waits_when_nobody_is_active(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    (claim,) = await rig.claimed(job.id, T0 - 1)
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.finish(claim)
    decided_before = Admission(run_id=run_id, waits=True)
    assert await rig.store.admit([decided_before], T0) == Admitted(moved=0)
    assert not await waits(rig, run_id)
    await rig.look()
    assert await rig.state(run_id) == "ready"


async def test_nobody_waits_when_there_is_room_by_now(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE, limit=2))
    one, _ = await rig.claimed(job.id, T0 - 2, T0 - 1)
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.finish(one)
    assert (await rig.store.admit([Admission(run_id=run_id, waits=True)], T0)).waiting == 0
    await rig.look()
    assert await rig.state(run_id) == "ready"


async def test_a_run_waits_once(rig: Rig) -> None:
    _, _, waiting = await queued(rig)
    assert (await rig.store.admit([Admission(run_id=waiting, waits=True)], T0)).waiting == 0
    assert rig.kinds(waiting).count("run.waiting") == 1


async def test_after_a_start_everything_that_waits_is_looked_at_again(rig: Rig) -> None:
    _, _, waiting = await queued(rig)
    assert await rig.store.wake_waiting() == 1
    assert await rig.store.wake_waiting() == 0
    assert [run.run_id for run in await rig.store.pending(T0, 10)] == [waiting]
    await rig.look()
    assert await waits(rig, waiting)


async def test_a_higher_limit_lets_go_what_waits(rig: Rig) -> None:
    job_id, _, waiting = await queued(rig)
    await rig.policies(job_id, limit=2)
    await rig.look()
    assert await rig.state(waiting) == "ready"


async def test_a_policy_that_is_changed_holds_for_what_waits(rig: Rig) -> None:
    job_id, _, waiting = await queued(rig)
    await rig.policies(job_id, overlap=Overlap.SKIP)
    await rig.look()
    assert await rig.state(waiting) == "skipped"


# ── what repeats ──────────────────────────────────────────────


async def test_three_skips_in_a_row_are_told_of_once(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    (claim,) = await rig.claimed(job.id, T0 - 9)
    for n in range(5):
        await rig.scheduled(job.id, T0 - 8 + n)
        await rig.look()
        told = rig.kinds().count("job.skipping")
        assert told == (n >= 2)
        assert (await rig.store.job(ADA, "backup")).skipping == n + 1
        assert (await rig.store.counts(ADA, T0)).skipping == told
    (event,) = [event for event in rig.events if event.kind == "job.skipping"]
    assert (event.job_id, event.data["count"], event.data["reason"]) == (job.id, 3, "overlap")
    await rig.finish(claim)
    assert (await rig.store.job(ADA, "backup")).skipping == 0
    assert (await rig.store.counts(ADA, T0)).skipping == 0


async def test_skipping_is_a_habit_until_a_run_succeeds_that_skipped_nothing(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    slots = itertools.count(T0 - 100)

    async def one_run(skips: int, state: RunState = RunState.SUCCEEDED) -> None:
        (claim,) = await rig.claimed(job.id, next(slots))
        for _ in range(skips):
            await rig.scheduled(job.id, next(slots))
            await rig.look()
        await (rig.died(claim) if state is RunState.DEAD else rig.finish(claim, state=state))

    for skips in (3, 4, 1, 3):
        await one_run(skips)
    await one_run(0, RunState.DEAD)
    await one_run(3)
    await one_run(0)
    await one_run(3)
    again = [event.data["again"] for event in rig.events if event.kind == "job.skipping"]
    assert again == [False, True, True, True, False]


async def test_skips_of_other_kinds_are_not_counted(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.scheduled(job.id, *range(T0 - 5, T0))
    await rig.admit(*ids, reason=SkipReason.MISFIRE)
    assert (await rig.store.job(ADA, "backup")).skipping == 0
    limited = await rig.scheduled(job.id, *range(T0 - 15, T0 - 10))
    await rig.admit(*limited, reason=SkipReason.LIMIT)
    assert rig.kinds().count("job.skipping") == 1


async def test_a_death_in_between_begins_a_new_row_of_skips(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    for start in (T0 - 100, T0 - 50):
        (claim,) = await rig.claimed(job.id, start)
        for n in range(2):
            await rig.scheduled(job.id, start + n + 1)
            await rig.look()
        await rig.died(claim)
    assert "job.skipping" not in rig.kinds()


async def test_a_replayed_run_waits_under_every_policy(rig: Rig) -> None:
    for overlap in (Overlap.SKIP, Overlap.QUEUE, Overlap.REPLACE):
        job = await rig.add(spec(f"job-{overlap}", overlap=overlap))
        (dead,) = await rig.dead(job.id, T0 - 2)
        (claim,) = await rig.claimed(job.id, T0 - 1)
        await rig.replay(dead, owner=ROOT)
        assert (await rig.look()).stops == ()
        assert await waits(rig, dead)
        await rig.finish(claim)
        await rig.look()
        assert await rig.state(dead) == "ready"
