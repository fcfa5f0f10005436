"""A copy takes the place: nothing is given out twice, what runners hold is taken over, what is past is over."""

from typing import Any

import msgspec
import pytest

from jobctl.states import OnFailure, Overlap, SkipReason
from jobctl_daemon.rows import CRONTABS_LIVE, HeldAttempt, Life
from jobctl_daemon.services.restoring import settle_past
from kit.stores import ADA, MINUTE, T0, Rig, spec

NOBODY = Life(epoch=0, generation=0, fence=0, ids={})


def held(run_id: int, fence: int, uid: str, key: str, **changes: Any) -> HeldAttempt:
    facts: dict[str, Any] = {"boot_id": "b", "claimed_ms": T0 - 5, "runner": "r", "pid": 7, "pid_start": 8}
    return HeldAttempt(run_id=run_id, fence=fence, job_uid=uid, key=key, **(facts | changes))


async def test_numbers_fences_and_epochs_go_on_above_every_life(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    before = rig.events[-1].id
    life = Life(epoch=90, generation=2, fence=T0 + 10**9, ids={"runs": 500, "jobs": 70, "events": 4000, "replays": 3})
    await rig.store.outlive([life, NOBODY], ["told"])
    assert (await rig.add(spec("b"))).id == 71
    run_id = await rig.by_hand(job.id)
    assert run_id == 501
    assert rig.events[-1].id > 4000 > before
    await rig.look()
    (claim,) = await rig.claim()
    assert claim.fence >= T0 + 10**9
    notes = await rig.store.meta()
    assert (int(notes["epoch"]), notes["generation"], int(notes["told"])) == (90, "2", before)
    assert await rig.store.take_epoch("n", T0) == 91


async def test_a_life_that_gave_out_less_lowers_nothing(rig: Rig) -> None:
    job = await rig.add()
    first = await rig.by_hand(job.id)
    await rig.store.outlive([Life(epoch=0, generation=0, fence=1, ids={"runs": 0, "events": 0})], ["told"])
    assert await rig.by_hand(job.id) == first + 1
    assert int((await rig.store.meta())["epoch"]) == rig.epoch


async def test_what_the_copy_knows_stays_as_it_is(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    found = await rig.store.take_over([held(claim.run_id, claim.fence, job.uid, "s:1")], "n", T0)
    assert (found.known, found.taken, found.unknown) == ((f"{claim.run_id}-{claim.fence}",), (), ())
    assert (await rig.row(claim.run_id))["attempt"] == 1


async def test_the_end_that_the_copy_knows_is_left_alone(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.finished(job.id, T0)
    found = await rig.store.take_over([held(run_id, T0 + 99, job.uid, "s:1")], "n", T0)
    assert found.known
    assert await rig.state(run_id) == "succeeded"


@pytest.mark.parametrize("before", ["scheduled", "ready", "running", "retrying", "dead", "held"])
async def test_a_later_attempt_of_a_known_run_becomes_its_own(rig: Rig, before: str) -> None:
    job = await rig.add(spec("a", on_failure=OnFailure.DEAD, retries=3))
    if before == "scheduled":
        (run_id,) = await rig.scheduled(job.id, T0)
    elif before == "held":
        (run_id,) = await rig.scheduled(job.id, T0)
        await rig.pause(job.id)
    elif before == "ready":
        (run_id,) = await rig.ready(job.id, T0)
    else:
        (claim,) = await rig.claimed(job.id, T0)
        run_id = claim.run_id
        if before == "retrying":
            await rig.retrying(claim)
        elif before == "dead":
            await rig.died(claim)
    attempts = (await rig.row(run_id))["attempt"]
    later = held(run_id, T0 + 10 * MINUTE, job.uid, f"s:{T0}")
    found = await rig.store.take_over([later], "n", T0)
    assert found.taken == (later.name,)
    row = await rig.row(run_id)
    assert (row["state"], row["fence"], row["attempt"], row["pid"]) == ("running", T0 + 10 * MINUTE, attempts + 1, 7)
    (running,) = await rig.store.running()
    assert (running.run_id, running.fence) == (run_id, later.fence)


async def test_an_attempt_of_after_the_copy_makes_its_run_again_under_its_number(rig: Rig) -> None:
    job = await rig.add(spec("a", overlap=Overlap.ALLOW))
    wanted = [
        held(41, T0 + 1, job.uid, f"s:{T0 - MINUTE}"),
        held(42, T0 + 2, job.uid, "m:by-hand"),
        held(43, T0 + 3, "nobody", "m:x"),
    ]
    await rig.store.outlive([Life(epoch=0, generation=0, fence=T0 + 3, ids={"runs": 43})], ["told"])
    found = await rig.store.take_over(wanted[:1] + wanted[2:], "n", T0)
    assert (found.taken, found.unknown) == (("41-1800000000001",), ("43-1800000000003",))
    run = await rig.store.run(ADA, 41)
    assert (run.state, run.trigger, run.attempt, run.reason) == (
        "running", "schedule", 1, "it began after the copy was made that was restored",
    )  # fmt: skip
    assert await rig.store.take_over(wanted[:1], "n", T0)
    assert await rig.by_hand(job.id) == 44
    rows = await rig.store.ledger(ADA, job.id, 0, T0, 10)
    assert [(row.run_id, row.key) for row in rows][:1] == [(41, f"s:{T0 - MINUTE}")]


async def test_what_waited_for_a_retry_waits_for_a_person(rig: Rig) -> None:
    job = await rig.add(spec("a", retries=3, on_failure=OnFailure.DEAD))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim)
    assert await rig.store.bury([claim.run_id, 999], "why", T0) == 1
    row = await rig.row(claim.run_id)
    assert (row["state"], row["reason"], row["fingerprint"], row["gate"]) == ("dead", "why", "restored", None)
    replayed = await rig.replay(claim.run_id)
    assert replayed.replayed == [claim.run_id]


@pytest.mark.parametrize("catch_up", [False, True])
async def test_the_past_of_a_whole_store(rig: Rig, catch_up: bool) -> None:
    plain = await rig.add(spec("plain"), next_ms=T0 + MINUTE)
    waits = await rig.add(spec("waits", retries=3, on_failure=OnFailure.DEAD))
    (retried,) = await rig.claimed(waits.id, T0)
    await rig.retrying(retried, T0 + MINUTE)
    record = await rig.add(spec("record", retries=3, on_failure=OnFailure.RECORD))
    (dropped,) = await rig.claimed(record.id, T0)
    await rig.retrying(dropped, T0 + MINUTE)
    runs = await rig.add(spec("runs", on_failure=OnFailure.DEAD))
    (lost,) = await rig.claimed(runs.id, T0)
    follows = await rig.add(spec("held"))
    await rig.scheduled(follows.id, T0)
    await rig.pause(follows.id)
    by_hand = await rig.by_hand(plain.id)
    later = await rig.by_hand(plain.id, T0 + 99 * MINUTE)
    now_ms = rig.now_ms = T0 + 10 * MINUTE
    facts = await settle_past(rig.store, [NOBODY], [], "n", T0, now_ms, catch_up=catch_up)
    states = await rig.states(retried.run_id, lost.run_id, by_hand, later)
    rows = await rig.store.ledger(ADA, plain.id, T0 + 1, now_ms, 99)
    past = [(row.count, row.reason) for row in rows if row.reason is not None]
    if catch_up:
        assert states == ["ready", "dead", "scheduled", "scheduled"]
        assert past == [(9, SkipReason.RESTORED)]
        assert (facts["buried"], facts["skipped"], facts["lost"]) == (0, 0, 1)
        return
    assert states == ["dead", "dead", "skipped", "scheduled"]
    ended = await rig.store.run(ADA, dropped.run_id)
    assert (ended.state, ended.reason, facts["cancelled"]) == ("cancelled", facts_words(facts), 1)
    assert past == [(10, SkipReason.RESTORED)]
    assert (facts["buried"], facts["skipped"], facts["lost"]) == (1, 2, 1)
    assert [run.state for run in await rig.runs() if run.state in ("ready", "running")] == []
    assert await rig.store.next_wake(now_ms) == T0 + 11 * MINUTE
    assert rig.events[-1].kind == "daemon.restored"
    again = await settle_past(rig.store, [NOBODY], [], "n", T0, now_ms, catch_up=False)
    assert (again["lost"], again["buried"], again["skipped"], again["jobs_moved"]) == (0, 0, 0, 0)


def facts_words(facts: dict[str, object]) -> str:
    """What the rows of a restore say."""
    return f"restored from a copy of {facts['copy_of']}: what became of it until {facts['at']} is unknown"


@pytest.mark.parametrize("now", ["1", "0"])
async def test_who_runs_the_crontabs_of_the_host_is_as_it_was_at_last(rig: Rig, now: str) -> None:
    """A copy from before the host was taken over would run none of them, one from before the way back all."""
    then = {"1": "0", "0": "1"}[now]
    await rig.store.set_meta({CRONTABS_LIVE: then})
    traces = msgspec.structs.replace(NOBODY, live=None)
    await rig.store.outlive([msgspec.structs.replace(NOBODY, live=now == "1"), traces], [])
    assert (await rig.store.meta())[CRONTABS_LIVE] == now
    await rig.store.outlive([traces], [])
    assert (await rig.store.meta())[CRONTABS_LIVE] == now
