"""Pauses of a job, of its queue and of the daemon, one over the other: a job goes on when the last of them is over."""

import itertools
from typing import Any

import msgspec
import pytest

from jobctl.errors import Conflict
from jobctl.model import ScheduleSpec
from jobctl.states import Misfire, Overlap, RunState, SkipReason
from jobctl_daemon.rows import JobFilter, Pause, Resumption
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, new_run, spec

KINDS = ("job", "queue", "daemon")
ORDERS = list(itertools.permutations(KINDS))


async def resumption(rig: Rig, job_id: int, **changes: Any) -> Resumption:
    cursor = await rig.cursor(job_id)
    facts = {"revision": cursor.revision, "next_ms": rig.now_ms + MINUTE, "handled_ms": rig.now_ms} | changes
    return Resumption(job_id=job_id, **facts)


async def ledger(rig: Rig, job_id: int) -> list[tuple[int, int, int, str | None]]:
    rows = await rig.store.ledger(ROOT, job_id, 0, T0 + DAY, 100)
    return [(row.from_ms, row.to_ms, row.count, row.reason) for row in rows if row.run_id is None]


# ── one over the other ──────────────────────────────────────────────


@pytest.mark.parametrize("paused", ORDERS)
@pytest.mark.parametrize("resumed", ORDERS)
async def test_a_job_goes_on_when_the_last_of_its_pauses_is_over(
    rig: Rig, paused: tuple[str, ...], resumed: tuple[str, ...]
) -> None:
    job = await rig.add()
    ready = await rig.ready(job.id, T0, next_ms=T0 + MINUTE)
    for what in paused:
        await rig.hold(what, job.id)
        shown = await rig.store.job(ADA, "backup")
        assert shown.state == "paused"
        assert shown.suspended_by == next(kind for kind in KINDS if kind in paused[: paused.index(what) + 1])
        await rig.check()
    assert rig.kinds(ready[0]).count("run.held") == 1
    rig.now_ms = T0 + 5 * MINUTE + 1
    left = list(paused)
    for what in resumed:
        assert await rig.store.due(rig.now_ms, None, 10) == []
        assert (await rig.row(ready[0]))["held"] == 1
        await rig.let_go(what, job.id)
        left.remove(what)
        shown = await rig.store.job(ADA, "backup")
        assert shown.suspended_by == next((kind for kind in KINDS if kind in left), None)
        await rig.check()
    assert shown.state == "ok"
    assert shown.next_run_at == "2027-01-15T08:06:00Z"
    assert await ledger(rig, job.id) == [(T0 + MINUTE, T0 + 5 * MINUTE, 5, SkipReason.PAUSED)]
    await rig.look()
    assert [claim.run_id for claim in await rig.claim()] == ready


# ── what it says ──────────────────────────────────────────────


async def paused(rig: Rig, what: str, job_id: int, why: str | None, until_ms: int | None = None) -> None:
    if what == "job":
        await rig.store.pause_job(ROOT, job_id, "ada", until_ms, why, rig.now_ms)
    else:
        name = "" if what == "daemon" else "default"
        await rig.store.pause_queue(name, Pause(by="ada", until_ms=until_ms, why=why), rig.now_ms)


CALLED = {"job": "the job", "queue": "the queue default", "daemon": "the daemon"}


@pytest.mark.parametrize("what", KINDS)
async def test_a_job_says_whose_pause_holds_it_and_why(rig: Rig, what: str) -> None:
    job = await rig.add()
    await paused(rig, what, job.id, "a new disk", T0 + DAY)
    shown = await rig.store.job(ADA, "backup")
    assert shown.suspended_why == f"{CALLED[what]} was paused by ada: a new disk"
    assert (shown.suspended_since, shown.suspended_until) == ("2027-01-15T08:00:00Z", "2027-01-16T08:00:00Z")
    await rig.let_go(what, job.id)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.suspended_why, shown.suspended_since, shown.suspended_until) == (None, None, None)


async def test_of_several_pauses_the_last_end_counts_if_each_has_one(rig: Rig) -> None:
    job = await rig.add()
    await paused(rig, "job", job.id, "mine", T0 + MINUTE)
    await paused(rig, "daemon", job.id, "theirs", T0 + DAY)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.suspended_why, shown.suspended_until) == ("the job was paused by ada: mine", "2027-01-16T08:00:00Z")
    await paused(rig, "queue", job.id, None)
    assert (await rig.store.job(ADA, "backup")).suspended_until is None


async def test_a_quarantine_is_its_own_reason(rig: Rig) -> None:
    job = await rig.add()
    for claim in await rig.claimed(job.id, *range(T0 - 5, T0)):
        await rig.died(claim)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.suspended_by, shown.suspended_why) == ("job", shown.paused_why)


@pytest.mark.parametrize("what", KINDS)
async def test_the_newest_words_of_a_pause_hold(rig: Rig, what: str) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await paused(rig, what, job.id, "first")
    await paused(rig, what, job.id, "second")
    rig.now_ms = T0 + MINUTE
    await rig.let_go(what, job.id)
    (row,) = await rig.store.ledger(ROOT, job.id, 0, T0 + DAY, 10)
    assert row.detail == f"{CALLED[what]} was paused by ada: second"


async def test_the_words_of_another_pause_do_not_hide_those_of_the_first(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await paused(rig, "job", job.id, "first")
    await paused(rig, "daemon", job.id, "second")
    await rig.let_go("job", job.id)
    assert (await rig.store.job(ADA, "backup")).suspended_why == "the daemon was paused by ada: second"
    rig.now_ms = T0 + MINUTE
    await rig.let_go("daemon", job.id)
    (row,) = await rig.store.ledger(ROOT, job.id, 0, T0 + DAY, 10)
    assert row.detail == "the job was paused by ada: first"


@pytest.mark.parametrize("what", KINDS)
async def test_a_pause_holds_what_has_not_begun_and_leaves_the_rest(rig: Rig, what: str) -> None:
    job = await rig.add()
    (running,) = await rig.claimed(job.id, T0 - 3)
    (failing,) = await rig.claimed(job.id, T0 - 2)
    await rig.retrying(failing)
    (ready,) = await rig.ready(job.id, T0 - 1)
    (scheduled,) = await rig.scheduled(job.id, T0 + MINUTE)
    before = await rig.by_hand(job.id)
    await rig.hold(what, job.id)
    during = await rig.by_hand(job.id)
    held = [run["id"] for run in await rig.rows("SELECT id FROM runs WHERE held = 1 ORDER BY id")]
    assert held == [failing.run_id, ready, scheduled]
    await rig.look()
    assert sorted(claim.run_id for claim in await rig.claim()) == [before, during]
    assert (await rig.finish(running))[0].answer == "ok"
    assert await rig.store.next_wake(T0) is None
    await rig.let_go(what, job.id)
    assert await rig.states(failing.run_id, ready, scheduled) == ["ready", "scheduled", "scheduled"]


@pytest.mark.parametrize("what", ["queue", "daemon"])
async def test_a_pause_of_many_holds_their_jobs_and_no_others(rig: Rig, what: str) -> None:
    mine, theirs = await rig.add(spec("mine", queue="db")), await rig.add(spec("theirs", queue="db"), owner=BOB)
    other = await rig.add(spec("other"))
    gone = await rig.add(spec("gone", queue="db"))
    await rig.store.delete_job(ADA, gone.id, T0)
    name = "db" if what == "queue" else ""
    assert await rig.store.pause_queue(name, Pause(by="root", why="move"), T0) == (2 if what == "queue" else 3)
    due = [job.job_id for job in await rig.store.due(T0, None, 10)]
    assert due == ([other.id] if what == "queue" else [])
    assert {(await rig.store.job(ROOT, str(job.id))).suspended_by for job in (mine, theirs)} == {what}
    event = rig.events[-1]
    assert (event.kind, event.job_id) == (f"{what}.paused", None)
    assert event.data == {"name": name, "by": "root", "why": "move"}
    assert await rig.store.resume_queue(name, False, T0) == (2 if what == "queue" else 3)
    assert rig.events[-1].kind == f"{what}.resumed"
    await rig.settle()
    assert len(await rig.store.due(T0 + MINUTE, None, 10)) == 3


async def test_the_daemon_says_who_paused_it_and_why(rig: Rig) -> None:
    assert await rig.store.daemon_pause() is None
    await rig.store.pause_queue("", Pause(by="root", until_ms=T0 + MINUTE, why="upgrade"), T0)
    pause = await rig.store.daemon_pause()
    assert pause is not None
    assert (pause.name, pause.paused, pause.paused_by, pause.paused_why) == ("", True, "root", "upgrade")
    assert (pause.paused_since, pause.paused_until) == ("2027-01-15T08:00:00Z", "2027-01-15T08:01:00Z")
    assert await rig.store.queues(ROOT) == []
    await rig.store.resume_queue("", False, T0)
    assert await rig.store.daemon_pause() is None


@pytest.mark.parametrize("name", ["", "db"])
async def test_what_is_not_paused_cannot_be_resumed(rig: Rig, name: str) -> None:
    with pytest.raises(Conflict, match="not paused"):
        await rig.store.resume_queue(name, False, T0)
    await rig.store.set_queue("db", 1, T0)
    with pytest.raises(Conflict, match="not paused"):
        await rig.store.resume_queue(name, False, T0)


async def test_a_second_pause_of_a_queue_keeps_the_beginning_of_the_first(rig: Rig) -> None:
    job = await rig.add(spec(queue="db"))
    await rig.store.pause_queue("db", Pause(by="ada", why="a"), T0)
    await rig.store.pause_queue("db", Pause(by="root", until_ms=T0 + MINUTE, why="b"), T0 + 1)
    (queue,) = await rig.store.queues(ROOT)
    assert (queue.paused_by, queue.paused_why, queue.paused_since) == ("root", "b", "2027-01-15T08:00:00Z")
    assert (await rig.cursor(job.id)).suspended_since_ms == T0


async def test_boot_jobs_of_a_paused_daemon_do_not_start(rig: Rig) -> None:
    job = await rig.add(spec(on_boot=True), next_ms=None)
    await rig.hold("daemon", job.id)
    assert await rig.store.started_jobs("boot") == []
    await rig.let_go("daemon", job.id)
    assert len(await rig.store.started_jobs("boot")) == 1


async def test_jobs_are_counted_as_paused_and_found_so_whatever_pause_holds_them(rig: Rig) -> None:
    job, _ = await rig.add(), await rig.add(spec("other"))

    async def paused() -> int:
        found = [len((await rig.store.jobs(owner, JobFilter(states=("paused",))))[0]) for owner in (ADA, ROOT)]
        counts = [(await rig.store.counts(owner, T0)).paused for owner in (ADA, None)]
        assert counts == found
        return counts[1]

    await rig.pause(job.id)
    assert await paused() == 1
    await rig.hold("daemon", job.id)
    assert await paused() == 2
    await rig.let_go("daemon", job.id)
    assert await paused() == 1
    await rig.resume(job.id)
    assert await paused() == 0


# ── until ──────────────────────────────────────────────


@pytest.mark.parametrize("what", KINDS)
async def test_a_pause_ends_by_itself_at_its_time(rig: Rig, what: str) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await rig.hold(what, job.id, until_ms=T0 + 3 * MINUTE)
    assert await rig.store.next_wake(T0) == T0 + 3 * MINUTE
    assert await rig.store.end_pauses(T0 + 3 * MINUTE - 1) == 0
    assert await rig.store.resumable(10) == []
    rig.now_ms = T0 + 3 * MINUTE
    assert await rig.store.end_pauses(rig.now_ms) == 1
    assert await rig.store.end_pauses(rig.now_ms) == 0
    assert [found.job_id for found in await rig.store.resumable(10)] == [job.id]
    assert await rig.settle() == 1
    assert rig.kinds()[-2:] == [f"{what}.resumed", "occurrence.skipped"]
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.suspended_by, shown.paused_until) == ("ok", None, None)
    assert shown.next_run_at == "2027-01-15T08:04:00Z"


async def test_pauses_that_end_one_after_another_let_go_with_the_last(rig: Rig) -> None:
    job = await rig.add()
    for n, what in enumerate(KINDS):
        await rig.hold(what, job.id, until_ms=T0 + (n + 1) * MINUTE)
    for n, wake in enumerate((T0 + MINUTE, T0 + 2 * MINUTE, T0 + 3 * MINUTE)):
        assert await rig.store.next_wake(rig.now_ms) == wake
        rig.now_ms = wake
        assert await rig.settle() == (n == 2)
        await rig.check()
    assert (await rig.store.job(ADA, "backup")).state == "ok"


async def test_a_pause_without_an_end_outlives_one_with(rig: Rig) -> None:
    job = await rig.add()
    await rig.hold("queue", job.id)
    await rig.hold("daemon", job.id, until_ms=T0 + MINUTE)
    rig.now_ms = T0 + 5 * MINUTE
    assert await rig.settle() == 0
    assert (await rig.store.job(ADA, "backup")).suspended_by == "queue"
    assert await rig.store.next_wake(T0) is None


# ── jobs that come and go ──────────────────────────────────────────────


@pytest.mark.parametrize("what", ["queue", "daemon"])
async def test_a_job_that_is_made_in_a_pause_is_held_from_its_beginning(rig: Rig, what: str) -> None:
    await rig.store.pause_queue("default" if what == "queue" else "", Pause(by="root"), T0 - MINUTE)
    job = await rig.add(next_ms=T0 + MINUTE)
    assert (job.state, job.paused, job.suspended_by, job.next_run_at) == ("paused", False, what, None)
    assert await rig.store.due(T0 + DAY, None, 10) == []
    run_id = await rig.by_hand(job.id)
    await rig.look()
    assert await rig.state(run_id) == "ready"
    rig.now_ms = T0 + 3 * MINUTE
    await rig.let_go(what, job.id)
    assert await ledger(rig, job.id) == [(T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.PAUSED)]
    (row,) = [row for row in await rig.store.ledger(ADA, job.id, T0, T0 + DAY, 9) if row.run_id is None]
    assert row.detail == f"the {'queue default' if what == 'queue' else what} was paused by root"


async def test_a_paused_job_that_is_made_in_a_paused_queue_is_paused_by_both(rig: Rig) -> None:
    await rig.store.pause_queue("default", Pause(by="root"), T0)
    job = await rig.add(spec(paused=True))
    await rig.let_go("queue", job.id)
    assert (await rig.store.job(ADA, "backup")).suspended_by == "job"
    await rig.let_go("job", job.id)
    assert (await rig.store.job(ADA, "backup")).suspended_by is None


async def test_a_command_that_is_run_by_hand_runs_in_a_paused_daemon_and_is_done(rig: Rig) -> None:
    await rig.store.pause_queue("", Pause(by="root"), T0)
    wanted = spec("make", cron=None, hidden=True)
    run = (await rig.store.run_adhoc(ADA, wanted, T0, T0, None)).run
    await rig.look()
    await rig.finish(*await rig.claim())
    assert await rig.state(run.id) == "succeeded"
    await rig.store.resume_queue("", False, T0)
    await rig.settle()
    assert (await rig.store.job(ADA, str(run.job_id))).state == "done"


async def test_a_job_that_is_removed_in_its_pause_is_not_aimed(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    await rig.hold("daemon", job.id)
    (held,) = [await rig.by_hand(job.id)]
    await rig.store.resume_queue("", False, T0)
    decided = [await resumption(rig, job_id) for job_id in (job.id, other.id)]
    await rig.store.delete_job(ADA, job.id, T0)
    assert [found.job_id for found in await rig.store.resumable(10)] == [other.id]
    assert await rig.store.unsuspend(decided, T0, rig.epoch) == 1
    assert await rig.store.resumable(10) == []
    assert await rig.state(held) == "cancelled"
    assert await rig.settle() == 0


async def test_a_job_that_moves_into_a_paused_queue_is_held_and_goes_on_outside(rig: Rig) -> None:
    await rig.store.pause_queue("db", Pause(by="root"), T0)
    job = await rig.add()
    (ready,) = await rig.ready(job.id, T0, next_ms=T0 + MINUTE)
    moved = await rig.edit(job.id, queue="db")
    assert (moved.state, moved.suspended_by, moved.queue, moved.next_run_at) == ("paused", "queue", "db", None)
    assert (await rig.row(ready))["held"] == 1
    await rig.check()
    rig.now_ms = T0 + 3 * MINUTE
    await rig.edit(job.id, queue="default")
    assert [found.job_id for found in await rig.store.resumable(10)] == [job.id]
    await rig.settle()
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.next_run_at) == ("ok", "2027-01-15T08:04:00Z")
    assert await ledger(rig, job.id) == [(T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.PAUSED)]
    row = await rig.row(ready)
    assert (row["held"], row["queue"]) == (0, "default")


@pytest.mark.parametrize("what", ["job", "daemon"])
async def test_a_job_that_moves_out_of_a_paused_queue_stays_held_by_what_else_holds_it(rig: Rig, what: str) -> None:
    job = await rig.add(spec(queue="db"))
    await rig.hold("queue", job.id)
    await rig.hold(what, job.id)
    moved = await rig.edit(job.id, queue="default")
    assert moved.suspended_by == what
    assert await rig.store.resumable(10) == []


async def test_a_job_that_moves_into_a_paused_queue_while_it_is_to_be_aimed_is_held(rig: Rig) -> None:
    await rig.store.pause_queue("db", Pause(by="root"), T0)
    job = await rig.add()
    await rig.pause(job.id)
    await rig.store.resume_job(ADA, job.id, False, T0)
    decided = await resumption(rig, job.id)
    await rig.edit(job.id, queue="db")
    assert await rig.store.resumable(10) == []
    assert await rig.store.unsuspend([decided], T0, rig.epoch) == 0
    assert (await rig.store.job(ADA, "backup")).suspended_by == "queue"


# ── the end ──────────────────────────────────────────────


async def test_until_it_is_aimed_a_resumed_job_is_neither_paused_nor_due(rig: Rig) -> None:
    job = await rig.add()
    ready = await rig.ready(job.id, T0, next_ms=T0 + MINUTE)
    await rig.pause(job.id)
    assert await rig.store.resume_job(ADA, job.id, False, T0)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.paused, shown.suspended_by, shown.next_run_at) == ("ok", False, None, None)
    assert await rig.store.due(T0 + DAY, None, 10) == []
    assert await rig.store.pending(T0, 10) == []
    (found,) = await rig.store.resumable(10)
    assert (found.job_id, found.resuming, found.suspended_since_ms) == (job.id, "plain", T0)
    assert await rig.store.unsuspend([await resumption(rig, job.id)], T0, rig.epoch) == 1
    assert await rig.store.resumable(10) == []
    assert [run.run_id for run in await rig.store.pending(T0, 10)] == ready


async def test_jobs_that_are_to_be_aimed_come_a_batch_at_a_time(rig: Rig) -> None:
    jobs = [await rig.add(spec(f"job-{n}")) for n in range(5)]
    await rig.hold("daemon", jobs[0].id)
    assert await rig.store.resume_queue("", True, T0) == 5
    found = await rig.store.resumable(3)
    assert [(job.job_id, job.resuming) for job in found] == [(job.id, "catch_up") for job in jobs[:3]]
    assert await rig.settle() == 5


@pytest.mark.parametrize("meanwhile", ["paused again", "edited", "aimed", "paused and resumed"])
async def test_an_aim_that_was_overtaken_changes_nothing(rig: Rig, meanwhile: str) -> None:
    job = await rig.add()
    ready = await rig.ready(job.id, T0, next_ms=T0 + MINUTE)
    await rig.pause(job.id)
    await rig.store.resume_job(ADA, job.id, False, T0)
    overtaken = await resumption(rig, job.id, runs=(new_run(T0 + 1),))
    if meanwhile == "edited":
        await rig.edit(job.id, schedule=ScheduleSpec(timezone="UTC", cron="*/7 * * * *"))
    elif meanwhile == "aimed":
        await rig.settle()
    else:
        await rig.pause(job.id)
        if meanwhile == "paused and resumed":
            await rig.store.resume_job(ADA, job.id, False, T0)
    before = await rig.cursor(job.id), await rig.store.job(ADA, "backup"), await rig.store.run(ADA, ready[0])
    assert await rig.store.unsuspend([overtaken], T0, rig.epoch) == 0
    assert (await rig.cursor(job.id), await rig.store.job(ADA, "backup"), await rig.store.run(ADA, ready[0])) == before
    assert len(await rig.runs()) == 1


async def test_of_two_aims_of_one_job_one_counts(rig: Rig) -> None:
    job = await rig.add()
    await rig.pause(job.id)
    await rig.store.resume_job(ADA, job.id, False, T0)
    decided = await resumption(rig, job.id, runs=(new_run(T0 + 1),))
    assert await rig.store.unsuspend([decided, decided], T0, rig.epoch) == 1
    assert len(await rig.runs()) == 1
    assert await rig.store.unsuspend([], T0, rig.epoch) == 0


@pytest.mark.parametrize("bad", [new_run(T0, key=""), new_run(1 << 70), new_run(T0, note="\ud800")])
async def test_an_aim_that_cannot_be_stored_parks_its_job_alone(rig: Rig, bad: Any) -> None:
    jobs = [await rig.add(spec(name)) for name in ("a", "b", "c")]
    (held,) = await rig.ready(jobs[1].id, T0 - 1)
    await rig.hold("daemon", jobs[0].id)
    await rig.store.resume_queue("", False, T0)
    wanted = [await resumption(rig, job.id) for job in jobs]
    wanted[1] = msgspec.structs.replace(wanted[1], runs=(bad,))
    await rig.store.unsuspend(wanted, T0, rig.epoch)
    assert [(await rig.store.job(ADA, name)).state for name in ("a", "b", "c")] == ["ok", "parked", "ok"]
    assert "cannot be stored" in str((await rig.store.job(ADA, "b")).error)
    assert await rig.store.resumable(10) == []
    assert (await rig.row(held))["held"] == 0
    await rig.check()


async def test_a_parked_job_stays_parked_in_a_pause_and_is_aimed_at_its_end(rig: Rig) -> None:
    job = await rig.add()
    await rig.store.park(job.id, (await rig.cursor(job.id)).revision, "no such zone", T0)
    await rig.pause(job.id)
    assert (await rig.store.job(ADA, "backup")).error == "no such zone"
    await rig.resume(job.id)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.error, shown.state, shown.next_run_at) == (None, "ok", "2027-01-15T08:01:00Z")


async def test_a_one_shot_that_fell_into_a_pause_runs_after_it(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0 + MINUTE), next_ms=T0 + MINUTE)
    await rig.hold("daemon", job.id)
    rig.now_ms = T0 + 5 * MINUTE
    await rig.let_go("daemon", job.id)
    (due,) = await rig.store.due(rig.now_ms, None, 10)
    assert (due.job_id, due.next_ms) == (job.id, T0 + MINUTE)


async def test_a_one_shot_that_is_done_stays_done_over_a_pause(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    await rig.finished(job.id, T0)
    await rig.hold("daemon", job.id)
    rig.now_ms = T0 + 5 * MINUTE
    await rig.let_go("daemon", job.id)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"
    assert await rig.store.due(rig.now_ms, None, 10) == []


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize(("misfire", "runs"), [(Misfire.ONCE, 1), (Misfire.ALL, 5), (Misfire.SKIP, 1)])
async def test_a_catch_up_runs_what_the_misfire_policy_keeps(rig: Rig, what: str, misfire: Misfire, runs: int) -> None:
    within_ms = 30_000 if misfire is Misfire.SKIP else DAY
    job = await rig.add(spec(misfire=misfire, misfire_within_ms=within_ms), next_ms=T0 + MINUTE)
    await rig.hold(what, job.id)
    rig.now_ms = T0 + 5 * MINUTE + 10_000
    await rig.let_go(what, job.id, catch_up=True)
    slots = [row["slot_ms"] for row in await rig.rows("SELECT slot_ms FROM runs ORDER BY slot_ms")]
    assert slots == [T0 + n * MINUTE for n in range(6 - runs, 6)]
    missed = 5 - runs
    assert await ledger(rig, job.id) == (
        [(T0 + MINUTE, T0 + missed * MINUTE, missed, SkipReason.PAUSED)] if missed else []
    )
    assert (await rig.store.job(ADA, "backup")).next_run_at == "2027-01-15T08:06:00Z"


async def test_the_resume_that_lets_a_job_go_says_whether_it_catches_up(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await rig.hold("job", job.id)
    await rig.hold("queue", job.id)
    rig.now_ms = T0 + 3 * MINUTE
    await rig.let_go("job", job.id, catch_up=True)
    await rig.let_go("queue", job.id)
    assert await rig.runs() == []
    assert await ledger(rig, job.id) == [(T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.PAUSED)]


async def test_what_a_quarantine_swallowed_says_so(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    claims = await rig.claimed(job.id, *range(T0 - 5, T0), next_ms=T0 + MINUTE)
    await rig.died(*claims)
    rig.now_ms = T0 + 3 * MINUTE
    await rig.resume(job.id)
    assert await ledger(rig, job.id) == [(T0 + MINUTE, T0 + 3 * MINUTE, 3, SkipReason.QUARANTINED)]


async def test_a_pause_by_hand_of_a_quarantined_job_is_a_pause_by_hand(rig: Rig) -> None:
    job = await rig.add()
    await rig.died(*await rig.claimed(job.id, *range(T0 - 5, T0)))
    shown = await rig.pause(job.id)
    assert (shown.paused_by, shown.quarantined, shown.paused_why) == ("ada", False, None)


async def test_a_released_run_that_is_too_late_by_then_is_a_misfire(rig: Rig) -> None:
    job = await rig.add()
    (held,) = await rig.ready(job.id, T0, start_by_ms=T0 + MINUTE)
    await rig.pause(job.id)
    rig.now_ms = T0 + 5 * MINUTE
    assert await rig.store.too_late(rig.now_ms, 10) == []
    await rig.resume(job.id)
    await rig.look()
    run = await rig.store.run(ADA, held)
    assert (run.state, run.outcome) == ("skipped", "misfire")


async def test_released_runs_meet_the_overlap_policy_anew(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    (held,) = await rig.ready(job.id, T0)
    await rig.pause(job.id)
    by_hand = await rig.by_hand(job.id)
    await rig.look()
    await rig.resume(job.id)
    await rig.look()
    assert await rig.states(held, by_hand) == ["skipped", "ready"]


async def test_a_replay_goes_on_in_every_pause(rig: Rig) -> None:
    job = await rig.add()
    (dead,) = await rig.dead(job.id, T0)
    for what in KINDS:
        await rig.hold(what, job.id)
    await rig.replay(dead)
    await rig.look()
    (claim,) = await rig.claim()
    await rig.retrying(claim, T0)
    (claim,) = await rig.claim()
    await rig.finish(claim, state=RunState.SUCCEEDED)
    assert await rig.state(dead) == "succeeded"


async def test_nothing_goes_on_under_an_old_epoch(rig: Rig) -> None:
    job = await rig.add()
    await rig.pause(job.id)
    await rig.store.resume_job(ADA, job.id, False, T0)
    decided = await resumption(rig, job.id)
    old = rig.epoch
    rig.epoch = await rig.store.take_epoch("other", T0)

    assert await rig.store.unsuspend([decided], T0, old) == 0
    assert await rig.store.unsuspend([decided], T0, rig.epoch) == 1
