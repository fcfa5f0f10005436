"""A retry that a person asks for: now, replayed, or again as a new run."""

import pytest

from jobctl.errors import Conflict, Gone, NotFound
from jobctl.model import Execution
from jobctl.states import Overlap, RunState, SkipReason, Trigger
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, request, spec

KEY = {"verb": "retry"}


# ── now ──────────────────────────────────────────────


async def test_a_waiting_retry_is_made_due_now(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, T0 + DAY)
    retried = await rig.store.retry(ADA, claim.run_id, "ada", T0 + 5, None)
    assert (retried.how, retried.run.id, retried.run.state) == ("now", claim.run_id, "ready")
    rig.now_ms = T0 + 5
    (again,) = await rig.claim()
    assert (again.run_id, again.attempt, again.due_ms) == (claim.run_id, 2, T0 + 5)
    event = [event for event in rig.events if event.kind == "run.ready"][-1]
    assert event.data["reason"] == "ada asked for its retry now"


@pytest.mark.parametrize("what", ["job", "queue", "daemon"])
async def test_a_retry_that_a_pause_holds_is_let_go_and_stays_so(rig: Rig, what: str) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim)
    await rig.hold(what, job.id)
    assert (await rig.store.retry(ADA, claim.run_id, "ada", T0, None)).how == "now"
    await rig.check()
    (again,) = await rig.claim()
    await rig.retrying(again, T0)
    assert len(await rig.claim()) == 1


@pytest.mark.parametrize("stage", ["scheduled", "ready", "running", "due", "waiting", "in turn"])
async def test_what_is_active_and_waits_for_no_retry_cannot_be_retried(rig: Rig, stage: str) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE if stage == "waiting" else Overlap.ALLOW))
    if stage == "in turn":
        _, run_id = await rig.dead(job.id, T0 - 1, T0)
        await rig.replay(stop_on_failure=True)
    elif stage == "waiting":
        await rig.claimed(job.id, T0 - 1)
        run_id = await rig.by_hand(job.id)
        await rig.look()
    else:
        (run_id,) = await rig.scheduled(job.id, T0)
    if stage in ("ready", "running", "due"):
        await rig.admit(run_id)
    if stage in ("running", "due"):
        (claim,) = await rig.claim()
        if stage == "due":
            await rig.retrying(claim, T0)
    before = await rig.store.run(ADA, run_id)
    with pytest.raises(Conflict, match="nothing to retry") as caught:
        await rig.store.retry(ADA, run_id, "ada", T0, request(**KEY))
    assert caught.value.details["state"] == before.state
    assert await rig.store.run(ADA, run_id) == before


async def test_a_held_run_that_never_began_cannot_be_retried(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.ready(job.id, T0)
    await rig.pause(job.id)
    with pytest.raises(Conflict):
        await rig.store.retry(ADA, run_id, "ada", T0, None)


# ── replayed ──────────────────────────────────────────────


async def test_a_dead_letter_is_replayed(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    retried = await rig.store.retry(ADA, run_id, "ada", T0, None)
    assert (retried.how, retried.run.id, retried.run.state, retried.run.replays) == (
        "replayed", run_id, "scheduled", 1,
    )  # fmt: skip
    await rig.look()
    assert [claim.run_id for claim in await rig.claim()] == [run_id]


async def test_a_dead_letter_is_replayed_as_often_as_somebody_asks(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    for n in range(4):
        assert (await rig.store.retry(ADA, run_id, "ada", T0, None)).run.replays == n + 1
        await rig.look()
        await rig.died(*await rig.claim())


# ── again ──────────────────────────────────────────────


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED])
async def test_of_a_run_that_has_ended_a_new_one_is_made(rig: Rig, state: RunState) -> None:
    job = await rig.add()
    (old,) = await rig.finished(job.id, T0 - MINUTE, state=state)
    retried = await rig.store.retry(ADA, old, "ada", T0, None)
    run = retried.run
    assert (retried.how, run.retry_of, run.state, run.trigger) == ("again", old, "scheduled", Trigger.MANUAL)
    assert (run.scheduled_at, run.due_at, run.attempt) == ("2027-01-15T07:59:00Z", "2027-01-15T08:00:00Z", 0)
    assert run.key.startswith(f"{job.uid}/m:")
    assert await rig.state(old) == state
    await rig.look()
    await rig.finish(*await rig.claim())
    ended = await rig.store.run(ADA, run.id)
    assert (ended.state, ended.retry_of) == ("succeeded", old)


async def test_what_was_skipped_superseded_or_discarded_may_run_after_all(rig: Rig) -> None:
    job = await rig.add()
    (skipped,) = await rig.scheduled(job.id, T0 - 3)
    await rig.admit(skipped, reason=SkipReason.OVERLAP)
    assert (await rig.store.retry(ADA, skipped, "ada", T0, None)).run.retry_of == skipped


async def test_a_new_run_takes_the_definition_of_today_and_an_edited_one_its_edit(rig: Rig) -> None:
    job = await rig.add(spec(shell="old"))
    (plain,) = await rig.finished(job.id, T0 - 2)
    (edited,) = await rig.dead(job.id, T0 - 1)
    await rig.replay(edited, execution=Execution(shell="edited"))
    await rig.look()
    await rig.finish(*await rig.claim())
    await rig.edit(job.id, execution=Execution(shell="new"))
    for old, shell in ((plain, "new"), (edited, "edited")):
        run = (await rig.store.retry(ADA, old, "ada", T0, None)).run
        assert (await rig.store.work(ADA, run.id)).shell == shell


async def test_a_new_run_goes_on_in_a_pause(rig: Rig) -> None:
    job = await rig.add()
    (old,) = await rig.finished(job.id, T0 - 2)
    await rig.hold("daemon", job.id)
    run = (await rig.store.retry(ADA, old, "ada", T0, None)).run
    await rig.look()
    assert [claim.run_id for claim in await rig.claim()] == [run.id]


async def test_a_new_run_is_refused_where_it_could_only_be_skipped(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    (old,) = await rig.finished(job.id, T0 - 2)
    await rig.claimed(job.id, T0)
    with pytest.raises(Conflict, match="still active"):
        await rig.store.retry(ADA, old, "ada", T0, request(**KEY))


async def test_a_run_of_a_removed_job_is_not_made_again(rig: Rig) -> None:
    job = await rig.add()
    (old,) = await rig.finished(job.id, T0)
    await rig.store.delete_job(ADA, job.id, T0)
    with pytest.raises(Gone):
        await rig.store.retry(ADA, old, "ada", T0, None)


async def test_a_command_that_was_run_by_hand_may_run_again_and_is_pruned_after_it(rig: Rig) -> None:
    run = (await rig.store.run_adhoc(ADA, spec("make", cron=None, hidden=True), T0, T0, None)).run
    await rig.look()
    await rig.finish(*await rig.claim(), state=RunState.FAILED)
    again = (await rig.store.retry(ADA, run.id, "ada", T0, None)).run
    assert (again.job, again.retry_of) == ("make", run.id)
    await rig.look()
    await rig.finish(*await rig.claim())
    assert await rig.state(again.id) == "succeeded"


# ── who, and how often ──────────────────────────────────────────────


async def test_the_same_key_retries_once_in_each_way(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0 - 3)
    await rig.retrying(claim)
    (dead,) = await rig.dead(job.id, T0 - 2)
    (old,) = await rig.finished(job.id, T0 - 1)
    for n, (run_id, how) in enumerate(((claim.run_id, "now"), (dead, "replayed"), (old, "again"))):
        key = request(f"key-{n}", body=str(run_id), **KEY)
        first = await rig.store.retry(ADA, run_id, "ada", T0, key)
        again = await rig.store.retry(ADA, run_id, "ada", T0 + 9, key)
        assert (first.how, again.how, again.run.id) == (how, how, first.run.id)
    await rig.look()
    await rig.finish(*await rig.claim())
    for n, run_id in enumerate((claim.run_id, dead, old)):
        key = request(f"key-{n}", body=str(run_id), **KEY)
        assert (await rig.store.retry(ADA, run_id, "ada", T0 + 9, key)).run.state == "succeeded"
    assert len(await rig.runs()) == 4
    with pytest.raises(Conflict, match="key-0"):
        await rig.store.retry(ADA, dead, "ada", T0, request("key-0", body=str(dead), **KEY))


async def test_runs_of_others_are_not_retried(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0 - 3)
    await rig.retrying(claim)
    (dead,) = await rig.dead(job.id, T0 - 2)
    (old,) = await rig.finished(job.id, T0 - 1)
    for run_id in (claim.run_id, dead, old, 999):
        with pytest.raises(NotFound):
            await rig.store.retry(BOB, run_id, "bob", T0, None)
    assert (await rig.store.retry(ROOT, dead, "root", T0, None)).how == "replayed"
