"""After a pause returns, nothing starts but what is asked for by hand; a resume lets it go on."""

import pytest

from jobctl.errors import Conflict, NotFound
from jobctl.states import SkipReason, Trigger
from jobctl_daemon.rows import LedgerRow, Resumption, RunFilter
from kit.stores import ADA, MINUTE, ROOT, T0, Rig, expansion, skip_row, spec


async def resumption(rig: Rig, job_id: int, next_ms: int | None, now_ms: int, *rows: LedgerRow) -> Resumption:
    """The decision that a job goes on with this instant."""
    cursor = await rig.cursor(job_id)
    return Resumption(job_id=job_id, revision=cursor.revision, rows=rows, next_ms=next_ms, handled_ms=now_ms)


async def test_a_paused_job_is_not_due_and_says_why(rig: Rig) -> None:
    job = await rig.add()
    paused = await rig.store.pause_job(ADA, job.id, "ada", T0 + 5 * MINUTE, "too noisy", T0 + 1)
    assert (paused.state, paused.paused, paused.paused_by, paused.paused_why) == ("paused", True, "ada", "too noisy")
    assert paused.paused_since == "2027-01-15T08:00:00.001Z"
    assert paused.paused_until == "2027-01-15T08:05:00Z"
    assert paused.rev == job.rev + 1
    assert await rig.store.due(T0 + 10 * MINUTE, None, 10) == []
    assert await rig.store.next_wake(T0) == T0 + 5 * MINUTE
    assert rig.kinds() == ["job.created", "job.paused"]


async def test_an_expansion_decided_before_the_pause_is_lost(rig: Rig) -> None:
    job = await rig.add()
    before = expansion(await rig.cursor(job.id), [T0])
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert await rig.expand(before) == 0
    assert await rig.runs() == []


async def test_a_pause_holds_scheduled_and_ready_runs(rig: Rig) -> None:
    job = await rig.add()
    ready = await rig.ready(job.id, T0)
    scheduled = await rig.scheduled(job.id, T0 + 1)
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert [await rig.state(run_id) for run_id in ready + scheduled] == ["scheduled", "scheduled"]
    assert await rig.store.pending(T0 + MINUTE, 10) == []
    assert await rig.store.too_late(T0 + 10**12, 10) == []
    assert await rig.claim() == []
    assert await rig.admit(*ready, *scheduled) == 0
    assert rig.kinds(ready[0]) == ["run.scheduled", "run.ready", "run.held"]
    assert "paused" in str((await rig.store.run(ADA, ready[0])).reason)


async def test_a_held_run_does_not_wake_anybody(rig: Rig) -> None:
    job = await rig.add()
    await rig.scheduled(job.id, T0 + MINUTE)
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert await rig.store.next_wake(T0) is None
    assert (await rig.store.counts(None, T0 + 2 * MINUTE)).oldest_due_ms is None


async def test_a_pause_leaves_running_runs_alone(rig: Rig) -> None:
    job = await rig.add()
    claim = (await rig.claimed(job.id))[0]
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert await rig.state(claim.run_id) == "running"
    assert (await rig.finish(claim))[0].answer == "ok"


async def test_what_is_asked_for_by_hand_runs_in_a_pause(rig: Rig) -> None:
    job = await rig.add()
    before = await rig.store.trigger(ADA, job.id, T0, T0, None)
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    during = await rig.store.trigger(ADA, job.id, T0, T0, None)
    pending = await rig.store.pending(T0, 10)
    assert [run.run_id for run in pending] == [before.run.id, during.run.id]
    assert {run.trigger for run in pending} == {Trigger.MANUAL}


async def test_a_resume_releases_held_runs_and_aims_the_cursor(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.ready(job.id, T0)
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    now_ms = T0 + 3 * MINUTE
    assert await rig.store.resume_job(ADA, job.id, False, now_ms)
    missed = skip_row(job.id, T0 + MINUTE, now_ms, 3, reason=SkipReason.PAUSED)
    assert (
        await rig.store.unsuspend([await resumption(rig, job.id, T0 + 4 * MINUTE, now_ms, missed)], now_ms, rig.epoch)
        == 1
    )
    resumed = await rig.store.job(ADA, "backup")
    assert (resumed.state, resumed.paused_by, resumed.paused_since) == ("ok", None, None)
    assert resumed.next_run_at == "2027-01-15T08:04:00Z"
    assert [run.run_id for run in await rig.store.pending(T0 + 3 * MINUTE, 10)] == ids
    rows = await rig.store.ledger(ADA, job.id, T0 + MINUTE, T0 + 9 * MINUTE, 10)
    assert [(row.count, row.reason) for row in rows] == [(3, SkipReason.PAUSED)]
    assert (await rig.cursor(job.id)).handled_ms == T0 + 3 * MINUTE
    assert rig.kinds()[-3:] == ["job.resumed", "occurrence.skipped", "run.scheduled"]


async def test_a_job_that_is_not_paused_is_not_changed_by_a_resume(rig: Rig) -> None:
    job = await rig.add()
    with pytest.raises(Conflict, match="not paused"):
        await rig.store.resume_job(ADA, job.id, False, T0)
    unasked = await resumption(rig, job.id, T0 + 9 * MINUTE, T0, skip_row(job.id, T0, T0))
    assert await rig.store.unsuspend([unasked], T0, rig.epoch) == 0
    assert await rig.store.job(ADA, "backup") == job
    assert await rig.store.ledger(ADA, job.id, 0, T0 + MINUTE, 10) == []


async def test_a_second_pause_keeps_the_beginning_of_the_first(rig: Rig) -> None:
    job = await rig.add()
    first = await rig.store.pause_job(ADA, job.id, "ada", None, "a", T0)
    second = await rig.store.pause_job(ADA, job.id, "root", T0 + MINUTE, "b", T0 + 1)
    assert second.paused_since == first.paused_since
    assert (second.paused_by, second.paused_why) == ("root", "b")


async def test_a_pause_that_has_ended_is_found_with_what_a_resume_needs(rig: Rig) -> None:
    job = await rig.add()
    await rig.add(spec("manual", cron=None), next_ms=None)
    await rig.store.pause_job(ADA, job.id, "ada", T0 + MINUTE, None, T0)
    assert await rig.store.end_pauses(T0 + MINUTE - 1) == 0
    assert await rig.store.resumable(10) == []
    assert await rig.store.end_pauses(T0 + MINUTE) == 1
    (found,) = await rig.store.resumable(10)
    assert (found.job_id, found.next_ms, found.suspended_since_ms, found.handled_ms) == (job.id, None, T0, T0)


async def test_a_claim_given_back_to_a_paused_job_is_held(rig: Rig) -> None:
    job = await rig.add()
    claim = (await rig.claimed(job.id))[0]
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner") == 1
    assert await rig.claim() == []
    assert await rig.store.pending(T0, 10) == []
    await rig.resume(job.id)
    assert [run.run_id for run in await rig.store.pending(T0, 10)] == [claim.run_id]


async def test_a_paused_one_shot_is_not_done_before_it_has_run(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    run = (await rig.store.trigger(ADA, job.id, T0, T0, None)).run
    await rig.admit(run.id)
    await rig.finish(*await rig.claim())
    assert (await rig.store.job(ADA, str(job.id))).state == "paused"
    await rig.resume(job.id)
    assert (await rig.store.job(ADA, str(job.id))).state == "ok"
    await rig.finished(job.id, T0)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"


async def test_boot_jobs_that_are_paused_do_not_start_with_the_boot(rig: Rig) -> None:
    job = await rig.add(spec(on_boot=True), next_ms=None)
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert await rig.store.started_jobs("boot") == []
    await rig.resume(job.id)
    assert [found.job_id for found in await rig.store.started_jobs("boot")] == [job.id]


@pytest.mark.case("F072")
async def test_a_delete_cancels_what_has_not_started_and_lets_the_rest_finish(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    claim = (await rig.claimed(job.id, T0, next_ms=T0 + MINUTE))[0]
    ready = await rig.ready(job.id, T0 + 1, next_ms=T0 + MINUTE)
    scheduled = await rig.scheduled(job.id, T0 + 2, next_ms=T0 + MINUTE)
    before = expansion(await rig.cursor(job.id), [T0 + MINUTE])
    await rig.store.delete_job(ADA, job.id, T0 + 5)
    assert await rig.expand(before) == 0
    assert await rig.store.due(T0 + 10 * MINUTE, None, 10) == []
    assert [await rig.state(run_id) for run_id in ready + scheduled] == ["cancelled", "cancelled"]
    assert await rig.claim() == []
    assert (await rig.finish(claim))[0].answer == "ok"
    runs, _ = await rig.store.runs(ADA, RunFilter())
    assert {run.job for run in runs} == {"backup"}
    assert rig.kinds()[-2:] == ["job.deleted", "run.succeeded"]


async def test_a_claim_given_back_to_a_deleted_job_is_cancelled(rig: Rig) -> None:
    job = await rig.add()
    claim = (await rig.claimed(job.id))[0]
    await rig.store.delete_job(ADA, job.id, T0)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
    assert await rig.state(claim.run_id) == "cancelled"
    assert await rig.store.running() == []


async def test_a_deleted_job_takes_no_trigger(rig: Rig) -> None:
    job = await rig.add()
    await rig.store.delete_job(ADA, job.id, T0)
    for caller in (ADA, ROOT):
        with pytest.raises(NotFound):
            await rig.store.trigger(caller, job.id, T0, T0, None)


async def test_an_expansion_decided_in_a_pause_changes_nothing(rig: Rig) -> None:
    job = await rig.add()
    await rig.store.pause_job(ADA, job.id, "ada", None, None, T0)
    assert await rig.expand(expansion(await rig.cursor(job.id), [T0])) == 0
