"""The wall clock was set: generations, fences, cursors that go back, and starts that keep the time they had left."""

from msgspec.structs import replace

from jobctl.states import RunState, SkipReason
from jobctl_daemon.rows import ClockStep
from kit.stores import ADA, DAY, MINUTE, T0, Rig, expansion, skip_row, spec

HOUR = 60 * MINUTE


def back(by_ms: int, *, correction: bool = False, undoes: bool = False) -> ClockStep:
    return ClockStep(from_ms=T0, to_ms=T0 - by_ms, held_ms=T0, correction=correction, undoes=undoes)


async def test_every_change_is_a_sign_of_life_and_a_new_store_has_none(rig: Rig) -> None:
    assert (await rig.store.clock()).seen_ms is None
    rig.now_ms = T0 + MINUTE
    await rig.add()
    assert (await rig.store.clock()).seen_ms == T0 + MINUTE
    assert not (await rig.store.clock()).clean
    await rig.store.seen(T0 + HOUR)
    state = await rig.store.clock()
    assert (state.seen_ms, state.clean) == (T0 + HOUR, True)
    rig.now_ms = T0 + 2 * HOUR
    await rig.add(spec("other"))
    assert not (await rig.store.clock()).clean


async def test_a_step_back_is_a_new_generation_and_an_event_of_nobody(rig: Rig) -> None:
    job = await rig.add()
    assert (await rig.cursor(job.id)).generation == 0
    step = back(2 * HOUR)
    assert await rig.store.stepped(step, rig.epoch) == 1
    assert await rig.store.stepped(step, rig.epoch) == 2
    state = await rig.store.clock()
    assert (state.generation, state.last, state.back) == (2, step, step)
    assert (await rig.cursor(job.id)).generation == 2
    await rig.store.aimed()
    assert (await rig.store.clock()).back is None
    event = rig.events[-1]
    assert (event.kind, event.job_id, event.run_id) == ("clock.stepped", None, None)
    assert event.data["generation"] == 2


async def test_a_step_forward_is_written_down_and_changes_nothing(rig: Rig) -> None:
    step = ClockStep(from_ms=T0, to_ms=T0 + DAY, held_ms=T0 + DAY)
    assert await rig.store.stepped(step, rig.epoch) == 0
    state = await rig.store.clock()
    assert (state.generation, state.last, state.back) == (0, step, None)
    assert rig.kinds() == ["clock.stepped"]


async def test_under_an_old_epoch_no_step_is_taken(rig: Rig) -> None:
    job = await rig.add()
    old = rig.epoch
    await rig.store.take_epoch("other", T0)
    assert await rig.store.stepped(back(HOUR), old) is None
    cursor = await rig.cursor(job.id)
    assert await rig.store.aim([expansion(cursor, [], next_ms=T0)], T0, old) == 0
    assert (await rig.store.clock()).generation == 0


async def test_after_a_step_back_the_last_sign_of_life_is_of_the_new_time_and_fences_of_the_old(rig: Rig) -> None:
    job = await rig.add()
    (before,) = await rig.claimed(job.id, T0)
    await rig.finish(before)
    await rig.store.stepped(back(DAY, correction=True), rig.epoch)
    rig.now_ms = T0 - DAY
    assert (await rig.store.clock()).seen_ms == T0 - DAY
    (after,) = await rig.claimed(job.id, T0 - DAY)
    assert before.fence >= T0
    assert after.fence >= before.fence


async def test_cursors_beyond_now_are_listed_by_job_and_go_where_they_are_told_to(rig: Rig) -> None:
    ids = []
    for name in ("a", "b", "c"):
        job = await rig.add(spec(name))
        ids.append(job.id)
    rig.now_ms = T0 + HOUR
    for job_id in ids:
        await rig.expand(expansion(await rig.cursor(job_id), [T0 + HOUR], next_ms=T0 + HOUR + MINUTE))
    found = await rig.store.ahead(T0, 0, 2)
    assert [job.job_id for job in found] == ids[:2]
    assert [job.job_id for job in await rig.store.ahead(T0, ids[1], 2)] == ids[2:]
    assert await rig.store.ahead(T0 + HOUR, 0, 10) == []
    aims = [expansion(job, [], next_ms=T0 + MINUTE, skips=[skip_row(job.job_id, T0, T0)]) for job in found]
    aims = [replace(aim, handled_ms=T0) for aim in aims]
    assert await rig.store.aim(aims, T0, rig.epoch) == 2
    assert await rig.store.aim(aims, T0, rig.epoch) == 0
    moved = await rig.cursor(ids[0])
    assert (moved.next_ms, moved.handled_ms) == (T0 + MINUTE, T0)
    assert [job.job_id for job in await rig.store.due(T0 + MINUTE, None, 10)] == ids[:2]


async def test_a_parked_cursor_is_not_aimed(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    await rig.store.park(job.id, cursor.revision, "no such zone", T0)
    assert await rig.store.ahead(0, 0, 10) == []


async def test_the_rows_of_a_job_say_until_when_it_is_covered(rig: Rig) -> None:
    job = await rig.add()
    rig.now_ms = T0 + HOUR
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0}
    assert await rig.store.covered([job.id], T0 - DAY) == {}
    await rig.expand(expansion(await rig.cursor(job.id), [T0 + 2 * MINUTE], next_ms=T0 + DAY))
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0 + 2 * MINUTE}
    wide = skip_row(job.id, T0 + 3 * MINUTE, T0 + 9 * MINUTE, 7)
    await rig.expand(expansion(await rig.cursor(job.id), [], next_ms=T0 + DAY, skips=[wide]))
    assert await rig.store.covered([job.id], T0 + 9 * MINUTE) == {job.id: T0 + 9 * MINUTE}
    assert await rig.store.covered([job.id], T0 + 8 * MINUTE) == {job.id: T0 + 2 * MINUTE}


async def test_rows_of_a_schedule_that_was_edited_in_a_time_that_comes_again_cover_nothing_of_the_new_one(
    rig: Rig,
) -> None:
    job = await rig.add(next_ms=T0)
    await rig.scheduled(job.id, T0 + 30 * MINUTE, next_ms=T0 + 31 * MINUTE)
    wide = replace(skip_row(job.id, T0 + 31 * MINUTE, T0 + 60 * MINUTE, 30), at_ms=T0 + 60 * MINUTE)
    rig.now_ms = T0 + 60 * MINUTE
    await rig.expand(expansion(await rig.cursor(job.id), [], next_ms=T0 + 61 * MINUTE, skips=[wide]))
    step = ClockStep(from_ms=T0 + 60 * MINUTE, to_ms=T0 + 10 * MINUTE, held_ms=T0 + 60 * MINUTE)
    await rig.store.stepped(step, rig.epoch)
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0 + 60 * MINUTE}

    rig.now_ms = T0 + 20 * MINUTE
    await rig.edit(job.id, schedule=spec(cron="*/2 * * * *").schedule)
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0 + 20 * MINUTE}
    again = {"key": f"s:{T0 + 22 * MINUTE}:1"}
    rig.now_ms = T0 + 22 * MINUTE
    await rig.scheduled(job.id, T0 + 22 * MINUTE, next_ms=T0 + 24 * MINUTE, **again)
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0 + 22 * MINUTE}
    missed = replace(skip_row(job.id, T0 + 24 * MINUTE, T0 + 28 * MINUTE, 3), at_ms=T0 + 12 * MINUTE)
    rig.now_ms = T0 + 30 * MINUTE
    ranged = replace(missed, key=f"{missed.key}:2")
    await rig.expand(expansion(await rig.cursor(job.id), [], next_ms=T0 + 30 * MINUTE, skips=[ranged]))
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0 + 28 * MINUTE}


async def test_an_edit_of_something_else_covers_nothing(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    rig.now_ms = T0 + 5 * MINUTE
    await rig.edit(job.id, priority=3)
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0}
    rig.now_ms = T0 + 6 * MINUTE
    await rig.edit(job.id, schedule=spec(cron="*/2 * * * *").schedule)
    rig.now_ms = T0 + 7 * MINUTE
    await rig.edit(job.id, priority=4)
    assert await rig.store.covered([job.id], T0 + DAY) == {job.id: T0 + 6 * MINUTE}


async def test_what_was_due_before_a_pause_and_had_no_row_yet_is_counted_when_the_clock_was_set_back_long_before(
    rig: Rig,
) -> None:
    await rig.store.stepped(back(2 * HOUR), rig.epoch)
    job = await rig.add(next_ms=T0 + MINUTE)
    rig.now_ms = T0 + MINUTE + 30_000
    await rig.pause(job.id)
    asked = replace(skip_row(job.id, T0 + 9 * MINUTE, T0 + 9 * MINUTE, reason=SkipReason.ASKED), at_ms=rig.now_ms)
    cursor = await rig.cursor(job.id)
    await rig.store.skip_next(ADA, job.id, asked, cursor.revision, None, rig.now_ms)
    rig.now_ms = T0 + 5 * MINUTE
    await rig.resume(job.id)

    rows = await rig.store.ledger(ADA, job.id, 0, T0 + 8 * MINUTE, 10)
    assert [(row.from_ms, row.to_ms, row.count, row.reason) for row in rows] == [
        (T0 + MINUTE, T0 + 5 * MINUTE, 5, SkipReason.PAUSED),
        (T0 + 6 * MINUTE, T0 + 8 * MINUTE, 3, SkipReason.CLOCK),  # the cursor goes behind what is left out
    ]


async def test_a_pause_that_was_taken_along_to_a_wrong_time_and_back_counts_from_where_its_rows_ended(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    rig.now_ms = T0 + 2 * MINUTE
    await rig.scheduled(job.id, T0 + 2 * MINUTE, next_ms=T0 + 3 * MINUTE)
    rig.now_ms = T0 + 3 * MINUTE + 30_000
    await rig.pause(job.id)
    cursor = await rig.cursor(job.id)
    await rig.store.stepped(back(400 * DAY, correction=True), rig.epoch)
    astray = replace(expansion(cursor, []), handled_ms=T0 - 400 * DAY)
    assert await rig.store.aim([astray], T0 - 400 * DAY, rig.epoch) == 1
    rig.now_ms = T0 + 5 * MINUTE
    await rig.resume(job.id)

    rows = [row for row in await rig.store.ledger(ADA, job.id, 0, T0 + DAY, 10) if row.run_id is None]
    assert [(row.from_ms, row.to_ms, row.count) for row in rows] == [(T0 + 3 * MINUTE, T0 + 5 * MINUTE, 3)]


async def test_what_somebody_asked_to_skip_is_covered_before_its_time(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    asked = replace(skip_row(job.id, T0 + DAY, T0 + DAY, reason=SkipReason.ASKED), at_ms=T0)
    await rig.store.skip_next(ADA, job.id, asked, cursor.revision, T0 + 2 * DAY, T0)
    assert await rig.store.covered([job.id], T0 + MINUTE) == {job.id: T0 + DAY}
    assert await rig.store.covered([job.id], T0 - MINUTE) == {}


async def test_what_waits_for_its_start_keeps_the_time_that_it_had_left(rig: Rig) -> None:
    job = await rig.add()
    (due, waiting) = await rig.ready(job.id, T0 - MINUTE, T0, start_by_ms=T0 + HOUR)
    soon = (await rig.store.trigger(ADA, job.id, T0 + 10 * MINUTE, T0, None)).run
    far = (await rig.store.trigger(ADA, job.id, T0 + 5 * HOUR, T0, None)).run
    claims = {claim.run_id: claim for claim in await rig.claim()}
    await rig.store.unclaim([(waiting, claims[waiting].fence)], T0 + 3 * HOUR, T0, "busy")
    await rig.finish(claims[due])
    await rig.store.stepped(back(2 * HOUR), rig.epoch)
    after = {run.id: run.due_at for run in await rig.runs() if run.state in (RunState.READY, RunState.SCHEDULED)}
    assert after == {
        waiting: "2027-01-15T09:00:00Z",
        soon.id: "2027-01-15T06:10:00Z",
        far.id: "2027-01-15T13:00:00Z",
    }


async def test_a_window_to_start_goes_with_a_small_step_and_stays_when_the_clock_went_astray(rig: Rig) -> None:
    job = await rig.add()
    await rig.ready(job.id, T0, start_by_ms=T0 + HOUR)
    await rig.store.stepped(back(400 * DAY, correction=True), rig.epoch)
    assert await rig.store.too_late(T0 - 400 * DAY + 2 * HOUR, 10) == []
    await rig.store.stepped(back(2 * HOUR), rig.epoch)
    assert await rig.store.too_late(T0 - HOUR, 10) == []
    assert len(await rig.store.too_late(T0 - HOUR + 1, 10)) == 1
