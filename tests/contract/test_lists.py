"""Paged lists, counts, and who sees what."""

import asyncio

import msgspec
import pytest

from jobctl.errors import InvalidInput
from jobctl.filters import parse
from jobctl.states import Overlap, RunState, SkipReason
from jobctl_daemon.rows import JobFilter, RunFilter
from kit.stores import ADA, BOB, MINUTE, ROOT, T0, Rig, spec


async def every_job(rig: Rig, wanted: JobFilter, caller: object = ADA) -> list[str]:
    """The names of all pages."""
    names: list[str] = []
    while True:
        jobs, following = await rig.store.jobs(caller, wanted)  # type: ignore[arg-type]
        names += [job.name for job in jobs]
        if following is None:
            return names
        wanted = msgspec.structs.replace(wanted, cursor=following)


async def every_run(rig: Rig, wanted: RunFilter, caller: object = ADA) -> list[int]:
    """The ids of all pages."""
    ids: list[int] = []
    while True:
        runs, following = await rig.store.runs(caller, wanted)  # type: ignore[arg-type]
        ids += [run.id for run in runs]
        if following is None:
            return ids
        wanted = msgspec.structs.replace(wanted, cursor=following)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_pages_of_jobs_hold_every_job_once_in_order_of_name(rig: Rig, limit: int) -> None:
    for name in ("d", "a", "c", "e", "b", "Z", "ä"):
        await rig.add(spec(name))
    assert await every_job(rig, JobFilter(limit=limit)) == ["Z", "a", "b", "c", "d", "e", "ä"]


async def test_a_page_of_all_owners_tells_equal_names_apart(rig: Rig) -> None:
    for owner in (ADA, BOB):
        for name in ("same", "x"):
            await rig.add(spec(name), owner=owner)
    assert await every_job(rig, JobFilter(limit=1), ROOT) == ["same", "same", "x", "x"]
    assert await every_job(rig, JobFilter(limit=1), BOB) == ["same", "x"]
    assert await every_job(rig, JobFilter(owner="bob"), ROOT) == ["same", "x"]


async def test_jobs_added_and_removed_between_pages_disturb_no_other(rig: Rig) -> None:
    made = {name: await rig.add(spec(name)) for name in ("a", "c", "e")}
    first, following = await rig.store.jobs(ADA, JobFilter(limit=2))
    await rig.store.delete_job(ADA, made["c"].id, T0)
    await rig.add(spec("b"))
    await rig.add(spec("d"))
    rest = await every_job(rig, JobFilter(limit=2, cursor=following))
    assert [job.name for job in first] + rest == ["a", "c", "d", "e"]


async def test_jobs_are_filtered_by_state_part_of_name_tag_source_and_queue(rig: Rig) -> None:
    failed = await rig.add(spec("Db-failed", tags=["db"]))
    await rig.finished(failed.id, T0, state=RunState.FAILED)
    paused = await rig.add(spec("db-paused", tags=["db", "night"], source="file"))
    await rig.store.pause_job(ADA, paused.id, "ada", None, None, T0)
    running = await rig.add(spec("web-running"))
    await rig.claimed(running.id, T0)
    parked = await rig.add(spec("web-parked"))
    await rig.store.park(parked.id, (await rig.cursor(parked.id)).revision, "x", T0)
    for wanted, names in (
        (JobFilter(states=("failed",)), ["Db-failed"]),
        (JobFilter(states=("paused", "running")), ["db-paused", "web-running"]),
        (JobFilter(states=("parked",)), ["web-parked"]),
        (JobFilter(states=("ok",)), []),
        (JobFilter(q=parse("DB")), ["Db-failed", "db-paused"]),
        (JobFilter(q=parse("%")), []),
        (JobFilter(tag="night"), ["db-paused"]),
        (JobFilter(tag="nigh"), []),
        (JobFilter(source="file"), ["db-paused"]),
        (JobFilter(queue="default", q=parse("web")), ["web-parked", "web-running"]),
        (JobFilter(queue="other"), []),
        (JobFilter(owner="bob"), []),
    ):
        assert await every_job(rig, wanted) == names, wanted


async def test_failing_jobs_are_found_and_counted_whatever_else_they_are(rig: Rig) -> None:
    for name, at_ms in (("failed", None), ("once", T0), ("paused", None), ("running", None), ("well", None)):
        job = await rig.add(spec(name, at_ms=at_ms))
        await rig.finished(job.id, T0, state=RunState.SUCCEEDED if name == "well" else RunState.FAILED)
        if name == "paused":
            await rig.pause(job.id)
        if name == "running":
            await rig.claimed(job.id, T0 - 1)
    assert await every_job(rig, JobFilter(states=("failed",))) == ["failed", "once", "paused", "running"]
    assert await every_job(rig, JobFilter(states=("failed", "ok"))) == ["failed", "once", "paused", "running", "well"]
    assert await every_job(rig, JobFilter(states=("running",))) == ["running"]
    assert (await rig.store.counts(ADA, T0)).failed == 4


async def test_one_shots_that_are_done_are_listed_only_when_asked_for(rig: Rig) -> None:
    job = await rig.add(spec("once", at_ms=T0))
    assert await every_job(rig, JobFilter()) == ["once"]
    await rig.finished(job.id, T0)
    assert await every_job(rig, JobFilter()) == []
    assert await every_job(rig, JobFilter(done=True)) == ["once"]
    assert await every_job(rig, JobFilter(states=("done",))) == ["once"]
    assert (await rig.store.counts(ADA, T0)).jobs == 0


async def test_lists_carry_neither_environment_nor_input(rig: Rig) -> None:
    await rig.add()
    ((listed,), _) = await rig.store.jobs(ADA, JobFilter())
    assert listed.env == {}
    assert (await rig.store.job(ADA, "backup")).env == {"A": "b"}


@pytest.mark.parametrize("cursor", ["x", "!!!", "W10", "bnVsbA", "é"])
async def test_a_cursor_that_is_not_ours_is_refused(rig: Rig, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        await rig.store.jobs(ADA, JobFilter(cursor=cursor))
    with pytest.raises(InvalidInput):
        await rig.store.runs(ADA, RunFilter(cursor=cursor))


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
async def test_pages_of_runs_hold_active_and_finished_ones_newest_first(rig: Rig, limit: int) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    done = await rig.finished(job.id, T0 - 3, T0 - 2)
    waiting = await rig.scheduled(job.id, T0 + MINUTE)
    more = await rig.finished(other.id, T0 - 1)
    running = [claim.run_id for claim in await rig.claimed(job.id, T0)]
    ids = sorted(done + waiting + more + running, reverse=True)
    assert await every_run(rig, RunFilter(limit=limit)) == ids
    assert await every_run(rig, RunFilter(limit=limit, job_id=other.id)) == more
    assert await every_run(rig, RunFilter(limit=limit), BOB) == []
    assert await every_run(rig, RunFilter(limit=limit, job_id=job.id), BOB) == []
    assert await every_run(rig, RunFilter(limit=limit), ROOT) == ids


async def test_runs_are_filtered_by_state_time_name_and_owner(rig: Rig) -> None:
    job, other = await rig.add(spec("alpha")), await rig.add(spec("beta"), owner=BOB)
    one, two = await rig.finished(job.id, T0 - 2 * MINUTE, T0 - MINUTE)
    (failed,) = await rig.finished(other.id, T0, state=RunState.FAILED)
    (skipped,) = await rig.scheduled(job.id, T0)
    await rig.admit(skipped, reason=SkipReason.OVERLAP)
    (waiting,) = await rig.scheduled(job.id, T0 + MINUTE)
    for wanted, ids in (
        (RunFilter(states=(RunState.FAILED,)), [failed]),
        (RunFilter(states=(RunState.SCHEDULED, RunState.SKIPPED)), [waiting, skipped]),
        (RunFilter(before_ms=T0), [two, one]),
        (RunFilter(since_ms=T0), [waiting, skipped, failed]),
        (RunFilter(since_ms=T0 - MINUTE, before_ms=T0), [two]),
        (RunFilter(q=parse("ALPH")), [waiting, skipped, two, one]),
        (RunFilter(owner="bob"), [failed]),
        (RunFilter(job_id=job.id, states=(RunState.SUCCEEDED,)), [two, one]),
    ):
        assert await every_run(rig, wanted, ROOT) == ids, wanted


async def test_a_run_that_ends_while_lists_are_read_is_in_each_of_them_once(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 20, T0))
    lists = [rig.store.runs(ADA, RunFilter()) for _ in range(20)]
    ends = [rig.finish(claim) for claim in claims]
    results = await asyncio.gather(*(call for pair in zip(lists, ends, strict=True) for call in pair))
    for runs, _ in results[::2]:
        assert len(runs) == len({run.id for run in runs}) == 20


async def test_counts_tell_what_there_is(rig: Rig) -> None:
    rig.now_ms = T0
    one = await rig.add(spec("one"), next_ms=T0 + 5 * MINUTE)
    two = await rig.add(spec("two"), owner=BOB, next_ms=T0 + 3 * MINUTE)
    await rig.finished(one.id, T0 - 9, state=RunState.FAILED)
    await rig.claimed(two.id, T0 - 5)
    await rig.ready(one.id, T0 - 4, next_ms=T0 + 5 * MINUTE)
    await rig.scheduled(one.id, T0 - 3, T0 + MINUTE, next_ms=T0 + 5 * MINUTE)
    counts = await rig.store.counts(None, T0)
    assert (counts.jobs, counts.paused, counts.parked, counts.failed) == (2, 0, 0, 1)
    assert (counts.scheduled, counts.ready, counts.running) == (2, 1, 1)
    assert (counts.oldest_due_ms, counts.next_ms) == (T0 - 4, T0 + 5 * MINUTE)
    assert counts.last_event == rig.events[-1].id
    mine = await rig.store.counts(BOB, T0)
    assert (mine.jobs, mine.failed, mine.scheduled, mine.ready, mine.running) == (1, 0, 0, 0, 1)
    assert (mine.oldest_due_ms, mine.next_ms) == (None, None)
    await rig.store.pause_job(ADA, one.id, "ada", None, None, T0)
    counts = await rig.store.counts(ADA, T0)
    assert (counts.paused, counts.scheduled, counts.ready) == (1, 3, 0)
    await rig.store.delete_job(ADA, one.id, T0)
    counts = await rig.store.counts(ADA, T0)
    assert (counts.jobs, counts.paused, counts.failed, counts.scheduled) == (0, 0, 0, 0)


async def test_each_run_is_counted_once_whatever_it_waits_for(rig: Rig) -> None:
    job = await rig.add(spec("one", overlap=Overlap.QUEUE))
    paused = await rig.add(spec("paused"))
    theirs = await rig.add(spec("theirs"), owner=BOB)
    await rig.dead(job.id, T0 - 30)
    await rig.claimed(job.id, T0 - 9)
    await rig.by_hand(job.id)
    await rig.look()
    (held,) = await rig.claimed(paused.id, T0 - 8)
    await rig.retrying(held)
    await rig.ready(paused.id, T0 - 7)
    await rig.pause(paused.id)
    (failing,) = await rig.claimed(theirs.id, T0 - 6)
    await rig.retrying(failing)
    await rig.ready(theirs.id, T0 - 5)
    await rig.scheduled(theirs.id, T0 + MINUTE)
    for caller, found in ((None, (4, 2, 1, 1)), (ADA, (3, 0, 1, 1)), (BOB, (1, 2, 0, 0))):
        counts = await rig.store.counts(caller, T0)
        assert (counts.scheduled, counts.ready, counts.running, counts.dead) == found
    rows = await rig.rows("SELECT count(*) AS n FROM runs")
    assert rows == [{"n": 8}]


async def test_jobs_of_whose_failures_nobody_is_told_are_counted(rig: Rig) -> None:
    job = await rig.add(spec("quiet"))
    await rig.add(spec("told", notify=["mail"]))
    await rig.add(spec("theirs"), owner=BOB)
    await rig.add(spec("hidden", cron=None, hidden=True), next_ms=None)
    done = await rig.add(spec("once", at_ms=T0))
    await rig.finished(done.id, T0)
    assert (await rig.store.counts(None, T0)).untold == 2
    assert (await rig.store.counts(ADA, T0)).untold == 1
    await rig.policies(job.id, notify=["exec:page me"])
    assert (await rig.store.counts(ADA, T0)).untold == 0


async def test_an_empty_store_counts_nothing(rig: Rig) -> None:
    counts = await rig.store.counts(BOB, T0)
    assert (counts.jobs, counts.running, counts.next_ms, counts.last_event) == (0, 0, None, 0)
    assert await rig.store.event_span() == (1, 0)
