"""Dead letters: how they come to be, where they are found, and how they go."""

from typing import Any

import msgspec
import pytest

from jobctl.errors import Conflict, NotFound
from jobctl.filters import parse
from jobctl.states import FailureClass, Overlap, RunState
from jobctl_daemon.rows import DeadFilter, RunFilter
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, ended, spec


async def every(rig: Rig, wanted: DeadFilter, caller: Any = ADA) -> list[int]:
    """The ids of all pages."""
    ids: list[int] = []
    while True:
        runs, following = await rig.store.dead(caller, wanted)
        ids += [run.id for run in runs]
        if following is None:
            return ids
        wanted = msgspec.structs.replace(wanted, cursor=following)


# ── how one comes to be ──────────────────────────────────────────────


async def test_a_failure_for_good_is_a_dead_letter_and_no_history(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.begun(claim)
    rig.now_ms = T0 + 5
    (verdict,) = await rig.died(claim, started_ms=None)
    assert verdict.answer == "ok"
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.outcome, run.failure_class, run.reason) == ("dead", "exit_code", "exit_code", "exit 3")
    assert (run.error, run.fingerprint, run.exit_code, run.attempt) == ("no space left", "f00d", 3, 1)
    assert (run.started_at, run.finished_at) == ("2027-01-15T08:00:00Z", "2027-01-15T08:00:00.005Z")
    assert await rig.rows("SELECT * FROM history") == []
    row = await rig.row(claim.run_id)
    assert (row["gate"], row["held"], row["stop_wanted"], row["pid"]) == (None, 0, None, None)
    assert len(await rig.store.attempts(ADA, claim.run_id)) == 1
    (event,) = [event for event in rig.events if event.kind == "run.dead"]
    assert (event.data["fingerprint"], event.data["error"], event.data["class"]) == (
        "f00d", "no space left", "exit_code",
    )  # fmt: skip


async def test_a_dead_letter_is_the_failure_of_its_job(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.dead, shown.running) == ("failed", 1, 0)
    assert shown.last_run is not None
    assert (shown.last_run.id, shown.last_run.state, shown.last_run.exit_code) == (run_id, "dead", 3)
    await rig.finished(job.id, T0 - 1)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.dead) == ("ok", 1)
    assert "job.recovered" in rig.kinds()


async def test_a_dead_letter_holds_no_gate_and_no_slot(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    await rig.dead(job.id, T0 - 1)
    await rig.scheduled(job.id, T0)
    await rig.look()
    assert len(await rig.claim()) == 1
    assert await rig.store.next_wake(T0) is None


async def test_a_death_without_a_fingerprint_has_one_all_the_same(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.died(claim, fingerprint=None)
    assert (await rig.store.run(ADA, claim.run_id)).fingerprint == "unknown"


async def test_a_dead_run_takes_no_second_result_and_no_stop(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.died(claim)
    assert (await rig.finish(claim))[0].answer == "stale"
    assert (await rig.died(claim))[0].answer == "stale"
    with pytest.raises(Conflict, match="dead"):
        await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    assert rig.kinds(claim.run_id).count("run.dead") == 1


async def test_a_dead_one_shot_is_not_done_before_its_letter_is_gone(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    (run_id,) = await rig.dead(job.id)
    assert (await rig.store.job(ADA, str(job.id))).state == "failed"
    assert "job.done" not in rig.kinds()
    await rig.store.discard(ADA, DeadFilter(ids=(run_id,)), "ada", None, T0)
    assert rig.kinds()[-2:] == ["run.discarded", "job.done"]


async def test_dead_letters_outlive_their_job(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    await rig.store.delete_job(ADA, job.id, T0)
    assert await every(rig, DeadFilter()) == [run_id]
    assert (await rig.store.run(ADA, run_id)).job == "backup"
    assert (await rig.store.work(ADA, run_id)).shell == "true"
    with pytest.raises(NotFound):
        await rig.store.work(BOB, run_id)


async def test_a_death_after_the_job_was_removed_changes_nothing_of_the_job(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 6, T0))
    await rig.store.delete_job(ADA, job.id, T0)
    await rig.died(*claims)
    assert "job.quarantined" not in rig.kinds()
    assert (await rig.store.counts(None, T0)).failed == 0
    assert await rig.rows("SELECT * FROM streaks") == []


async def test_a_cancelled_run_does_not_hide_that_the_one_before_it_failed(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    cancelled = ended(two, T0, RunState.CANCELLED, outcome="cancelled", failure_class=FailureClass.CANCELLED)
    await rig.store.finish([ended(one, T0, RunState.FAILED), cancelled], T0)
    shown = await rig.store.job(ADA, "backup")
    assert shown.state == "failed"
    assert shown.last_run is not None
    assert shown.last_run.id == two.run_id


# ── too many ──────────────────────────────────────────────


async def test_a_job_keeps_its_newest_hundred_and_discards_the_oldest_with_a_row(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    (calm,) = await rig.dead(other.id, T0)
    claims = await rig.claimed(job.id, *range(T0 - 102, T0))
    await rig.died(*claims)
    counts = await rig.store.counts(ADA, T0)
    assert counts.dead == 101
    left = await every(rig, DeadFilter(job_id=job.id, limit=30))
    assert sorted(left) == sorted(claim.run_id for claim in claims)[2:]
    assert await rig.state(calm) == "dead"
    for run_id in sorted(claim.run_id for claim in claims)[:2]:
        run = await rig.store.run(ADA, run_id)
        assert (run.state, run.outcome, run.error, run.fingerprint) == (
            "discarded", "exit_code", "no space left", "f00d",
        )  # fmt: skip
        assert run.reason == "discarded as the oldest of over 100 dead letters; it had failed: exit 3"
        assert rig.kinds(run_id)[-2:] == ["run.dead", "run.discarded"]


# ── quarantine ──────────────────────────────────────────────


async def test_five_deaths_in_a_row_quarantine_a_job(rig: Rig) -> None:
    job = await rig.add()
    for n in range(4):
        await rig.died(*await rig.claimed(job.id, T0 - n - 1))
    assert (await rig.store.job(ADA, "backup")).state == "failed"
    waiting = await rig.scheduled(job.id, T0 + MINUTE)
    await rig.died(*await rig.claimed(job.id, T0))
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.paused, shown.quarantined, shown.paused_by) == ("paused", True, True, "jobd")
    assert str(shown.paused_why).startswith("quarantined: 5 dead letters in a row")
    assert (await rig.store.counts(ADA, T0)).quarantined == 1
    assert await rig.states(*waiting) == ["scheduled"]
    assert await rig.store.next_wake(T0) is None
    assert [kind for kind in rig.kinds() if kind.startswith("job.")] == ["job.created", "job.quarantined"]


async def test_a_success_in_between_begins_a_new_row(rig: Rig) -> None:
    job = await rig.add()
    for n in range(4):
        await rig.died(*await rig.claimed(job.id, T0 - n - 1))
    await rig.finished(job.id, T0 - 10)
    for n in range(4):
        await rig.died(*await rig.claimed(job.id, T0 - n - 20))
    assert not (await rig.store.job(ADA, "backup")).quarantined
    await rig.finished(job.id, T0 - 30, state=RunState.FAILED)
    await rig.died(*await rig.claimed(job.id, T0 - 31))
    assert (await rig.store.job(ADA, "backup")).quarantined


async def test_deaths_that_are_recorded_together_quarantine_once(rig: Rig) -> None:
    job = await rig.add()
    await rig.died(*await rig.claimed(job.id, *range(T0 - 9, T0)))
    assert rig.kinds().count("job.quarantined") == 1
    assert str((await rig.store.job(ADA, "backup")).paused_why).startswith("quarantined: 5 dead letters")


async def test_deaths_before_a_success_of_the_same_batch_are_of_the_row_before(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 2, T0 - 1)
    dead = ended(one, T0, RunState.DEAD, fingerprint="f00d")
    await rig.store.finish([dead, ended(two, T0)], T0)
    for n in range(4):
        await rig.died(*await rig.claimed(job.id, T0 - n - 10))
    assert not (await rig.store.job(ADA, "backup")).quarantined


async def test_a_resume_releases_a_quarantined_job_and_counts_anew(rig: Rig) -> None:
    job = await rig.add()
    await rig.died(*await rig.claimed(job.id, *range(T0 - 5, T0)))
    assert await rig.resume(job.id)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.state, shown.quarantined, shown.paused_why, shown.dead) == ("failed", False, None, 5)
    await rig.died(*await rig.claimed(job.id, *range(T0 - 9, T0 - 5)))
    assert not (await rig.store.job(ADA, "backup")).quarantined
    await rig.died(*await rig.claimed(job.id, T0))
    assert (await rig.store.job(ADA, "backup")).quarantined


async def test_a_job_that_is_resumed_in_a_paused_queue_is_quarantined_no_more(rig: Rig) -> None:
    job = await rig.add()
    await rig.died(*await rig.claimed(job.id, *range(T0 - 5, T0)))
    await rig.hold("queue", job.id)
    assert not await rig.resume(job.id)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.quarantined, shown.paused, shown.suspended_by) == (False, False, "queue")
    await rig.let_go("queue", job.id)
    assert not (await rig.store.job(ADA, "backup")).quarantined


async def test_what_is_asked_for_by_hand_runs_in_quarantine_and_changes_nothing_of_it(rig: Rig) -> None:
    job = await rig.add()
    await rig.died(*await rig.claimed(job.id, *range(T0 - 5, T0)))
    before = await rig.store.job(ADA, "backup")
    for state in (RunState.DEAD, RunState.SUCCEEDED):
        await rig.by_hand(job.id)
        await rig.look()
        await rig.finish(*await rig.claim(), state=state)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.quarantined, shown.paused_since, shown.paused_why) == (True, before.paused_since, before.paused_why)
    assert rig.kinds().count("job.quarantined") == 1


async def test_a_job_that_is_paused_already_is_not_quarantined_as_well(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 5, T0))
    await rig.pause(job.id)
    await rig.died(*claims)
    shown = await rig.store.job(ADA, "backup")
    assert (shown.quarantined, shown.paused_by) == (False, "ada")


# ── finding them ──────────────────────────────────────────────


async def test_pages_hold_every_dead_letter_once_with_the_newest_death_first(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    ids = []
    for n in range(7):
        rig.now_ms = T0 + n // 2
        ids += await rig.dead((job, other)[n % 2].id, T0 - n)
    for limit in (1, 2, 3, 10):
        assert await every(rig, DeadFilter(limit=limit)) == ids[::-1]
    assert await every(rig, DeadFilter(), BOB) == []
    assert await every(rig, DeadFilter(), ROOT) == ids[::-1]


async def test_dead_letters_are_filtered_by_everything_that_is_known_of_them(rig: Rig) -> None:
    job, other = await rig.add(spec("db-backup")), await rig.add(spec("mail"), owner=BOB)
    (one,) = await rig.dead(job.id, T0 - 9, fingerprint="a1", error="No space left")
    rig.now_ms = T0 + MINUTE
    (two,) = await rig.dead(job.id, T0 - 8, fingerprint="b2", failure_class=FailureClass.OOM, reason="out of memory",
                            error=None)  # fmt: skip
    rig.now_ms = T0 + 2 * MINUTE
    (three,) = await rig.dead(other.id, T0 - 7, fingerprint="a1", error="no Space left")
    for wanted, ids in (
        (DeadFilter(), [three, two, one]),
        (DeadFilter(job_id=job.id), [two, one]),
        (DeadFilter(failure_class=FailureClass.OOM), [two]),
        (DeadFilter(fingerprint="a1"), [three, one]),
        (DeadFilter(fingerprint="a1", job_id=job.id), [one]),
        (DeadFilter(q=parse("SPACE")), [three, one]),
        (DeadFilter(q=parse("db-")), [two, one]),
        (DeadFilter(q=parse("memory")), [two]),
        (DeadFilter(q=parse("%")), []),
        (DeadFilter(since_ms=T0 + MINUTE), [three, two]),
        (DeadFilter(until_ms=T0 + MINUTE), [one]),
        (DeadFilter(since_ms=T0 + 1, until_ms=T0 + 2 * MINUTE), [two]),
        (DeadFilter(ids=(three, one, 999)), [three, one]),
        (DeadFilter(ids=()), []),
    ):
        assert await every(rig, wanted, ROOT) == ids, wanted
    assert await every(rig, DeadFilter(ids=(one, three)), BOB) == [three]


async def test_runs_are_listed_with_the_dead_among_them(rig: Rig) -> None:
    job = await rig.add()
    (good,) = await rig.finished(job.id, T0 - 2)
    (dead,) = await rig.dead(job.id, T0 - 1)
    assert [run.id for run in await rig.runs()] == [dead, good]
    assert [run.id for run in await rig.runs(states=(RunState.DEAD,))] == [dead]
    assert [run.id for run in (await rig.store.runs(ADA, RunFilter(job_id=job.id)))[0]] == [dead, good]


async def test_dead_letters_with_one_cause_are_a_group(rig: Rig) -> None:
    job, other = await rig.add(spec("b")), await rig.add(spec("a"))
    rig.now_ms = T0 + 1
    await rig.dead(job.id, T0 - 1, fingerprint="a1", reason="exit 1", error="first words")
    rig.now_ms = T0 + 5
    (middle,) = await rig.dead(other.id, T0 - 2, fingerprint="a1", reason="exit 2", error="newest words")
    rig.now_ms = T0 + 3
    await rig.dead(job.id, T0 - 3, fingerprint="a1", reason="exit 3", error="words between")
    (alone,) = await rig.dead(job.id, T0 - 4, fingerprint="b2", failure_class=FailureClass.OOM)
    big, small = await rig.store.dead_groups(ADA, DeadFilter())
    assert (big.fingerprint, big.count, big.jobs, big.newest_run_id) == ("a1", 3, ["a", "b"], middle)
    assert (big.reason, big.error, big.failure_class) == ("exit 2", "newest words", FailureClass.EXIT_CODE)
    assert (big.first_at, big.last_at, big.replays) == ("2027-01-15T08:00:00.001Z", "2027-01-15T08:00:00.005Z", 0)
    assert (small.fingerprint, small.count, small.newest_run_id) == ("b2", 1, alone)
    assert small.failure_class is FailureClass.OOM
    assert await rig.store.dead_groups(ADA, DeadFilter(limit=1)) == [big]
    assert await rig.store.dead_groups(ADA, DeadFilter(fingerprint="b2")) == [small]
    assert await rig.store.dead_groups(BOB, DeadFilter()) == []


async def test_a_group_names_ten_of_its_jobs(rig: Rig) -> None:
    for n in range(12):
        await rig.dead((await rig.add(spec(f"job-{n:02}"))).id)
    (group,) = await rig.store.dead_groups(ADA, DeadFilter())
    assert (group.count, group.jobs) == (12, [f"job-{n:02}" for n in range(10)])


async def test_a_group_says_how_often_it_was_replayed_and_died_again(rig: Rig) -> None:
    job = await rig.add()
    one, _ = await rig.dead(job.id, T0 - 1, T0)
    await rig.replay(one)
    await rig.look()
    await rig.died(*await rig.claim())
    (group,) = await rig.store.dead_groups(ADA, DeadFilter())
    assert (group.count, group.replays) == (2, 1)


async def test_counts_tell_of_the_dead_and_of_the_newest(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"), owner=BOB)
    counts = await rig.store.counts(None, T0)
    assert (counts.dead, counts.newest_dead_ms) == (0, None)
    await rig.dead(job.id, T0 - 1)
    rig.now_ms = T0 + 9
    await rig.dead(other.id, T0)
    counts = await rig.store.counts(None, T0)
    assert (counts.dead, counts.newest_dead_ms, counts.failed) == (2, T0 + 9, 2)
    mine = await rig.store.counts(ADA, T0)
    assert (mine.dead, mine.newest_dead_ms) == (1, T0)


# ── how they go ──────────────────────────────────────────────


async def test_a_discarded_letter_is_history_with_who_and_why_and_how_it_failed(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.dead(job.id, T0 - 1, T0)
    rig.now_ms = T0 + 9
    assert await rig.store.discard(ADA, DeadFilter(ids=(one, 999)), "ada", "known", rig.now_ms) == [one]
    run = await rig.store.run(ADA, one)
    assert (run.state, run.outcome, run.reason) == (
        "discarded", "exit_code", "discarded by ada: known; it had failed: exit 3",
    )  # fmt: skip
    assert (run.error, run.fingerprint, run.exit_code, run.finished_at) == (
        "no space left", "f00d", 3, "2027-01-15T08:00:00.009Z",
    )  # fmt: skip
    assert await every(rig, DeadFilter()) == [two]
    assert rig.kinds(one)[-1] == "run.discarded"
    assert len(await rig.store.attempts(ADA, one)) == 1
    with pytest.raises(Conflict):
        await rig.store.cancel(ADA, one, "ada", T0)


async def test_a_discard_takes_what_matches_up_to_its_limit_the_oldest_first(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"), owner=BOB)
    ids = []
    for n in range(4):
        rig.now_ms = T0 + n
        ids += await rig.dead(job.id, T0 - n)
    await rig.dead(other.id, T0)
    assert await rig.store.discard(ADA, DeadFilter(limit=3), "ada", None, T0) == ids[:3]
    assert await rig.store.discard(ADA, DeadFilter(q=parse("nothing")), "ada", None, T0) == []
    assert await rig.store.discard(ROOT, DeadFilter(job_id=job.id), "root", None, T0) == ids[3:]
    assert (await rig.store.counts(None, T0)).dead == 1


async def test_a_discarded_run_does_not_run_again(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id, T0)
    await rig.store.discard(ADA, DeadFilter(ids=(run_id,)), "ada", None, T0)
    assert (await rig.replay(run_id)).replayed == []
    assert await rig.scheduled(job.id, T0) == []


async def test_a_dead_letter_of_others_is_not_discarded(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    assert await rig.store.discard(BOB, DeadFilter(ids=(run_id,)), "bob", None, T0) == []
    assert await rig.state(run_id) == "dead"


async def test_a_job_that_is_removed_goes_when_its_last_letter_has_gone(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    await rig.store.delete_job(ADA, job.id, T0)
    await rig.prune(T0 + 89 * DAY)
    assert await rig.state(run_id) == "dead"
    await rig.prune(T0 + 91 * DAY)
    run = await rig.store.run(ADA, run_id)
    assert (run.state, run.reason) == ("discarded", "discarded after 90 days; it had failed: exit 3")
    await rig.prune(T0 + 182 * DAY)
    assert await rig.runs() == []
    for table in ("jobs", "schedule_versions", "cursors", "last_runs", "streaks", "dependents"):
        assert await rig.rows(f"SELECT * FROM {table}") == [], table
