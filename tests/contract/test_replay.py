"""Dead letters run again: under the same id and key, with a higher fence, and each of them once."""

from itertools import pairwise

import pytest

from jobctl.errors import Conflict
from jobctl.model import Execution, PutBack
from jobctl.states import FailureClass, OnFailure, Overlap, RunState
from jobctl.wire import rfc3339
from jobctl_daemon.rows import DeadFilter, Replay
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, request, spec

KEY = {"verb": "replay"}


async def run_one(rig: Rig, state: RunState = RunState.SUCCEEDED) -> int:
    """The one run that can be claimed, to its end."""
    await rig.look()
    (claim,) = await rig.claim()
    if state is RunState.DEAD:
        await rig.died(claim)
    else:
        await rig.finish(claim, state=state)
    return claim.run_id


async def of_turn(rig: Rig) -> list[int]:
    """The runs that wait for their turn in a replay."""
    return [row["id"] for row in await rig.rows("SELECT id FROM runs WHERE waits = 2 ORDER BY id")]


# ── one ──────────────────────────────────────────────


async def test_a_replay_runs_the_same_run_under_its_key_with_a_higher_fence(rig: Rig) -> None:
    job = await rig.add()
    (first,) = await rig.claimed(job.id, T0)
    await rig.died(first)
    before = await rig.store.run(ADA, first.run_id)
    rig.now_ms = T0 + MINUTE
    replayed = await rig.replay(first.run_id)
    assert (replayed.replayed, replayed.skipped) == ([first.run_id], [])
    run = await rig.store.run(ADA, first.run_id)
    assert (run.state, run.key, run.fence, run.attempt, run.replays) == (
        "scheduled", before.key, before.fence, before.attempt, 1,
    )  # fmt: skip
    assert (run.finished_at, run.error, run.fingerprint, run.exit_code) == (None, None, None, None)
    assert (run.scheduled_at, run.due_at) == (before.scheduled_at, "2027-01-15T08:01:00Z")
    await rig.look()
    (second,) = await rig.claim()
    assert (second.run_id, second.key, second.attempt) == (first.run_id, first.key, 2)
    assert second.fence > first.fence
    assert (await rig.finish(first))[0].answer == "stale"
    await rig.finish(second)
    run = await rig.store.run(ADA, first.run_id)
    assert (run.state, run.attempt, run.replays, run.outcome) == ("succeeded", 2, 1, "ok")
    assert len(await rig.store.attempts(ADA, first.run_id)) == 2
    assert [kind for kind in rig.kinds(first.run_id) if kind.startswith("run.")] == [
        "run.scheduled", "run.ready", "run.running", "run.dead",
        "run.replayed", "run.ready", "run.running", "run.succeeded",
    ]  # fmt: skip
    assert await rig.scheduled(job.id, T0) == []


async def test_a_replay_that_dies_again_is_the_same_letter_and_is_counted(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    fences = [(await rig.store.run(ADA, run_id)).fence]
    for n in range(3):
        await rig.replay(run_id)
        await run_one(rig, RunState.DEAD)
        run = await rig.store.run(ADA, run_id)
        assert (run.state, run.replays, run.attempt) == ("dead", n + 1, n + 2)
        fences.append(run.fence)
    assert all((one or 0) < (two or 0) for one, two in pairwise(fences))
    assert (await rig.store.counts(ADA, T0)).dead == 1


async def test_a_replay_has_fresh_budgets(rig: Rig) -> None:
    job = await rig.add(spec(retries=1, lost_retries=1))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, T0)
    (claim,) = await rig.claim()
    await rig.retrying(claim, T0, counted="lost", probe=True)
    (claim,) = await rig.claim()
    await rig.store.returned([(claim.run_id, claim.fence)], 5, T0, "its daemon died")
    (claim,) = await rig.claim()
    await rig.died(claim)
    await rig.replay(claim.run_id)
    await rig.look()
    (again,) = await rig.claim()
    (effort,) = await rig.store.efforts([again.run_id])
    assert (effort.failures, effort.losses, effort.probe, effort.attempt) == (0, 0, False, 4)
    assert (await rig.row(again.run_id))["returns"] == 0


async def test_a_replay_runs_what_was_recorded(rig: Rig) -> None:
    job = await rig.add(spec(shell="old"))
    (run_id,) = await rig.dead(job.id)
    await rig.edit(job.id, execution=Execution(shell="new"), queue="db", priority=3)
    await rig.replay(run_id)
    await rig.look()
    (claim,) = await rig.claim()
    assert (claim.execution.shell, claim.version) == ("old", 1)
    row = await rig.row(run_id)
    assert (row["queue"], row["priority"]) == ("db", 3)


async def test_a_replay_with_the_current_definition_runs_that(rig: Rig) -> None:
    job = await rig.add(spec(shell="old"))
    (run_id,) = await rig.dead(job.id)
    await rig.edit(job.id, execution=Execution(shell="new"))
    await rig.replay(run_id, current=True)
    await rig.look()
    (claim,) = await rig.claim()
    assert (claim.execution.shell, claim.version) == ("new", 2)
    assert (await rig.store.work(ADA, run_id)).shell == "new"


async def test_an_edited_replay_runs_the_edit_this_time_and_is_shown_with_it(rig: Rig) -> None:
    job = await rig.add(spec(shell="old"))
    (run_id,) = await rig.dead(job.id)
    await rig.replay(run_id, execution=Execution(shell="edited", stdin="x"))
    await rig.look()
    (claim,) = await rig.claim()
    assert (claim.execution.shell, claim.execution.stdin, claim.version) == ("edited", "x", 1)
    await rig.died(claim)
    assert (await rig.store.work(ADA, run_id)).shell == "edited"
    assert (await rig.store.spec(ADA, job.id)).execution.shell == "old"
    (other,) = await rig.claimed(job.id, T0 - 1)
    assert other.execution.shell == "old"
    await rig.replay(run_id, current=True)
    await rig.look()
    (claim,) = await rig.claim()
    assert claim.execution.shell == "old"
    await rig.finish(claim)
    assert (await rig.store.work(ADA, run_id)).shell == "old"


async def test_a_replay_of_a_deleted_job_runs_as_recorded(rig: Rig) -> None:
    job = await rig.add(spec(on_failure=OnFailure.DEAD))
    (run_id,) = await rig.dead(job.id)
    await rig.store.delete_job(ADA, job.id, T0)
    await rig.replay(run_id)
    await rig.look()
    (claim,) = await rig.claim()
    assert claim.execution.shell == "true"
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "no runner")
    (claim,) = await rig.claim()
    await rig.retrying(claim, fingerprint="f00d")
    assert await rig.state(run_id) == "dead"
    await rig.replay(run_id)
    await run_one(rig)
    assert await rig.state(run_id) == "succeeded"


async def test_a_replay_that_is_waiting_may_be_cancelled_for_good(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    await rig.replay(run_id)
    assert (await rig.store.cancel(ADA, run_id, "ada", T0)).run.state == "cancelled"
    assert (await rig.replay(run_id)).skipped == [{"id": run_id, "reason": "it is no dead letter: cancelled"}]


async def test_the_success_of_a_replay_is_the_recovery_of_its_job(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    await rig.replay(run_id)
    await run_one(rig)
    assert (await rig.store.job(ADA, "backup")).state == "ok"
    assert rig.kinds()[-1] == "job.recovered"


async def test_a_replayed_one_shot_is_done_when_it_has_succeeded(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    (run_id,) = await rig.dead(job.id)
    await rig.replay(run_id)
    await run_one(rig)
    assert (await rig.store.job(ADA, str(job.id))).state == "done"


# ── which ──────────────────────────────────────────────


async def test_what_is_no_dead_letter_is_named_with_what_it_is(rig: Rig) -> None:
    job, theirs = await rig.add(), await rig.add(spec("theirs"), owner=BOB)
    (dead,) = await rig.dead(job.id, T0 - 9)
    (good,) = await rig.finished(job.id, T0 - 8)
    (running,) = await rig.claimed(job.id, T0 - 7)
    (other,) = await rig.dead(theirs.id, T0 - 6)
    replayed = await rig.replay(dead, good, running.run_id, other, 999)
    assert replayed.replayed == [dead]
    assert replayed.skipped == [
        {"id": good, "reason": "it is no dead letter: succeeded"},
        {"id": running.run_id, "reason": "it is active: running"},
        {"id": other, "reason": "there is no such run"},
        {"id": 999, "reason": "there is no such run"},
    ]
    assert await rig.states(good, running.run_id, other) == ["succeeded", "running", "dead"]


async def test_a_filter_takes_what_matches_up_to_its_limit_the_oldest_death_first(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    ids = []
    for n in range(5):
        rig.now_ms = T0 + n
        ids += await rig.dead(job.id, T0 - n, fingerprint="a1")
    (apart,) = await rig.dead(other.id, T0, fingerprint="b2", failure_class=FailureClass.OOM)
    wanted = DeadFilter(fingerprint="a1", limit=3)
    replayed = await rig.store.replay(ADA, wanted, Replay(by="ada"), rig.now_ms, None)
    assert (replayed.replayed, replayed.skipped) == (ids[:3], [])
    assert await rig.states(*ids, apart) == ["scheduled"] * 3 + ["dead"] * 3
    nothing = await rig.store.replay(BOB, DeadFilter(), Replay(by="bob"), rig.now_ms, None)
    assert nothing.replayed == []
    rest = await rig.store.replay(ROOT, DeadFilter(), Replay(by="root"), rig.now_ms, None)
    assert rest.replayed == [*ids[3:], apart]


async def test_hundred_letters_are_replayed_each_once(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 100, T0))
    await rig.died(*claims)
    replayed = await rig.replay(request=request(**KEY))
    assert sorted(replayed.replayed) == sorted(claim.run_id for claim in claims)
    assert await rig.replay(request=request(**KEY)) == replayed
    await rig.look()
    again = await rig.claim(1000)
    assert len(again) == 100
    await rig.finish(*again)
    assert await rig.replay(request=request(**KEY)) == replayed
    assert (await rig.store.counts(ADA, T0)).dead == 0
    assert rig.kinds().count("run.replayed") == rig.kinds().count("run.succeeded") == 100


# ── the key of the request ──────────────────────────────────────────────


async def test_the_same_key_does_nothing_more_and_answers_the_same(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.dead(job.id, T0 - 1, T0)
    replayed = await rig.replay(one, 999, request=request(**KEY))
    assert await rig.replay(one, 999, request=request(**KEY)) == replayed
    await run_one(rig, RunState.DEAD)
    assert await rig.replay(one, 999, request=request(**KEY)) == replayed
    assert await rig.states(one, two) == ["dead", "dead"]
    assert (await rig.store.run(ADA, one)).replays == 1
    with pytest.raises(Conflict, match="key-1"):
        await rig.replay(two, request=request(body="another", **KEY))
    assert (await rig.replay(two, owner=ROOT, request=request(**KEY))).batch != replayed.batch
    assert (await rig.replay(one, request=request("key-2", **KEY))).replayed == [one]


async def test_a_replay_that_is_refused_does_not_use_up_its_key(rig: Rig) -> None:
    job = await rig.add()
    one, _ = await rig.dead(job.id, T0 - 1, T0)
    for _ in range(2):
        await rig.replay(one)
        await run_one(rig, RunState.DEAD)
    with pytest.raises(Conflict):
        await rig.replay(request=request(**KEY))
    assert len((await rig.replay(request=request(**KEY), force=True)).replayed) == 2


async def test_the_answer_of_a_replay_is_kept_as_long_as_its_key(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.dead(job.id)
    replayed = await rig.replay(run_id, request=request(**KEY))
    await rig.prune(T0 + 30 * DAY)
    assert await rig.replay(run_id, request=request(**KEY)) == replayed
    await rig.prune(T0 + 30 * DAY + 1)
    assert (await rig.replay(run_id, request=request(**KEY))).replayed == []


# ── what dies again and again ──────────────────────────────────────────────


async def test_several_letters_of_a_failure_that_has_died_twice_again_need_force(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.dead(job.id, *range(T0 - 4, T0), fingerprint="a1")
    (apart,) = await rig.dead(job.id, T0, fingerprint="b2")
    for run_id in ids[:2]:
        await rig.replay(run_id)
        await rig.look()
        await rig.died(*await rig.claim(), fingerprint="a1")
    with pytest.raises(Conflict, match="died again 2 times") as caught:
        await rig.replay()
    assert caught.value.details["fingerprint"] == "a1"
    assert await rig.states(*ids, apart) == ["dead"] * 5
    assert (await rig.replay(ids[0])).replayed == ids[:1]
    assert (await rig.replay(ids[3], apart)).replayed == [ids[3], apart]
    assert (await rig.replay(force=True)).replayed == ids[1:3]


# ── pace ──────────────────────────────────────────────


async def test_a_pace_spreads_the_starts(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.dead(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.replay(pace_ms=10_000)
    rows = await rig.rows("SELECT id, due_ms FROM runs ORDER BY id")
    assert [(row["id"], row["due_ms"]) for row in rows] == [(ids[n], T0 + n * 10_000) for n in range(3)]
    await rig.look()
    assert [claim.run_id for claim in await rig.claim()] == ids[:1]
    assert await rig.store.next_wake(T0) == T0 + 10_000


# ── one after another ──────────────────────────────────────────────


async def test_in_turn_the_next_starts_when_the_last_has_succeeded(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    ids = [*await rig.dead(job.id, T0 - 3, T0 - 2), *await rig.dead(other.id, T0 - 1)]
    await rig.replay(stop_on_failure=True)
    for n, run_id in enumerate(ids):
        assert await of_turn(rig) == ids[n + 1 :]
        assert await rig.store.next_wake(T0) is None
        assert await run_one(rig) == run_id
        await rig.check()
    assert await rig.states(*ids) == ["succeeded"] * 3
    assert "waits for its turn" not in str((await rig.store.run(ADA, ids[2])).reason)


async def test_what_waits_for_its_turn_says_so(rig: Rig) -> None:
    job = await rig.add()
    _, two = await rig.dead(job.id, T0 - 3, T0 - 2)
    await rig.replay(stop_on_failure=True)
    run = await rig.store.run(ADA, two)
    assert (run.state, run.reason) == ("scheduled", "waits for its turn in the replay")
    assert await rig.store.wake_waiting() == 0
    assert (await rig.store.counts(ADA, T0)).scheduled == 2


async def test_in_turn_with_a_pace_the_next_starts_so_much_later(rig: Rig) -> None:
    job = await rig.add()
    _, two = await rig.dead(job.id, T0 - 3, T0 - 2)
    await rig.replay(stop_on_failure=True, pace_ms=10_000)
    rig.now_ms = T0 + MINUTE
    await run_one(rig)
    assert (await rig.row(two))["due_ms"] == rig.now_ms + 10_000
    await rig.look()
    assert await rig.claim() == []
    assert await rig.store.next_wake(rig.now_ms) == rig.now_ms + 10_000


@pytest.mark.parametrize("state", [RunState.DEAD, RunState.FAILED])
async def test_in_turn_the_rest_is_put_back_when_one_fails_for_good(rig: Rig, state: RunState) -> None:
    job = await rig.add()
    ids = await rig.dead(job.id, *range(T0 - 4, T0))
    await rig.replay(stop_on_failure=True)
    await run_one(rig)
    if state is RunState.FAILED:
        await rig.policies(job.id, on_failure=OnFailure.RECORD)
    await run_one(rig, state)
    assert await rig.states(*ids) == ["succeeded", state, "dead", "dead"]
    runs = [await rig.store.run(ADA, run_id) for run_id in ids[2:]]
    assert [(run.replays, run.error, run.fingerprint, run.reason) for run in runs] == [
        (0, "no space left", "f00d", "exit 3"),
    ] * 2
    assert rig.kinds(ids[3])[-2:] == ["run.replayed", "run.dead"]
    event = [event for event in rig.events if event.run_id == ids[3]][-1]
    assert event.data["put_back"] == f"run {ids[1]} failed again"
    assert [run.put_back for run in runs] == [PutBack(at=rfc3339(rig.now_ms), run=ids[1])] * 2
    assert [run.finished_at for run in runs] == [rfc3339(rig.now_ms)] * 2
    assert (await rig.replay(ids[3])).replayed == [ids[3]]
    assert (await rig.store.run(ADA, ids[3])).put_back is None
    assert await run_one(rig) == ids[3]


async def test_in_turn_a_retry_keeps_the_turn(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.dead(job.id, T0 - 3, T0 - 2)
    await rig.replay(stop_on_failure=True)
    await rig.look()
    (claim,) = await rig.claim()
    await rig.retrying(claim, T0)
    assert await of_turn(rig) == [two]
    assert await run_one(rig) == one
    assert await run_one(rig) == two


@pytest.mark.parametrize("stage", ["scheduled", "ready", "running", "given back"])
async def test_in_turn_one_that_is_cancelled_passes_the_turn_on(rig: Rig, stage: str) -> None:
    job = await rig.add()
    one, two, three = await rig.dead(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.replay(stop_on_failure=True)
    if stage != "scheduled":
        await rig.look()
    claims = await rig.claim() if stage in ("running", "given back") else []
    await rig.store.cancel(ADA, one, "ada", T0)
    if stage == "running":
        await rig.finish(*claims, state=RunState.CANCELLED)
    if stage == "given back":
        await rig.store.unclaim([(one, claims[0].fence)], T0, T0, "no runner")
    assert await rig.state(one) == "cancelled"
    assert await of_turn(rig) == [three]
    assert [await run_one(rig), await run_one(rig)] == [two, three]


@pytest.mark.parametrize("stage", ["ready", "running", "retrying"])
async def test_in_turn_one_that_is_cancelled_before_its_turn_passes_nothing_on(rig: Rig, stage: str) -> None:
    job = await rig.add()
    one, two, three, four = await rig.dead(job.id, *range(T0 - 4, T0))
    await rig.replay(stop_on_failure=True)
    await rig.look()
    if stage != "ready":
        (claim,) = await rig.claim()
        if stage == "retrying":
            await rig.retrying(claim, T0)
    await rig.store.cancel(ADA, three, "ada", T0)
    assert await of_turn(rig) == [two, four]
    await rig.check()
    if stage != "running":
        (claim,) = await rig.claim()
    await rig.finish(claim)
    assert await of_turn(rig) == [four]
    assert [await run_one(rig), await run_one(rig)] == [two, four]
    assert await rig.states(one, three) == ["succeeded", "cancelled"]


async def test_in_turn_the_turn_passes_over_a_job_that_is_removed(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    one, two = await rig.dead(job.id, T0 - 4, T0 - 3)
    (three,) = await rig.dead(other.id, T0 - 2)
    await rig.replay(stop_on_failure=True)
    await rig.look()
    await rig.store.delete_job(ADA, job.id, T0)
    assert await rig.states(one, two, three) == ["cancelled", "cancelled", "scheduled"]
    assert await of_turn(rig) == []
    assert await run_one(rig) == three


async def test_in_turn_the_turn_is_kept_where_its_job_has_no_room(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.SKIP))
    one, two = await rig.dead(job.id, T0 - 4, T0 - 3)
    (claim,) = await rig.claimed(job.id, T0)
    await rig.replay(stop_on_failure=True)
    await rig.look()
    assert await rig.claim() == []
    await rig.check()
    await rig.finish(claim)
    assert [await run_one(rig), await run_one(rig)] == [one, two]


async def test_without_stopping_each_goes_its_own_way(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.dead(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.replay()
    await rig.look()
    one, two, three = await rig.claim()
    await rig.died(two)
    await rig.finish(one, three)
    assert await rig.states(*ids) == ["succeeded", "dead", "succeeded"]


async def test_two_replays_beside_each_other_do_not_mix(rig: Rig) -> None:
    job = await rig.add()
    one, two, three, four = await rig.dead(job.id, *range(T0 - 4, T0))
    first = await rig.replay(one, two, stop_on_failure=True)
    second = await rig.replay(three, four, stop_on_failure=True)
    assert first.batch != second.batch
    await rig.look()
    mine, theirs = await rig.claim()
    await rig.died(mine)
    assert await rig.states(two, four) == ["dead", "scheduled"]
    await rig.finish(theirs)
    assert await run_one(rig) == four


async def test_what_is_put_back_makes_room_as_every_dead_letter_does(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    (first,) = await rig.dead(other.id, T0)
    rig.now_ms = T0 + 1
    claims = await rig.claimed(job.id, *range(T0 - 90, T0 - 30))
    await rig.died(*claims)
    await rig.replay(stop_on_failure=True)
    await rig.resume(job.id)
    rig.now_ms = T0 + 2
    await rig.look()
    held = await rig.claim()
    await rig.died(*await rig.claimed(job.id, *range(T0 - 200, T0 - 100)))
    (turn,) = [claim for claim in held if claim.run_id == first]
    await rig.died(turn)
    assert len(await rig.rows("SELECT id FROM runs WHERE job_id = ? AND state = 'dead'", job.id)) == 100
    left = await rig.rows("SELECT count(*) AS n FROM history WHERE state = 'discarded'")
    assert left == [{"n": 60}]


async def test_the_oldest_deaths_make_room_whatever_the_age_of_their_runs(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 100, T0))
    await rig.died(*claims)
    await rig.resume(job.id)
    ids = sorted(claim.run_id for claim in claims)
    rig.now_ms = T0 + 1
    await rig.replay(ids[0])
    await run_one(rig, RunState.DEAD)
    rig.now_ms = T0 + 2
    await rig.dead(job.id, T0 + 2)
    assert await rig.states(ids[0], ids[1], ids[2]) == ["dead", "discarded", "dead"]
