"""From a due cursor to runs: one run for each key, each expansion under its own guard, one bad row alone."""

import asyncio

import msgspec
import pytest

from jobctl.states import SkipReason, Trigger
from kit.stores import ADA, MINUTE, T0, Rig, expansion, new_run, skip_row, spec


async def test_due_jobs_come_in_order_of_instant_and_id_and_after_a_place(rig: Rig) -> None:
    late = await rig.add(spec("late"), next_ms=T0 + 5)
    first, second = await rig.add(spec("first")), await rig.add(spec("second"))
    await rig.add(spec("future"), next_ms=T0 + MINUTE)
    found = await rig.store.due(T0 + 5, None, 2)
    assert [(job.job_id, job.next_ms) for job in found] == [(first.id, T0), (second.id, T0)]
    assert [job.job_id for job in await rig.store.due(T0 + 5, (T0, second.id), 2)] == [late.id]
    assert found[0].schedule.cron == "* * * * *"
    assert (found[0].job_uid, found[0].name, found[0].handled_ms) == (first.uid, "first", T0)


async def test_an_expansion_writes_ledger_run_cursor_and_event(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    assert await rig.expand(expansion(cursor, [T0], next_ms=T0 + MINUTE, coalesced=2)) == 1
    (run,) = await rig.runs()
    assert (run.state, run.trigger, run.coalesced, run.version) == ("scheduled", Trigger.SCHEDULE, 2, 1)
    assert run.key == f"{job.uid}/s:{T0}"
    (row,) = await rig.store.ledger(ADA, job.id, T0, T0, 10)
    assert (row.run_id, row.reason, row.count) == (run.id, None, 1)
    moved = await rig.cursor(job.id)
    assert (moved.next_ms, moved.handled_ms, moved.revision) == (T0 + MINUTE, T0, cursor.revision + 1)
    assert rig.kinds(run.id) == ["run.scheduled"]


async def test_skips_become_rows_of_the_ledger(rig: Rig) -> None:
    job = await rig.add()
    skips = [skip_row(job.id, T0, T0 + 9 * MINUTE, 10), skip_row(job.id, T0 + MINUTE, T0 + MINUTE, key="g:1")]
    await rig.expand(expansion(await rig.cursor(job.id), [T0 + 10 * MINUTE], skips=skips))
    rows = await rig.store.ledger(ADA, job.id, T0, T0 + 10 * MINUTE, 10)
    assert [(row.from_ms, row.count, row.reason) for row in rows] == [
        (T0, 10, SkipReason.MISFIRE),
        (T0 + MINUTE, 1, SkipReason.MISFIRE),
        (T0 + 10 * MINUTE, 1, None),
    ]
    assert rig.kinds().count("occurrence.skipped") == 2


async def test_of_two_expansions_of_one_revision_one_wins(rig: Rig) -> None:
    job = await rig.add()
    wanted = expansion(await rig.cursor(job.id), [T0], next_ms=T0 + MINUTE)
    made = await asyncio.gather(rig.expand(wanted), rig.expand(wanted))
    assert sorted(made) == [0, 1]
    assert await rig.expand(wanted, wanted) == 0
    assert len(await rig.runs()) == 1


async def test_a_key_that_has_run_never_runs_again_also_after_it_is_finished(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    cursor = await rig.cursor(job.id)
    assert await rig.expand(expansion(cursor, [T0, T0 + MINUTE], next_ms=T0 + 2 * MINUTE)) == 1
    assert len(await rig.runs()) == 2
    assert (await rig.cursor(job.id)).next_ms == T0 + 2 * MINUTE
    assert rig.kinds().count("run.scheduled") == 2


async def test_one_key_twice_in_one_expansion_is_one_run(rig: Rig) -> None:
    job = await rig.add()
    assert await rig.expand(expansion(await rig.cursor(job.id), [T0, T0])) == 1


async def test_a_boot_key_is_unique_whatever_its_instant(rig: Rig) -> None:
    job = await rig.add(spec(on_boot=True), next_ms=None)
    assert len(await rig.scheduled(job.id, T0, key="boot:x", trigger=Trigger.BOOT)) == 1
    assert await rig.scheduled(job.id, T0 + MINUTE, key="boot:x", trigger=Trigger.BOOT) == []


async def test_one_key_of_two_jobs_is_two_runs(rig: Rig) -> None:
    one, two = await rig.add(spec("one")), await rig.add(spec("two"))
    made = await rig.expand(expansion(await rig.cursor(one.id), [T0]), expansion(await rig.cursor(two.id), [T0]))
    assert made == 2


async def test_an_old_epoch_changes_nothing(rig: Rig) -> None:
    job = await rig.add()
    old = rig.epoch
    assert await rig.store.take_epoch("other", T0) == old + 1
    assert await rig.store.expand([expansion(await rig.cursor(job.id), [T0])], T0, old) == 0
    assert (await rig.cursor(job.id)).next_ms == T0
    assert await rig.runs() == []


async def test_another_version_than_the_current_one_is_not_expanded(rig: Rig) -> None:
    job = await rig.add()
    wanted = msgspec.structs.replace(expansion(await rig.cursor(job.id), [T0]), version=2)
    assert await rig.expand(wanted) == 0


@pytest.mark.parametrize(
    "bad",
    [
        new_run(T0, key=""),
        new_run(1 << 70),
        new_run(T0, coalesced=-1),
        new_run(T0, note="\ud800"),
    ],
)
async def test_a_bad_run_harms_itself_alone_and_parks_its_job(rig: Rig, bad: object) -> None:
    jobs = [await rig.add(spec(name)) for name in ("a", "b", "c")]
    wanted = [expansion(await rig.cursor(job.id), [T0], next_ms=T0 + MINUTE) for job in jobs]
    wanted[1] = msgspec.structs.replace(wanted[1], runs=(bad,))
    assert await rig.expand(*wanted) == 2
    assert sorted(run.job for run in await rig.runs()) == ["a", "c"]
    parked = await rig.store.job(ADA, "b")
    assert parked.state == "parked"
    assert "cannot be stored" in str(parked.error)
    assert await rig.store.due(T0, None, 10) == []
    assert rig.kinds().count("job.parked") == 1


async def test_a_parked_cursor_leaves_the_due_index_with_its_error(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    await rig.store.park(job.id, cursor.revision, "no such zone", T0)
    parked = await rig.store.job(ADA, "backup")
    assert (parked.state, parked.error) == ("parked", "no such zone")
    assert await rig.store.due(T0, None, 10) == []
    assert (await rig.store.counts(ADA, T0)).parked == 1


async def test_a_cursor_that_moved_meanwhile_is_not_parked(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    await rig.expand(expansion(cursor, [T0], next_ms=T0 + MINUTE))
    await rig.store.park(job.id, cursor.revision, "late", T0)
    assert (await rig.store.job(ADA, "backup")).error is None


async def test_boot_and_start_jobs_are_listed_by_their_kind(rig: Rig) -> None:
    boot = await rig.add(spec("boot", on_boot=True), next_ms=None)
    start = await rig.add(spec("start", on_start=True), next_ms=None)
    gone = await rig.add(spec("gone", on_start=True), next_ms=None)
    await rig.store.delete_job(ADA, gone.id, T0)
    assert [job.job_id for job in await rig.store.started_jobs("boot")] == [boot.id]
    assert [job.job_id for job in await rig.store.started_jobs("start")] == [start.id]


async def test_the_next_wake_is_the_earliest_of_everything_that_waits(rig: Rig) -> None:
    assert await rig.store.next_wake(T0) is None
    job = await rig.add(next_ms=T0 + 4 * MINUTE)
    assert await rig.store.next_wake(T0) == T0 + 4 * MINUTE
    await rig.store.trigger(ADA, job.id, T0 + 3 * MINUTE, T0, None)
    assert await rig.store.next_wake(T0) == T0 + 3 * MINUTE
    other = await rig.add(spec("other"), next_ms=T0 + 9 * MINUTE)
    await rig.store.pause_job(ADA, other.id, "ada", T0 + 2 * MINUTE, None, T0)
    assert await rig.store.next_wake(T0) == T0 + 2 * MINUTE
    claim = (await rig.claimed((await rig.add(spec("third"))).id))[0]
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0 + MINUTE, T0, "busy")
    assert await rig.store.next_wake(T0) == T0 + MINUTE
    assert await rig.store.next_wake(T0 + MINUTE) == T0 + 2 * MINUTE


async def test_every_occurrence_is_covered_by_a_row(rig: Rig) -> None:
    job = await rig.add()
    await rig.expand(expansion(await rig.cursor(job.id), [T0], next_ms=T0 + MINUTE))
    (run,) = await rig.runs()
    await rig.admit(run.id, reason=SkipReason.OVERLAP)
    await rig.scheduled(job.id, T0 + MINUTE)
    await rig.store.delete_job(ADA, job.id, T0)
    again = await rig.add(spec("again"))
    await rig.finished(again.id, T0)
    (row,) = await rig.store.ledger(ADA, again.id, T0, T0, 10)
    assert row.run_id is not None
