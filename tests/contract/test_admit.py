"""Runs whose time has come: what is pending, what blocks it, and what the answers do."""

from jobctl.states import Overlap, RunState, SkipReason
from jobctl_daemon.rows import Admission, Admitted
from kit.stores import ADA, BOB, MINUTE, T0, Rig, spec


async def test_pending_runs_come_by_due_time_and_id(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.scheduled(job.id, T0 + 2, T0, T0 + 1)
    await rig.scheduled(job.id, T0 + MINUTE)
    pending = await rig.store.pending(T0 + 2, 10)
    assert [run.due_ms for run in pending] == [T0, T0 + 1, T0 + 2]
    assert {run.run_id for run in pending} == set(ids)
    assert [run.due_ms for run in await rig.store.pending(T0 + 2, 2)] == [T0, T0 + 1]
    assert pending[0].policies.overlap is Overlap.ALLOW


async def test_owners_take_turns_where_more_is_pending_than_one_look_takes(rig: Rig) -> None:
    flood = await rig.scheduled((await rig.add()).id, *range(T0 - 90, T0 - 40))
    later = await rig.scheduled((await rig.add(spec("late"), owner=BOB)).id, T0 - 1, T0)
    assert [run.run_id for run in await rig.store.pending(T0, 5)] == [*flood[:3], *later]
    assert [run.run_id for run in await rig.store.pending(T0 - 1, 3)] == [*flood[:2], later[0]]
    assert [run.run_id for run in await rig.store.pending(T0 - 2, 3)] == flood[:3]


async def test_a_pending_run_names_what_of_its_job_is_active(rig: Rig) -> None:
    job, other = await rig.add(spec(overlap=Overlap.SKIP)), await rig.add(spec("other", overlap=Overlap.SKIP))
    ready = (await rig.ready(job.id, T0))[0]
    await rig.scheduled(job.id, T0 + 1)
    await rig.scheduled(other.id, T0 + 1)
    blocked, free = await rig.store.pending(T0 + 1, 10)
    assert (blocked.active, free.active) == ((ready,), ())
    await rig.claim()
    assert (await rig.store.pending(T0 + 1, 10))[0].active == (ready,)


async def test_a_finished_run_blocks_nothing(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    await rig.finished(job.id, T0)
    await rig.scheduled(job.id, T0 + 1)
    assert (await rig.store.pending(T0 + 1, 10))[0].active == ()


async def test_an_admitted_run_is_ready(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.scheduled(job.id, T0)
    assert await rig.admit(run_id) == 1
    assert await rig.state(run_id) == "ready"
    assert await rig.store.pending(T0, 10) == []
    assert rig.kinds(run_id) == ["run.scheduled", "run.ready"]


async def test_an_admission_is_counted_once(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.scheduled(job.id, T0)
    assert await rig.admit(run_id) == 1
    assert await rig.admit(run_id, 999) == 0
    assert rig.kinds(run_id) == ["run.scheduled", "run.ready"]


async def test_a_refused_run_is_skipped_with_its_reason_in_history_and_ledger(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.scheduled(job.id, T0)
    skip = Admission(run_id=run_id, reason=SkipReason.OVERLAP, detail="run 7 was still active")
    assert await rig.store.admit([skip], T0) == Admitted(moved=1)
    run = await rig.store.run(ADA, run_id)
    assert (run.state, run.outcome, run.reason) == ("skipped", "overlap", "run 7 was still active")
    (row,) = await rig.store.ledger(ADA, job.id, T0, T0, 10)
    assert (row.run_id, row.reason, row.detail) == (run_id, SkipReason.OVERLAP, "run 7 was still active")
    assert rig.kinds(run_id) == ["run.scheduled", "run.skipped"]


async def test_admissions_and_skips_of_one_call_are_all_done(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.scheduled(job.id, T0, T0 + 1)
    answers = [Admission(run_id=one), Admission(run_id=two, reason=SkipReason.OVERLAP)]
    assert await rig.store.admit(answers, T0) == Admitted(moved=2)
    assert [await rig.state(run_id) for run_id in (one, two)] == ["ready", "skipped"]


async def test_a_cancelled_run_is_not_admitted(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.store.cancel(ADA, run_id, "ada", T0)
    assert await rig.admit(run_id) == 0
    assert await rig.state(run_id) == "cancelled"


async def test_a_running_run_is_not_skipped(rig: Rig) -> None:
    job = await rig.add()
    claim = (await rig.claimed(job.id))[0]
    assert await rig.admit(claim.run_id, reason=SkipReason.MISFIRE) == 0
    assert await rig.state(claim.run_id) == "running"


async def test_runs_past_their_last_instant_are_too_late_whether_ready_or_not(rig: Rig) -> None:
    job = await rig.add()
    ready = await rig.ready(job.id, T0, start_by_ms=T0 + 10)
    scheduled = await rig.scheduled(job.id, T0 + 1, start_by_ms=T0 + 11)
    await rig.scheduled(job.id, T0 + 2)
    assert await rig.store.too_late(T0 + 10, 10) == []
    found = await rig.store.too_late(T0 + 12, 10)
    assert [run.run_id for run in found] == ready + scheduled
    assert len(await rig.store.too_late(T0 + 12, 1)) == 1
    rig.now_ms = T0 + 12
    assert await rig.claim() == []
    assert await rig.admit(*ready, *scheduled, reason=SkipReason.MISFIRE) == 2
    assert {await rig.state(run_id) for run_id in ready + scheduled} == {"skipped"}


async def test_a_skip_does_not_hide_that_the_last_run_failed(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0, state=RunState.FAILED)
    (run_id,) = await rig.scheduled(job.id, T0 + 1)
    await rig.admit(run_id, reason=SkipReason.OVERLAP)
    assert (await rig.store.job(ADA, "backup")).state == "failed"


async def test_a_one_shot_that_is_skipped_is_done(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    (run_id,) = await rig.scheduled(job.id, T0)
    await rig.admit(run_id, reason=SkipReason.OVERLAP)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"
    assert rig.kinds()[-1] == "job.done"


async def test_a_run_skipped_long_after_its_time_is_late(rig: Rig) -> None:
    job = await rig.add(spec(late_after_ms=10))
    one, two = await rig.scheduled(job.id, T0, T0 + 5)
    rig.now_ms = T0 + 11
    await rig.admit(one, two, reason=SkipReason.OVERLAP)
    assert [(await rig.store.run(ADA, run_id)).late for run_id in (one, two)] == [True, False]
