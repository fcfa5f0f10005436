"""How long runs took, and which jobs have something to come."""

import pytest

from jobctl.errors import NotFound
from jobctl.filters import parse
from jobctl.states import Overlap, RunState, SkipReason
from jobctl_daemon.rows import ForeseenFilter
from kit.stores import ADA, BOB, MINUTE, ROOT, T0, Rig, expansion, skip_row, spec


def of(text: str = "", now_ms: int = T0) -> ForeseenFilter:
    """Jobs that a filter lets through."""
    return ForeseenFilter(q=parse(text), now_ms=now_ms)


async def took(rig: Rig, job_id: int, took_ms: int, state: RunState = RunState.SUCCEEDED) -> int:
    """A run that has ended after so long."""
    claim = (await rig.claimed(job_id, rig.now_ms))[0]
    began_ms, rig.now_ms = rig.now_ms, rig.now_ms + took_ms
    await rig.finish(claim, state=state, started_ms=began_ms)
    rig.now_ms += 1
    return claim.run_id


# ── durations ──────────────────────────────────────────────


async def test_durations_are_of_runs_that_began_and_ended_newest_first(rig: Rig) -> None:
    job = await rig.add()
    first = await took(rig, job.id, 5_000)
    failed = await took(rig, job.id, 1_000, RunState.FAILED)
    (dead,) = await rig.dead(job.id, rig.now_ms)
    rig.now_ms += 1
    (skipped,) = await rig.scheduled(job.id, rig.now_ms)
    await rig.admit(skipped, reason=SkipReason.OVERLAP)
    rig.now_ms += 1
    (claim,) = await rig.claimed(job.id, rig.now_ms)
    found = await rig.store.durations(ADA, job.id, 10)
    assert [(one.run_id, one.state, one.finished_ms - one.started_ms) for one in found] == [
        (dead, "dead", 0), (failed, "failed", 1_000), (first, "succeeded", 5_000),
    ]  # fmt: skip
    assert claim.run_id not in [one.run_id for one in found]
    assert len(await rig.store.durations(ADA, job.id, 2)) == 2


async def test_a_job_that_mostly_skips_is_not_searched_to_its_beginning(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    await took(rig, job.id, 1_000)
    for number in range(20):
        (run_id,) = await rig.scheduled(job.id, rig.now_ms + number)
        await rig.admit(run_id, reason=SkipReason.OVERLAP)
    assert await rig.store.durations(ADA, job.id, 1) == []
    assert len(await rig.store.durations(ADA, job.id, 5)) == 1


async def test_usual_durations_are_of_runs_that_succeeded(rig: Rig) -> None:
    one, other, none = [await rig.add(spec(name)) for name in ("one", "other", "none")]
    await took(rig, one.id, 3_000)
    await took(rig, one.id, 9_000, RunState.FAILED)
    await took(rig, one.id, 4_000)
    await took(rig, other.id, 7_000)
    ids = [one.id, other.id, none.id]
    assert await rig.store.took(ADA, ids, 30) == {one.id: [4_000, 3_000], other.id: [7_000]}
    assert await rig.store.took(ADA, ids, 1) == {one.id: [4_000], other.id: [7_000]}


async def test_anothers_durations_are_not_there(rig: Rig) -> None:
    job = await rig.add()
    with pytest.raises(NotFound):
        await rig.store.durations(BOB, job.id, 1)


# ── what is to come ──────────────────────────────────────────────


async def test_jobs_come_in_the_order_of_their_next_fire_and_only_those_of_the_window(rig: Rig) -> None:
    for name, next_ms in (("b", T0 + 2), ("a", T0 + 2), ("late", T0 - 5), ("far", T0 + 100), ("never", None)):
        await rig.add(spec(name), next_ms=next_ms)
    found = await rig.store.foreseen(ADA, of(), T0 + 50, None, 100)
    assert ([job.name for job in found.jobs], found.after) == (["late", "b", "a"], None)


async def test_pages_look_at_so_many_cursors_whosever_they_are(rig: Rig) -> None:
    for number in range(6):
        await rig.add(spec(f"job-{number}"), owner=ADA if number == 4 else BOB, next_ms=T0 + number)
    pages, after = [], None
    while True:
        page = await rig.store.foreseen(ADA, of(), T0 + 50, after, 2)
        pages.append([job.name for job in page.jobs])
        after = page.after
        if after is None:
            break
    assert pages == [[], [], ["job-4"], []]
    first, after = await rig.store.foreseen_ids(ROOT, of(), T0 + 50, None, 4)
    second, end = await rig.store.foreseen_ids(ROOT, of(), T0 + 50, after, 4)
    assert ([*first, *second], end) == ([1, 2, 3, 4, 5, 6], None)
    assert (await rig.store.foreseen_ids(ADA, of(), T0 + 50, None, 10))[0] == [5]
    names = [job.name for job in (await rig.store.foreseen(ROOT, of("JOB-"), T0 + 50, None, 100)).jobs]
    assert names == [f"job-{number}" for number in range(6)]
    assert (await rig.store.foreseen(ROOT, of("b-3"), T0 + 50, None, 100)).jobs[0].name == "job-3"


async def test_every_filter_of_jobs_holds_for_those_to_come_too(rig: Rig) -> None:
    await rig.add(spec("a", tags=["prod"], queue="mail"), next_ms=T0 + 5)
    late = await rig.add(spec("b"), next_ms=T0 + 5_000)
    for text, found in (("tag:prod", ["a"]), ("-tag:prod", ["b"]), ("queue:mail,x", ["a"]), ("/^[ab]$/", ["a", "b"]),
                        ("next<2s", ["a"]), ("state:ok next>2s", ["b"]), ("dur>1s", [])):  # fmt: skip
        page = await rig.store.foreseen(ADA, of(text), T0 + 9_000, None, 10)
        assert [job.name for job in page.jobs] == found, text
    await rig.scheduled(late.id, T0)
    assert await rig.store.waiting(ADA, of("-tag:prod name:?"), 10) == [(late.id, T0)]
    assert await rig.store.waiting(ADA, of("tag:prod"), 10) == []


async def test_a_held_job_is_in_no_page_but_among_the_held(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"), owner=BOB)
    await rig.pause(job.id)
    await rig.pause(other.id)
    assert (await rig.store.foreseen(ADA, of(), T0 + MINUTE, None, 10)).jobs == []
    assert await rig.store.held_jobs(ADA) == [job.id]
    assert await rig.store.held_jobs(ROOT) == [job.id, other.id]
    (held,) = await rig.store.foreseen_of(ADA, [job.id], of())
    assert (held.name, held.held, held.next_ms) == ("backup", True, None)
    await rig.resume(job.id)
    assert await rig.store.held_jobs(ADA) == []


async def test_certain_jobs_come_in_the_order_in_which_they_were_named(rig: Rig) -> None:
    ids = [(await rig.add(spec(name))).id for name in ("a", "b", "c")]
    await rig.store.delete_job(ADA, ids[1], T0)
    assert [job.name for job in await rig.store.foreseen_of(ADA, ids[::-1], of())] == ["c", "a"]
    assert await rig.store.job_states(ADA, ids[:1]) == {ids[0]: "ok"}


async def test_what_is_left_out_is_known_of_a_job(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    row = skip_row(job.id, T0 + MINUTE, T0 + MINUTE, reason=SkipReason.ASKED)
    await rig.store.skip_next(ADA, job.id, row, (await rig.cursor(job.id)).revision, T0 + 2 * MINUTE, T0)
    (found,) = (await rig.store.foreseen(ADA, of(), T0 + 10 * MINUTE, None, 10)).jobs
    assert (found.next_ms, found.skip_until_ms) == (T0 + 2 * MINUTE, T0 + MINUTE)


async def test_jobs_wait_since_their_first_run_that_has_not_begun(rig: Rig) -> None:
    job, other, held = await rig.add(), await rig.add(spec("other"), owner=BOB), await rig.add(spec("held"))
    await rig.expand(expansion(await rig.cursor(job.id), [T0 - 3, T0 - 2]))
    await rig.ready(other.id, T0 - 5)
    await rig.scheduled(held.id, T0 - 9)
    await rig.pause(held.id)
    assert await rig.store.waiting(ROOT, of(), 10) == [(other.id, T0 - 5), (job.id, T0 - 3)]
    assert await rig.store.waiting(ADA, of(), 10) == [(job.id, T0 - 3)]
    assert await rig.store.waiting(ROOT, of("oth"), 10) == [(other.id, T0 - 5)]
    assert await rig.store.waiting(ROOT, of(), 1) == [(other.id, T0 - 5)]
    await rig.admit(*[one.run_id for one in await rig.store.pending(T0, 10)])
    await rig.claim()
    assert await rig.store.waiting(ROOT, of(), 10) == []
