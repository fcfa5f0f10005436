"""Runs asked for by hand, and runs that are to stop."""

import asyncio

import pytest

from jobctl.errors import Conflict, NotFound
from jobctl.states import Overlap, RunState, SkipReason, Trigger
from jobctl_daemon.rows import JobFilter, Keep
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, expansion, request, skip_row, spec

TRIGGER = {"verb": "trigger"}


async def test_a_triggered_run_waits_for_its_time(rig: Rig) -> None:
    job = await rig.add()
    made = await rig.store.trigger(ADA, job.id, T0 + MINUTE, T0, None)
    assert made.fresh
    run = made.run
    assert (run.state, run.trigger, run.due_at) == ("scheduled", Trigger.MANUAL, "2027-01-15T08:01:00Z")
    assert run.key.startswith(f"{job.uid}/m:")
    assert await rig.store.pending(T0, 10) == []
    assert [found.run_id for found in await rig.store.pending(T0 + MINUTE, 10)] == [run.id]
    (row,) = await rig.store.ledger(ADA, job.id, T0, T0 + MINUTE, 10)
    assert row.run_id == run.id


async def test_the_same_key_never_makes_a_second_run_also_after_it_has_ended(rig: Rig) -> None:
    job = await rig.add()
    made = await rig.store.trigger(ADA, job.id, T0, T0, request(**TRIGGER))
    assert made.run.key == f"{job.uid}/m:key-1"
    again = await rig.store.trigger(ADA, job.id, T0 + 5, T0 + 5, request(**TRIGGER))
    assert (again.fresh, again.run.id) == (False, made.run.id)
    await rig.admit(made.run.id)
    await rig.finish(*await rig.claim())
    ended = await rig.store.trigger(ADA, job.id, T0 + 9, T0 + 9, request(**TRIGGER))
    assert (ended.fresh, ended.run.id, ended.run.state) == (False, made.run.id, "succeeded")
    await rig.store.delete_job(ADA, job.id, T0)
    assert (await rig.store.trigger(ADA, job.id, T0, T0, request(**TRIGGER))).run.id == made.run.id


async def test_concurrent_triggers_with_one_key_make_one_run(rig: Rig) -> None:
    job = await rig.add()
    made = await asyncio.gather(*(rig.store.trigger(ADA, job.id, T0, T0, request(**TRIGGER)) for _ in range(10)))
    assert sum(one.fresh for one in made) == 1
    assert len({one.run.id for one in made}) == 1


async def test_the_same_key_with_another_body_is_a_conflict(rig: Rig) -> None:
    job = await rig.add()
    await rig.store.trigger(ADA, job.id, T0, T0, request(**TRIGGER))
    with pytest.raises(Conflict):
        await rig.store.trigger(ADA, job.id, T0, T0, request(body="other", **TRIGGER))


async def test_another_owner_cannot_run_a_key_of_a_job_again(rig: Rig) -> None:
    job = await rig.add()
    await rig.store.trigger(ADA, job.id, T0, T0, request(**TRIGGER))
    with pytest.raises(Conflict, match="key-1"):
        await rig.store.trigger(ROOT, job.id, T0 + 1, T0 + 1, request(**TRIGGER))


@pytest.mark.parametrize("stage", ["waiting", "ready", "running"])
async def test_a_trigger_conflicts_with_an_active_run_under_skip(rig: Rig, stage: str) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    active = (await rig.store.trigger(ADA, job.id, T0, T0, None)).run
    if stage != "waiting":
        await rig.admit(active.id)
    if stage == "running":
        await rig.claim()
    with pytest.raises(Conflict) as caught:
        await rig.store.trigger(ADA, job.id, T0, T0, None)
    assert caught.value.details["run_id"] == active.id


async def test_a_trigger_does_not_conflict_with_what_is_far_away_or_over(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    await rig.scheduled(job.id, T0 + DAY)
    await rig.finished(job.id, T0)
    assert (await rig.store.trigger(ADA, job.id, T0, T0, None)).fresh
    assert (await rig.store.trigger(ADA, job.id, T0 + MINUTE, T0, None)).fresh


async def test_under_allow_a_trigger_never_conflicts(rig: Rig) -> None:
    job = await rig.add()
    for _ in range(3):
        assert (await rig.store.trigger(ADA, job.id, T0, T0, None)).fresh


async def test_an_adhoc_run_has_a_hidden_job_that_is_done_with_it(rig: Rig) -> None:
    made = await rig.store.run_adhoc(ADA, spec("make", cron=None, hidden=True), T0, T0, request(verb="run"))
    again = await rig.store.run_adhoc(ADA, spec("make", cron=None, hidden=True), T0, T0, request(verb="run"))
    assert (again.fresh, again.run.id) == (False, made.run.id)
    assert (made.run.job, made.run.state) == ("make", "scheduled")
    assert await rig.store.jobs(ADA, JobFilter(done=True)) == ([], None)
    with pytest.raises(NotFound):
        await rig.store.job(ADA, "make")
    await rig.admit(made.run.id)
    (claim,) = await rig.claim()
    assert claim.execution.shell == "true"
    await rig.finish(claim, state=RunState.FAILED)
    hidden = await rig.store.job(ADA, str(made.run.job_id))
    assert hidden.state == "done"
    assert (await rig.store.counts(ADA, T0)).failed == 0
    assert [event.kind for event in rig.events][-1] == "job.done"


async def test_two_adhoc_runs_may_have_one_name(rig: Rig) -> None:
    for _ in range(2):
        assert (await rig.store.run_adhoc(ADA, spec("make", cron=None, hidden=True), T0, T0, None)).fresh
    await rig.add(spec("make"))


async def test_a_cancel_ends_what_has_not_started(rig: Rig) -> None:
    job = await rig.add()
    scheduled, ready = await rig.scheduled(job.id, T0 + MINUTE), await rig.ready(job.id, T0)
    for run_id in scheduled + ready:
        cancelled = await rig.store.cancel(ADA, run_id, "ada", T0)
        assert (cancelled.fence, cancelled.run.state, cancelled.run.reason) == (None, "cancelled", "cancelled by ada")
    assert await rig.claim() == []
    assert (await rig.store.job(ADA, "backup")).state == "ok"


async def test_a_cancel_of_a_running_run_names_the_attempt_to_stop(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    for how, wanted in (("cancel", "cancel"), ("kill", "kill"), ("cancel", "kill")):
        cancelled = await rig.store.cancel(ADA, claim.run_id, "ada", T0, how)  # type: ignore[arg-type]
        assert (cancelled.fence, cancelled.run.state) == (claim.fence, "running")
        assert (await rig.store.running())[0].stop_wanted == wanted


async def test_a_run_that_has_ended_cannot_be_cancelled(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.finished(job.id, T0)
    with pytest.raises(Conflict, match="succeeded"):
        await rig.store.cancel(ADA, run_id, "ada", T0)
    with pytest.raises(NotFound):
        await rig.store.cancel(ADA, 999, "ada", T0)


async def test_a_cancelled_one_shot_is_done(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.store.cancel(ADA, run_id, "ada", T0)
    assert (await rig.store.job(ADA, "backup")).state == "done"


async def test_run_ids_are_never_used_again(rig: Rig) -> None:
    job = await rig.add()
    (first,) = await rig.finished(job.id, T0)
    await rig.prune(T0 + 500 * DAY)
    with pytest.raises(NotFound):
        await rig.store.run(ADA, first)
    assert (await rig.store.trigger(ADA, job.id, T0, T0, None)).run.id > first


async def test_a_pruned_run_of_a_kept_key_is_not_run_again(rig: Rig) -> None:
    job = await rig.add()
    made = await rig.store.trigger(ADA, job.id, T0, T0, request(**TRIGGER))
    await rig.admit(made.run.id)
    await rig.finish(*await rig.claim())
    await rig.prune(T0 + 2 * DAY, keep=Keep(days=1))
    with pytest.raises(NotFound):
        await rig.store.trigger(ADA, job.id, T0, T0 + 2 * DAY, request(**TRIGGER))
    assert await rig.runs() == []


async def test_the_ledger_says_what_became_of_each_occurrence(rig: Rig) -> None:
    job = await rig.add()
    (skipped,) = await rig.scheduled(job.id, T0)
    await rig.admit(skipped, reason=SkipReason.MISFIRE)
    (ran,) = await rig.finished(job.id, T0 - 1)
    rows = await rig.store.ledger(ADA, job.id, 0, T0, 10)
    assert [(row.run_id, row.reason) for row in rows] == [(ran, None), (skipped, SkipReason.MISFIRE)]
    assert await rig.store.ledger(ADA, job.id, T0, T0, 10) == rows[1:]
    assert await rig.store.ledger(ADA, job.id, 0, T0, 1) == rows[:1]
    with pytest.raises(NotFound):
        await rig.store.ledger(BOB, job.id, 0, T0, 10)


async def test_a_range_is_shown_wherever_it_touches_the_span(rig: Rig) -> None:
    job = await rig.add()
    skips = [skip_row(job.id, T0, T0 + 10 * MINUTE, 11)]
    await rig.expand(expansion(await rig.cursor(job.id), [T0 + 11 * MINUTE], skips=skips))
    for from_ms, to_ms, count in (
        (T0 + 5 * MINUTE, T0 + 6 * MINUTE, 1),
        (T0 + 10 * MINUTE, T0 + 11 * MINUTE, 2),
        (T0 - MINUTE, T0, 1),
        (T0 - MINUTE, T0 - 1, 0),
        (T0 + 11 * MINUTE, T0 + DAY, 1),
    ):
        assert len(await rig.store.ledger(ADA, job.id, from_ms, to_ms, 10)) == count
