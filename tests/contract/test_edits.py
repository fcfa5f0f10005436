"""Changed definitions, and occurrences to come that are left out: no surprise fires, and nothing is without a row."""

import itertools
from typing import Any

import msgspec
import pytest

from jobctl.errors import Conflict, NotFound
from jobctl.model import Execution, ScheduleSpec
from jobctl.states import After, Misfire, Overlap, RunState, SkipReason
from jobctl_daemon.decide.due import expand
from jobctl_daemon.decide.skip import skip, unskip
from jobctl_daemon.rows import Caller, LedgerRow
from jobctl_daemon.schedules import schedule_of
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, expansion, request, spec

HOURLY = ScheduleSpec(timezone="UTC", cron="0 * * * *", words="every hour")
BY_HAND = ScheduleSpec(timezone="UTC")
NEXT_HOUR = "2027-01-15T09:00:00Z"


def once(at_ms: int) -> ScheduleSpec:
    return ScheduleSpec(timezone="UTC", at_ms=at_ms, words="once")


def shell(text: str) -> Execution:
    return Execution(shell=text)


async def ledger(rig: Rig, job_id: int) -> list[LedgerRow]:
    return await rig.store.ledger(ROOT, job_id, 0, T0 + DAY, 100)


# ── what it must match ──────────────────────────────────────────────


async def test_an_edit_of_a_job_that_was_changed_meanwhile_is_refused(rig: Rig) -> None:
    job = await rig.add()
    decided = await rig.edited(job.id, name="other")
    await rig.pause(job.id)
    with pytest.raises(Conflict, match="changed meanwhile") as caught:
        await rig.store.edit_job(ADA, decided, T0)
    assert caught.value.details["rev"] == job.rev + 1
    assert (await rig.store.job(ADA, str(job.id))).name == "backup"
    assert "job.edited" not in rig.kinds()


async def test_every_change_raises_the_revision(rig: Rig) -> None:
    job = await rig.add()
    revs = [job.rev]
    revs.append((await rig.policies(job.id, timeout_ms=5)).rev)
    revs.append((await rig.edit(job.id, name="other")).rev)
    revs.append((await rig.pause(job.id)).rev)
    assert revs == [1, 2, 3, 4]


async def test_who_changed_a_job_last_is_known(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    assert await rig.store.changed_by(ADA, job.id) is None
    await rig.store.edit_job(ADA, await rig.edited(job.id, queue="q"), T0)
    await rig.edit(other.id, queue="q")
    assert await rig.store.changed_by(ADA, job.id) == "ada"
    await rig.store.pause_job(ROOT, job.id, "root", None, None, T0)
    assert await rig.store.changed_by(ADA, job.id) == "root"
    await rig.resume(job.id)
    assert await rig.store.changed_by(ADA, job.id) is None
    with pytest.raises(NotFound):
        await rig.store.changed_by(BOB, job.id)


async def test_an_edit_decided_from_a_cursor_that_moved_meanwhile_is_refused(rig: Rig) -> None:
    job = await rig.add()
    decided = await rig.edited(job.id, schedule=HOURLY)
    await rig.expand(expansion(await rig.cursor(job.id), [T0], next_ms=T0 + MINUTE))
    with pytest.raises(Conflict, match="just become due"):
        await rig.store.edit_job(ADA, decided, T0)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.version, shown.rev, shown.next_run_at) == (1, job.rev, "2027-01-15T08:01:00Z")
    assert await rig.states(*[run.id for run in await rig.runs()]) == ["scheduled"]


async def test_an_edit_that_leaves_the_schedule_alone_does_not_care_for_the_cursor(rig: Rig) -> None:
    job = await rig.add()
    decided = await rig.edited(job.id, execution=shell("false"))
    await rig.expand(expansion(await rig.cursor(job.id), [T0], next_ms=T0 + MINUTE))
    edited = await rig.store.edit_job(ADA, decided, T0)
    assert (edited.version, edited.next_run_at) == (2, "2027-01-15T08:01:00Z")


async def test_a_name_that_is_taken_is_refused(rig: Rig) -> None:
    job = await rig.add()
    await rig.add(spec("taken"))
    await rig.add(spec("theirs"), owner=BOB)
    with pytest.raises(Conflict, match="taken"):
        await rig.edit(job.id, name="taken")
    assert (await rig.edit(job.id, name="theirs")).name == "theirs"
    assert (await rig.edit(job.id, name="theirs", execution=shell("x"))).name == "theirs"
    assert (await rig.add()).name == "backup"


async def test_a_job_of_others_is_not_edited(rig: Rig) -> None:
    job = await rig.add()
    decided = await rig.edited(job.id, name="other")
    with pytest.raises(NotFound):
        await rig.store.edit_job(BOB, decided, T0)


# ── what changes ──────────────────────────────────────────────


async def test_a_changed_command_is_a_new_version_with_its_author(rig: Rig) -> None:
    job = await rig.add()
    old = (await rig.store.spec(ADA, job.id)).execution
    edited = await rig.store.edit_job(Caller(uid=1000, name="ada"), await rig.edited(job.id, execution=shell("x")), T0)
    assert (edited.version, edited.target, edited.env) == (2, {"shell": "x"}, {})
    assert edited.next_run_at == job.next_run_at
    assert (await rig.store.spec(ADA, job.id)).execution == shell("x")
    versions = await rig.rows("SELECT version, author, from_ms FROM schedule_versions ORDER BY version")
    assert versions == [
        {"version": 1, "author": "ada", "from_ms": T0},
        {"version": 2, "author": "ada", "from_ms": T0},
    ]
    event = rig.events[-1]
    assert (event.kind, event.job_id) == ("job.edited", job.id)
    before, after = event.data.pop("before"), event.data.pop("after")
    assert event.data == {"name": "backup", "by": "ada", "version": 2, "schedule": False, "uid": 1000}
    assert before != after
    await rig.store.edit_job(ROOT, await rig.edited(job.id, execution=old), T0)
    said = rig.events[-1].data
    assert (said["uid"], said["before"], said["after"]) == (0, after, before)


async def test_changed_policies_make_no_version_and_hold_at_once(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    edited = await rig.policies(job.id, retries=5, timeout_ms=9, notify=["mail"])
    assert (edited.version, edited.retry.max, edited.timeout, edited.notify) == (1, 5, 0.009, ["mail"])
    (effort,) = await rig.store.efforts([claim.run_id])
    assert effort.policies.retries == 5
    assert (await rig.store.counts(ADA, T0)).untold == 0


async def test_unstarted_runs_take_the_new_version_and_others_keep_theirs(rig: Rig) -> None:
    job = await rig.add(spec(shell="old"))
    running, failing = await rig.claimed(job.id, T0 - 9, T0 - 8)
    await rig.retrying(failing, T0 + 1)
    (dead,) = await rig.dead(job.id, T0 - 7)
    (replayed,) = await rig.dead(job.id, T0 - 6)
    await rig.replay(replayed)
    (ready,) = await rig.ready(job.id, T0 - 5)
    (scheduled,) = await rig.scheduled(job.id, T0)
    by_hand = await rig.by_hand(job.id)
    await rig.edit(job.id, execution=shell("new"))
    versions = {row["id"]: row["version"] for row in await rig.rows("SELECT id, version FROM runs")}
    assert versions == {
        running.run_id: 1, failing.run_id: 1, dead: 1, replayed: 1, ready: 2, scheduled: 2, by_hand: 2,
    }  # fmt: skip
    rig.now_ms = T0 + 1
    await rig.look()
    executed = {claim.run_id: claim.execution.shell for claim in await rig.claim()}
    assert executed == {
        failing.run_id: "old", replayed: "old", ready: "new", scheduled: "new", by_hand: "new",
    }  # fmt: skip
    assert (await rig.store.work(ADA, running.run_id)).shell == "old"


async def test_queue_priority_and_window_hold_for_everything_that_is_not_running(rig: Rig) -> None:
    job = await rig.add()
    running, failing = await rig.claimed(job.id, T0 - 9, T0 - 8)
    await rig.retrying(failing)
    (ready,) = await rig.ready(job.id, T0 - 5, start_by_ms=T0 + 5)
    rules = msgspec.structs.replace((await rig.store.spec(ADA, job.id)).policies, misfire_within_ms=MINUTE)
    await rig.edit(job.id, queue="db", priority=-3, policies=rules)
    rows = {row["id"]: row for row in await rig.rows("SELECT id, queue, priority, start_by_ms FROM runs")}
    assert (rows[running.run_id]["queue"], rows[running.run_id]["priority"]) == ("default", 0)
    for run_id, start_by_ms in ((ready, T0 - 5 + MINUTE), (failing.run_id, None)):
        row = rows[run_id]
        assert (row["queue"], row["priority"], row["start_by_ms"]) == ("db", -3, start_by_ms)


# ── a changed schedule ──────────────────────────────────────────────


async def test_a_changed_schedule_counts_from_the_edit_and_supersedes_what_has_not_begun(rig: Rig) -> None:
    job = await rig.add()
    running, failing = await rig.claimed(job.id, T0 - 9, T0 - 8)
    await rig.retrying(failing)
    (ready,) = await rig.ready(job.id, T0 - 5, next_ms=T0 + MINUTE)
    (scheduled,) = await rig.scheduled(job.id, T0, next_ms=T0 + MINUTE)
    by_hand = await rig.by_hand(job.id)
    rig.now_ms = T0 + 5_000
    edited = await rig.edit(job.id, schedule=HOURLY)
    assert (edited.version, edited.next_run_at) == (2, NEXT_HOUR)
    assert edited.schedule is not None
    assert edited.schedule.words == "every hour"
    assert await rig.states(running.run_id, failing.run_id, ready, scheduled, by_hand) == [
        "running", "ready", "superseded", "superseded", "scheduled",
    ]  # fmt: skip
    run = await rig.store.run(ADA, scheduled)
    assert (run.outcome, run.reason) == ("superseded", "the schedule was edited before it began")
    reasons = {row.run_id: row.reason for row in await ledger(rig, job.id)}
    assert (reasons[ready], reasons[scheduled], reasons[running.run_id]) == (SkipReason.EDITED, SkipReason.EDITED, None)
    assert rig.kinds(scheduled)[-1] == "run.superseded"
    cursor = await rig.cursor(job.id)
    assert (cursor.handled_ms, cursor.version) == (rig.now_ms, 2)
    assert await rig.store.due(rig.now_ms, None, 10) == []
    assert (await rig.finish(running))[0].answer == "ok"


async def test_occurrences_of_the_old_schedule_that_nobody_handled_are_one_row(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    rig.now_ms = T0 + 3 * MINUTE
    await rig.edit(job.id, schedule=HOURLY)
    (row,) = await ledger(rig, job.id)
    assert (row.from_ms, row.to_ms, row.count, row.reason) == (T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.EDITED)
    assert await rig.runs() == []


async def test_an_expansion_of_the_old_schedule_is_lost(rig: Rig) -> None:
    job = await rig.add()
    before = expansion(await rig.cursor(job.id), [T0], next_ms=T0 + MINUTE)
    await rig.edit(job.id, schedule=HOURLY)
    assert await rig.expand(before) == 0
    assert await rig.runs() == []


async def test_a_superseded_run_that_held_the_gate_lets_go_what_waits(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    (ready,) = await rig.ready(job.id, T0)
    by_hand = await rig.by_hand(job.id)
    await rig.look()
    assert (await rig.row(by_hand))["waits"] == 1
    await rig.edit(job.id, schedule=HOURLY)
    await rig.look()
    assert await rig.states(ready, by_hand) == ["superseded", "ready"]


@pytest.mark.case("F062")
async def test_a_schedule_that_comes_back_does_not_repeat_what_has_run(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    await rig.edit(job.id, schedule=HOURLY)
    await rig.edit(job.id, schedule=(spec()).schedule)
    assert await rig.scheduled(job.id, T0) == []


async def test_a_parked_job_is_mended_by_an_edit(rig: Rig) -> None:
    job = await rig.add()
    await rig.store.park(job.id, (await rig.cursor(job.id)).revision, "no such zone", T0)
    edited = await rig.edit(job.id, schedule=HOURLY)
    assert (edited.state, edited.error, edited.next_run_at) == ("ok", None, NEXT_HOUR)


async def test_a_schedule_may_be_taken_away_and_given_back(rig: Rig) -> None:
    job = await rig.add()
    edited = await rig.edit(job.id, schedule=BY_HAND)
    assert (edited.schedule, edited.next_run_at) == (None, None)
    assert await rig.store.due(T0 + DAY, None, 10) == []
    edited = await rig.edit(job.id, schedule=HOURLY)
    assert edited.next_run_at == NEXT_HOUR
    edited = await rig.edit(job.id, schedule=ScheduleSpec(timezone="UTC", on_boot=True))
    assert edited.next_run_at is None
    assert [found.job_id for found in await rig.store.started_jobs("boot")] == [job.id]
    await rig.edit(job.id, schedule=HOURLY)
    assert await rig.store.started_jobs("boot") == []


@pytest.mark.parametrize("stage", ["scheduled", "ready"])
async def test_a_one_shot_that_is_put_off_is_not_done_with_the_run_that_is_superseded(rig: Rig, stage: str) -> None:
    job = await rig.add(spec(at_ms=T0))
    (run_id,) = await (rig.scheduled if stage == "scheduled" else rig.ready)(job.id, T0)
    edited = await rig.edit(job.id, schedule=once(T0 + 60 * MINUTE))
    assert await rig.state(run_id) == "superseded"
    assert (edited.state, edited.next_run_at) == ("ok", NEXT_HOUR)
    assert "job.done" not in rig.kinds()
    with pytest.raises(Conflict):
        await rig.add(spec("backup"))


async def test_a_one_shot_that_is_done_comes_back_with_a_new_time(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    await rig.finished(job.id, T0)
    rig.now_ms = T0 + MINUTE
    edited = await rig.edit(job.id, schedule=once(T0 + 60 * MINUTE))
    assert (edited.state, edited.next_run_at) == ("ok", NEXT_HOUR)
    rig.now_ms = T0 + 60 * MINUTE
    await rig.finished(job.id, rig.now_ms)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"
    assert rig.kinds().count("job.done") == 2


async def test_a_one_shot_that_is_done_does_not_take_its_name_back_from_another(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    await rig.finished(job.id, T0)
    await rig.add()
    with pytest.raises(Conflict, match="backup"):
        await rig.edit(job.id, schedule=once(T0 + DAY))
    assert (await rig.edit(job.id, execution=shell("x"))).state == "done"
    assert (await rig.edit(job.id, name="other", schedule=once(T0 + DAY))).state == "ok"


async def test_a_one_shot_becomes_a_schedule_and_is_never_done(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0 + DAY), next_ms=T0 + DAY)
    await rig.edit(job.id, schedule=HOURLY)
    await rig.finished(job.id, T0)
    assert (await rig.store.job(ADA, "backup")).state == "ok"


async def test_a_schedule_becomes_a_one_shot_that_is_done_once(rig: Rig) -> None:
    job = await rig.add()
    await rig.edit(job.id, schedule=once(T0 + MINUTE))
    rig.now_ms = T0 + MINUTE
    await rig.finished(job.id, T0 + MINUTE)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"


@pytest.mark.case("F064")
@pytest.mark.parametrize("what", ["job", "daemon"])
async def test_a_paused_job_that_is_edited_goes_on_with_the_new_schedule_alone(rig: Rig, what: str) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await rig.hold(what, job.id)
    rig.now_ms = T0 + 3 * MINUTE
    edited = await rig.edit(job.id, schedule=HOURLY)
    assert (edited.state, edited.next_run_at) == ("paused", None)
    rig.now_ms = T0 + 90 * MINUTE
    await rig.let_go(what, job.id)
    assert (await rig.store.job(ADA, "backup")).next_run_at == "2027-01-15T10:00:00Z"
    found = [(row.from_ms, row.to_ms, row.count, row.reason) for row in await ledger(rig, job.id)]
    assert found == [
        (T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.PAUSED),
        (T0 + 60 * MINUTE, T0 + 60 * MINUTE, 1, SkipReason.PAUSED),
    ]


async def test_a_held_run_of_the_old_schedule_is_superseded_too(rig: Rig) -> None:
    job = await rig.add()
    (held,) = await rig.ready(job.id, T0)
    await rig.pause(job.id)
    await rig.edit(job.id, schedule=HOURLY)
    assert await rig.state(held) == "superseded"


async def test_a_job_comes_after_another_and_no_more(rig: Rig) -> None:
    upstream, job = await rig.add(spec("upstream")), await rig.add()
    after = ScheduleSpec(timezone="UTC", after_job=upstream.id, after_on=After.ANY)
    edited = await rig.edit(job.id, schedule=after)
    assert edited.schedule is not None
    assert (edited.schedule.after, edited.next_run_at) == ("upstream:any", None)
    with pytest.raises(Conflict):
        await rig.store.delete_job(ADA, upstream.id, T0)
    await rig.edit(job.id, schedule=HOURLY)
    await rig.store.delete_job(ADA, upstream.id, T0)


# ── the next ones are left out ──────────────────────────────────────────────


async def skip_next(rig: Rig, job_id: int, count: int = 1, owner: Caller = ADA) -> Any:
    cursor = await rig.cursor(job_id)
    decided = skip(cursor, schedule_of(cursor.schedule), count, "skipped by ada", rig.now_ms)
    assert decided is not None
    return await rig.store.skip_next(owner, job_id, decided.row, cursor.revision, decided.next_ms, rig.now_ms)


async def test_the_next_occurrences_are_left_out_with_a_row(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    shown = await skip_next(rig, job.id, 3)
    assert (shown.next_run_at, shown.rev) == ("2027-01-15T08:04:00Z", job.rev)
    (row,) = await ledger(rig, job.id)
    assert (row.from_ms, row.to_ms, row.count, row.reason, row.detail) == (
        T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.ASKED, "skipped by ada",
    )  # fmt: skip
    cursor = await rig.cursor(job.id)
    assert (cursor.next_ms, cursor.handled_ms) == (T0 + 4 * MINUTE, T0 + 3 * MINUTE)
    event = rig.events[-1]
    assert (event.kind, event.data["reason"], event.data["count"]) == ("occurrence.skipped", "asked", 3)
    assert await rig.scheduled(job.id, T0 + 2 * MINUTE) != []


async def test_more_may_be_left_out_after_those(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id)
    assert (await skip_next(rig, job.id)).next_run_at == "2027-01-15T08:03:00Z"
    assert [row.count for row in await ledger(rig, job.id)] == [1, 1]
    assert (await rig.cursor(job.id)).skip_until_ms == T0 + 2 * MINUTE


async def test_a_skip_is_over_with_the_first_time_after_it(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id)
    rig.now_ms = T0 + 2 * MINUTE
    cursor = await rig.cursor(job.id)
    await rig.expand(expand(cursor, schedule_of(cursor.schedule), rig.now_ms))
    assert (await rig.cursor(job.id)).skip_until_ms is None


async def test_a_skip_decided_from_a_cursor_that_moved_meanwhile_is_refused(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    decided = skip(cursor, schedule_of(cursor.schedule), 1, "x", T0)
    assert decided is not None
    await rig.expand(expansion(cursor, [T0], next_ms=T0 + MINUTE))
    with pytest.raises(Conflict, match="has just started"):
        await rig.store.skip_next(ADA, job.id, decided.row, cursor.revision, decided.next_ms, T0)
    assert (await rig.cursor(job.id)).next_ms == T0 + MINUTE


@pytest.mark.parametrize("what", ["job", "queue", "daemon"])
@pytest.mark.parametrize("catch_up", [False, True])
async def test_a_job_that_is_held_leaves_out_what_it_is_asked_to(rig: Rig, what: str, catch_up: bool) -> None:
    job = await rig.add(spec(misfire=Misfire.ALL), next_ms=T0 + MINUTE)
    await rig.hold(what, job.id)
    rig.now_ms = T0 + 2 * MINUTE
    shown = await skip_next(rig, job.id, 3)
    assert (shown.state, shown.next_run_at) == ("paused", None)
    cursor = await rig.cursor(job.id)
    assert (cursor.next_ms, cursor.handled_ms, cursor.skip_until_ms) == (None, T0, T0 + 5 * MINUTE)
    assert cursor.left_out == ((T0 + 3 * MINUTE, T0 + 5 * MINUTE),)
    rig.now_ms = T0 + 4 * MINUTE + 1
    await rig.let_go(what, job.id, catch_up=catch_up)
    assert (await rig.store.job(ADA, "backup")).next_run_at == "2027-01-15T08:06:00Z"
    missed = [(row.from_ms, row.to_ms, row.count) for row in await ledger(rig, job.id) if row.reason == "paused"]
    assert missed == ([] if catch_up else [(T0 + MINUTE, T0 + 2 * MINUTE, 2)])
    assert len(await rig.runs()) == (2 if catch_up else 0)
    assert await once_each(rig, job.id) == [1, 1, 3] if catch_up else [2, 3]


async def once_each(rig: Rig, job_id: int) -> list[int]:
    """How many occurrences each row has; none has two rows."""
    rows = await ledger(rig, job_id)
    assert all(one.to_ms < other.from_ms for one, other in itertools.pairwise(rows))
    return [row.count for row in rows]


async def test_a_parked_job_waits_for_nothing_that_could_be_left_out(rig: Rig) -> None:
    job = await rig.add()
    cursor = await rig.cursor(job.id)
    await rig.store.park(job.id, cursor.revision, "no such zone", T0)
    row = LedgerRow(job_id=job.id, key="r:1:1", from_ms=1, to_ms=1, count=1, run_id=None, reason=SkipReason.ASKED,
                    detail="x", at_ms=T0)  # fmt: skip
    with pytest.raises(Conflict):
        await rig.store.skip_next(ADA, job.id, row, (await rig.cursor(job.id)).revision, None, T0)
    assert await ledger(rig, job.id) == []


@pytest.mark.parametrize("change", [{"jitter_ms": 1000}, {"cron": "*/2 * * * *"}, {"timezone": "Asia/Tokyo"}])
async def test_what_was_left_out_stays_so_over_an_edit(rig: Rig, change: dict[str, Any]) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id, 4)
    rig.now_ms = T0 + 2 * MINUTE + 1
    new = msgspec.structs.replace((spec()).schedule, **change)
    edited = await rig.edit(job.id, schedule=new)
    following = schedule_of(new).next_after(T0 + 4 * MINUTE)
    assert following is not None
    assert (await rig.cursor(job.id)).next_ms == following.at_ms
    assert edited.next_run_at is not None
    rows = await ledger(rig, job.id)
    assert {row.reason for row in rows} == {SkipReason.ASKED}
    assert {row.detail for row in rows} == {"skipped by ada"}
    assert await once_each(rig, job.id) == ([2, 1] if "cron" in change else [2, 2])


async def test_what_is_ahead_of_a_skip_is_taken_back(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id, 3)
    await skip_next(rig, job.id, 2)
    rig.now_ms = T0 + 2 * MINUTE + 1
    shown = await take_back(rig, job.id)
    assert shown.next_run_at == "2027-01-15T08:03:00Z"
    (row,) = await ledger(rig, job.id)
    assert (row.from_ms, row.to_ms, row.count, row.detail) == (T0 + MINUTE, T0 + 2 * MINUTE, 2, "skipped by ada")
    cursor = await rig.cursor(job.id)
    assert (cursor.handled_ms, cursor.skip_until_ms) == (rig.now_ms, None)
    event = rig.events[-1]
    assert (event.kind, event.job_id, event.data) == ("job.unskipped", job.id, {"name": "backup", "by": "ada"})
    rig.now_ms = T0 + 3 * MINUTE
    assert len(await rig.scheduled(job.id, T0 + 3 * MINUTE, next_ms=T0 + 4 * MINUTE)) == 1
    await skip_next(rig, job.id, 2)
    assert await once_each(rig, job.id) == [2, 1, 2]


async def take_back(rig: Rig, job_id: int, owner: Caller = ADA) -> Any:
    cursor = await rig.cursor(job_id)
    asked = await rig.store.left_out(ROOT, job_id, rig.now_ms)
    decided = unskip(cursor, schedule_of(cursor.schedule), asked, rig.now_ms)
    assert decided is not None
    return await rig.store.unskip(owner, decided, rig.now_ms)


async def test_a_job_that_is_held_counts_again_what_it_misses_when_a_skip_is_taken_back(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id, 4)
    await rig.pause(job.id)
    rig.now_ms = T0 + 2 * MINUTE
    assert (await take_back(rig, job.id)).next_run_at is None
    rig.now_ms = T0 + 3 * MINUTE
    await rig.resume(job.id)
    assert (await rig.store.job(ADA, "backup")).next_run_at == "2027-01-15T08:04:00Z"
    assert [(row.count, row.reason) for row in await ledger(rig, job.id)] == [
        (2, SkipReason.ASKED), (1, SkipReason.PAUSED),
    ]  # fmt: skip


async def test_a_one_shot_that_was_done_with_its_skip_comes_back(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0 + DAY), next_ms=T0 + DAY)
    await skip_next(rig, job.id)
    other = await rig.add()
    with pytest.raises(Conflict, match="backup"):
        await take_back(rig, job.id)
    await rig.edit(other.id, name="other")
    shown = await take_back(rig, job.id)
    assert (shown.state, shown.next_run_at) == ("ok", "2027-01-16T08:00:00Z")
    assert await rig.store.ledger(ADA, job.id, 0, T0 + DAY, 10) == []


async def test_a_take_back_decided_from_a_cursor_that_moved_meanwhile_is_refused(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id)
    cursor = await rig.cursor(job.id)
    decided = unskip(cursor, schedule_of(cursor.schedule), await rig.store.left_out(ADA, job.id, T0), T0)
    assert decided is not None
    await skip_next(rig, job.id)
    with pytest.raises(Conflict):
        await rig.store.unskip(ADA, decided, T0)
    assert [row.count for row in await ledger(rig, job.id)] == [1, 1]
    assert "job.unskipped" not in rig.kinds()


async def test_a_job_of_others_is_not_unskipped(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id)
    with pytest.raises(NotFound):
        await take_back(rig, job.id, owner=BOB)
    with pytest.raises(NotFound):
        await rig.store.left_out(BOB, job.id, T0)


async def test_a_one_shot_whose_time_is_left_out_is_done(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0 + DAY), next_ms=T0 + DAY)
    assert (await skip_next(rig, job.id)).state == "done"
    assert rig.kinds()[-2:] == ["occurrence.skipped", "job.done"]


async def test_what_was_left_out_stays_so_over_a_pause(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await skip_next(rig, job.id, 3)
    await rig.pause(job.id)
    rig.now_ms = T0 + MINUTE + 1
    await rig.resume(job.id, catch_up=True)
    assert (await rig.store.job(ADA, "backup")).next_run_at == "2027-01-15T08:04:00Z"
    assert await rig.runs() == []


async def test_a_job_of_others_is_not_skipped(rig: Rig) -> None:
    job = await rig.add()
    with pytest.raises(NotFound):
        await skip_next(rig, job.id, owner=BOB)


async def test_a_run_that_ended_is_shown_with_the_name_that_its_job_has_now(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.finished(job.id, T0, state=RunState.FAILED)
    await rig.edit(job.id, name="renamed")
    assert (await rig.store.run(ADA, run_id)).job == "renamed"
    made = await rig.store.trigger(ADA, job.id, T0, T0, request(verb="trigger"))
    assert made.run.job == "renamed"
