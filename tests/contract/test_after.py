"""Jobs that come after others: each end of an upstream run starts one run, and only the ends that are asked for."""

import pytest

from jobctl.errors import Conflict
from jobctl.model import ScheduleSpec
from jobctl.states import After, Overlap, RunState, SkipReason, Trigger
from jobctl.wire import rfc3339
from jobctl_daemon.rows import JobFilter
from kit.stores import ADA, DAY, MINUTE, T0, Rig, ended, spec

#: Each end of a run, and which of the jobs that come after it start.
ENDS = [
    (RunState.SUCCEEDED, {"on-success", "on-any"}),
    (RunState.FAILED, {"on-failure", "on-any"}),
    (RunState.DEAD, {"on-failure", "on-any"}),
    (RunState.CANCELLED, {"on-any"}),
]


async def upstream_of_three(rig: Rig) -> int:
    """A job, with one after it for each kind of end."""
    job = await rig.add()
    for on in After:
        await rig.add(spec(f"on-{on}", after=job.id, after_on=on), next_ms=None)
    return job.id


@pytest.mark.parametrize(("state", "started"), ENDS)
async def test_each_end_starts_the_jobs_that_ask_for_it(rig: Rig, state: RunState, started: set[str]) -> None:
    job_id = await upstream_of_three(rig)
    (claim,) = await rig.claimed(job_id, T0 - 1)
    rig.now_ms = T0 + 7
    await rig.finish(claim, state=state, fingerprint="f00d")
    runs = [run for run in await rig.runs() if run.trigger is Trigger.AFTER]
    assert {run.job for run in runs} == started
    for run in runs:
        assert (run.state, run.reason) == ("scheduled", f"after run {claim.run_id}")
        assert run.key.endswith(f"/a:{claim.run_id}")
        assert run.scheduled_at == run.due_at == "2027-01-15T08:00:00.007Z"
        assert rig.kinds(run.id) == ["run.scheduled"]
    await rig.look()
    assert {found.job_name for found in await rig.claim()} == started


async def test_a_retry_starts_nothing_before_its_end(rig: Rig) -> None:
    job_id = await upstream_of_three(rig)
    (claim,) = await rig.claimed(job_id, T0)
    await rig.retrying(claim, T0)
    assert len(await rig.runs()) == 1
    await rig.finish(*await rig.claim())
    assert {run.job for run in await rig.runs()} == {"backup", "on-success", "on-any"}


async def test_what_never_ran_starts_nothing(rig: Rig) -> None:
    job_id = await upstream_of_three(rig)
    skipped, cancelled = await rig.scheduled(job_id, T0 - 2, T0 - 1)
    await rig.admit(skipped, reason=SkipReason.OVERLAP)
    await rig.store.cancel(ADA, cancelled, "ada", T0)
    (claim,) = await rig.claimed(job_id, T0)
    await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
    assert len(await rig.runs()) == 3


async def test_each_upstream_run_starts_one_however_often_it_ends(rig: Rig) -> None:
    job_id = await upstream_of_three(rig)
    (claim,) = await rig.claimed(job_id, T0)
    await rig.died(claim)
    await rig.replay(claim.run_id)
    await rig.look()
    mine = [found for found in await rig.claim() if found.run_id == claim.run_id]
    await rig.died(*mine)
    after = [(run.job, run.key[-4:]) for run in await rig.runs() if run.trigger is Trigger.AFTER]
    assert sorted(job for job, _ in after) == ["on-any", "on-failure"]
    await rig.replay(claim.run_id)
    await rig.look()
    await rig.finish(*[found for found in await rig.claim() if found.run_id == claim.run_id])
    after = [(run.job, run.key[-4:]) for run in await rig.runs() if run.trigger is Trigger.AFTER]
    assert sorted(job for job, _ in after) == ["on-any", "on-failure", "on-success"]


async def test_ends_that_are_recorded_together_start_one_each(rig: Rig) -> None:
    job_id = await upstream_of_three(rig)
    one, two, three = await rig.claimed(job_id, T0 - 2, T0 - 1, T0)
    results = [ended(one, T0), ended(two, T0), ended(three, T0, RunState.FAILED)]
    await rig.store.finish(results, T0)
    jobs = sorted(run.job for run in await rig.runs() if run.trigger is Trigger.AFTER)
    assert jobs == ["on-any"] * 3 + ["on-failure"] + ["on-success"] * 2


async def test_a_chain_goes_on_from_run_to_run(rig: Rig) -> None:
    job = await rig.add(spec("a"))
    middle = await rig.add(spec("b", after=job.id), next_ms=None)
    await rig.add(spec("c", after=middle.id), next_ms=None)
    await rig.finished(job.id, T0)
    for name in ("b", "c"):
        await rig.look()
        (claim,) = await rig.claim()
        assert claim.job_name == name
        await rig.finish(claim)
    await rig.look()
    assert await rig.claim() == []


async def test_runs_of_a_chain_meet_the_overlap_policy_of_their_job(rig: Rig) -> None:
    job = await rig.add()
    await rig.add(spec("after", after=job.id, overlap=Overlap.SKIP), next_ms=None)
    await rig.finished(job.id, T0 - 2, T0 - 1)
    await rig.look()
    assert sorted(run.state for run in await rig.runs() if run.job == "after") == ["ready", "skipped"]


async def test_a_run_by_hand_starts_what_comes_after_it_too(rig: Rig) -> None:
    job_id = await upstream_of_three(rig)
    await rig.by_hand(job_id)
    await rig.look()
    await rig.finish(*await rig.claim())
    assert len([run for run in await rig.runs() if run.trigger is Trigger.AFTER]) == 2


@pytest.mark.parametrize("what", ["job", "queue", "daemon"])
async def test_a_paused_job_has_a_row_instead_of_a_run(rig: Rig, what: str) -> None:
    job = await rig.add()
    after = await rig.add(spec("after", after=job.id, queue="other"), next_ms=None)
    (claim,) = await rig.claimed(job.id, T0)
    await rig.hold(what, after.id)
    await rig.finish(claim)
    (row,) = await rig.store.ledger(ADA, after.id, 0, T0 + DAY, 10)
    assert (row.key, row.run_id, row.reason, row.from_ms) == (f"a:{claim.run_id}", None, SkipReason.PAUSED, T0)
    holder = {"job": "the job was paused by ada", "queue": "the queue other was paused by root"}
    held = holder.get(what, "the daemon was paused by root")
    assert row.detail == f"run {claim.run_id} ended while {held}"
    await rig.let_go(what, after.id)
    assert len(await rig.runs()) == 1
    await rig.finished(job.id, T0 - 1)
    assert [run.job for run in await rig.runs()].count("after") == 1


async def test_a_quarantined_job_has_a_row_that_says_so(rig: Rig) -> None:
    job = await rig.add()
    after = await rig.add(spec("after", after=job.id), next_ms=None)
    for n in range(5):
        await rig.finished(job.id, T0 - n)
        await rig.look()
        await rig.died(*await rig.claim())
    assert (await rig.store.job(ADA, "after")).quarantined
    await rig.finished(job.id, T0 - 9)
    (row,) = [row for row in await rig.store.ledger(ADA, after.id, 0, T0 + DAY, 10) if row.run_id is None]
    assert row.reason is SkipReason.QUARANTINED


async def test_a_removed_job_does_not_start(rig: Rig) -> None:
    job = await rig.add()
    after = await rig.add(spec("after", after=job.id), next_ms=None)
    await rig.store.delete_job(ADA, after.id, T0)
    await rig.finished(job.id, T0)
    assert len(await rig.runs()) == 1


async def test_a_job_says_after_which_it_comes_by_the_name_of_today(rig: Rig) -> None:
    job = await rig.add(spec("upstream"))
    await rig.add(spec("after", after=job.id, after_on=After.FAILURE), next_ms=None)
    await rig.edit(job.id, name="renamed")
    shown = await rig.store.job(ADA, "after")
    assert shown.schedule is not None
    assert (shown.schedule.after, shown.next_run_at, shown.state) == ("renamed:failure", None, "ok")
    ((listed, _), _) = await rig.store.jobs(ADA, JobFilter())
    assert listed.schedule == shown.schedule
    assert await rig.store.next_wake(0) == T0


async def test_a_circle_is_refused_however_long_it_is(rig: Rig) -> None:
    jobs = [await rig.add(spec("job-0"))]
    for n in range(1, 5):
        jobs.append(await rig.add(spec(f"job-{n}", after=jobs[-1].id), next_ms=None))
    before = await rig.rows("SELECT * FROM dependents ORDER BY job_id")
    for upstream in (jobs[0], jobs[1], jobs[4]):
        schedule = ScheduleSpec(timezone="UTC", after_job=upstream.id)
        with pytest.raises(Conflict, match="after itself"):
            await rig.edit(jobs[0].id, schedule=schedule)
    assert await rig.rows("SELECT * FROM dependents ORDER BY job_id") == before
    assert (await rig.store.job(ADA, "job-0")).version == 1


async def test_a_job_that_others_come_after_is_not_removed(rig: Rig) -> None:
    job = await rig.add()
    for name in ("b", "a"):
        await rig.add(spec(name, after=job.id), next_ms=None)
    with pytest.raises(Conflict, match="a, b start after it") as caught:
        await rig.store.delete_job(ADA, job.id, T0)
    assert caught.value.details["after"] == ["a", "b"]
    assert (await rig.store.job(ADA, "backup")).state == "ok"
    for name in ("a", "b"):
        await rig.store.delete_job(ADA, (await rig.store.job(ADA, name)).id, T0)
    await rig.store.delete_job(ADA, job.id, T0)


async def test_a_job_does_not_come_after_one_that_was_removed_meanwhile(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    await rig.store.delete_job(ADA, job.id, T0)
    for upstream_id in (job.id, 999):
        with pytest.raises(Conflict, match="removed"):
            await rig.add(spec("after", after=upstream_id), next_ms=None)
        with pytest.raises(Conflict, match="removed"):
            await rig.edit(other.id, schedule=ScheduleSpec(timezone="UTC", after_job=upstream_id))
    assert await rig.rows("SELECT * FROM dependents") == []


async def test_a_late_result_of_an_early_end_is_due_at_once(rig: Rig) -> None:
    job = await rig.add()
    await rig.add(spec("after", after=job.id), next_ms=None)
    (claim,) = await rig.claimed(job.id, T0)
    result = ended(claim, T0 + 1)
    rig.now_ms = T0 + 10 * MINUTE
    await rig.store.finish([result], rig.now_ms)
    (pending,) = await rig.store.pending(rig.now_ms, 10)
    assert (pending.trigger, pending.slot_ms, pending.start_by_ms) == (Trigger.AFTER, T0 + 1, None)


async def test_a_retry_that_is_cancelled_while_it_waits_is_an_end_and_keeps_what_is_known_of_it(rig: Rig) -> None:
    job_id = await upstream_of_three(rig)
    (claim,) = await rig.claimed(job_id, T0)
    await rig.retrying(claim)
    cancelled = (await rig.store.cancel(ADA, claim.run_id, "ada", rig.now_ms)).run
    assert (cancelled.state, cancelled.exit_code, cancelled.started_at) == ("cancelled", 3, rfc3339(T0))
    assert [run.job for run in await rig.runs() if run.trigger == "after"] == ["on-any"]
