"""Running → final: at most one accepted finish for a fence, an answer for each row, one bad row alone."""

import asyncio

import msgspec
import pytest

from jobctl.states import FailureClass, OnFailure, RunState
from jobctl_daemon.rows import StartedAttempt
from kit.stores import ADA, MINUTE, ROOT, T0, Rig, ended, spec


async def test_a_finish_moves_the_run_to_history_with_all_its_facts(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.begun(claim)
    facts = {
        "exit_code": None,
        "signal": 9,
        "failure_class": FailureClass.SIGNAL,
        "outcome": "signal",
        "reason": "ended by signal 9",
        "detail": "x",
        "cpu_ms": 1500,
        "max_rss_kb": 10,
        "log_size": 100,
        "log_dropped_from": 20,
        "log_dropped_to": 50,
        "signals": ((T0, "TERM"),),
        "left_behind": (77,),
        "started_ms": None,
    }
    rig.now_ms = T0 + 5
    (verdict,) = await rig.finish(claim, state=RunState.FAILED, **facts)
    assert (verdict.run_id, verdict.fence, verdict.answer) == (claim.run_id, claim.fence, "ok")
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.outcome, run.failure_class, run.signal) == ("failed", "signal", FailureClass.SIGNAL, 9)
    assert (run.started_at, run.finished_at) == ("2027-01-15T08:00:00Z", "2027-01-15T08:00:00.005Z")
    (attempt,) = await rig.store.attempts(ADA, claim.run_id)
    assert (attempt.pid, attempt.cpu, attempt.max_rss, attempt.log_size) == (4711, 1.5, 10240, 100)
    assert (attempt.log_dropped, attempt.left_behind, attempt.detail) == (30, [77], "x")
    assert attempt.signals == [["2027-01-15T08:00:00Z", "TERM"]]
    assert await rig.store.running() == []
    assert rig.kinds(claim.run_id)[-1] == "run.failed"


async def test_the_same_finish_twice_is_accepted_once(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    assert [verdict.answer for verdict in await rig.finish(claim, claim)] == ["ok", "stale"]
    assert (await rig.finish(claim, state=RunState.FAILED))[0].answer == "stale"
    assert await rig.state(claim.run_id) == "succeeded"
    assert rig.kinds(claim.run_id).count("run.succeeded") == 1


async def test_of_two_results_of_a_run_that_dies_the_second_is_stale_and_not_of_nobody(rig: Rig) -> None:
    """A dead letter is not in the history yet, where the end of any other run is known from."""
    job = await rig.add(spec(on_failure=OnFailure.DEAD))
    (claim,) = await rig.claimed(job.id, T0)
    failed = {"failure_class": FailureClass.EXIT_CODE, "outcome": "exit_code", "exit_code": 1}
    verdicts = await rig.finish(claim, claim, state=RunState.DEAD, **failed)
    assert [verdict.answer for verdict in verdicts] == ["ok", "stale"]
    assert await rig.state(claim.run_id) == "dead"


@pytest.mark.case("F067")
async def test_concurrent_finishes_are_accepted_once(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    answers = await asyncio.gather(*(rig.finish(claim) for _ in range(5)))
    assert sorted(verdict.answer for (verdict,) in answers) == ["ok", "stale", "stale", "stale", "stale"]


async def test_each_row_has_its_own_answer_in_order(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    results = [
        msgspec.structs.replace(ended(one, T0), fence=one.fence - 1),
        msgspec.structs.replace(ended(one, T0), run_id=999),
        ended(two, T0),
        ended(one, T0),
    ]
    verdicts = await rig.store.finish(results, T0)
    assert [verdict.answer for verdict in verdicts] == ["stale", "missing", "ok", "ok"]


@pytest.mark.case("F067")
async def test_an_attempt_that_lost_its_claim_changes_nothing_any_more(rig: Rig) -> None:
    job = await rig.add()
    (first,) = await rig.claimed(job.id, T0)
    assert await rig.store.unclaim([(first.run_id, first.fence)], T0, T0, "its daemon was stopped") == 1
    (second,) = await rig.claim()
    old = (first.run_id, first.fence)
    before = len(rig.events)

    assert (await rig.finish(first))[0].answer == "stale"
    assert (await rig.finish(first, state=RunState.FAILED))[0].answer == "stale"
    assert await rig.store.unclaim([old], T0, T0, "late") == 0
    assert await rig.store.returned([old], 1, T0, "late") == []
    late = StartedAttempt(run_id=old[0], fence=old[1], pid=4711, pid_start=1, runner="r", started_ms=T0)
    await rig.store.started([late])

    assert len(rig.events) == before
    (attempt,) = await rig.store.attempts(ADA, second.run_id)
    assert (attempt.fence, attempt.pid) == (second.fence, None)
    assert (await rig.finish(second, state=RunState.FAILED, exit_code=3))[0].answer == "ok"
    assert await rig.state(second.run_id) == "failed"


@pytest.mark.case("F070")
async def test_a_run_that_is_not_running_is_not_finished(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0, T0, "x")
    assert (await rig.finish(claim))[0].answer == "stale"
    assert (await rig.store.finish([msgspec.structs.replace(ended(claim, T0), fence=0)], T0))[0].answer == "stale"


@pytest.mark.parametrize("bad", [{"outcome": "\ud800"}, {"exit_code": 1 << 80}, {"state": RunState.READY}])
async def test_a_bad_finish_harms_itself_alone(rig: Rig, bad: dict[str, object]) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, T0 - 2, T0 - 1, T0)
    results = [ended(claim, T0) for claim in claims]
    results[1] = msgspec.structs.replace(results[1], **bad)
    verdicts = await rig.store.finish(results, T0)
    assert [verdict.answer for verdict in verdicts] == ["ok", "refused", "ok"]
    assert await rig.state(claims[1].run_id) == "running"
    assert (await rig.finish(claims[1]))[0].answer == "ok"


@pytest.mark.parametrize("state", [RunState.SKIPPED, RunState.SCHEDULED, RunState.RUNNING])
async def test_a_move_that_is_not_in_the_table_is_refused(rig: Rig, state: RunState) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    assert (await rig.finish(claim, state=state))[0].answer == "refused"
    assert await rig.state(claim.run_id) == "running"


async def test_the_job_shows_its_newest_end(rig: Rig) -> None:
    job = await rig.add()
    (failed,) = await rig.finished(job.id, T0, state=RunState.FAILED)
    shown = await rig.store.job(ADA, "backup")
    assert shown.state == "failed"
    assert shown.last_run is not None
    assert (shown.last_run.id, shown.last_run.state, shown.last_run.exit_code) == (failed, "failed", 3)
    await rig.finished(job.id, T0 - 1)
    shown = await rig.store.job(ADA, "backup")
    assert shown.state == "ok"
    assert shown.last_run is not None
    assert shown.last_run.outcome == "ok"
    assert shown.rev == job.rev


async def test_a_one_shot_is_done_after_its_run(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0))
    await rig.finished(job.id, T0)
    assert (await rig.store.job(ADA, "backup")).state == "done"
    assert rig.kinds()[-2:] == ["run.succeeded", "job.done"]


async def test_a_one_shot_that_is_done_leaves_its_name_to_others(rig: Rig) -> None:
    first = await rig.add(spec(at_ms=T0))
    await rig.finished(first.id, T0)
    second = await rig.add(spec(at_ms=T0))
    assert (await rig.store.job(ADA, "backup")).id == second.id
    assert (await rig.store.job(ROOT, "backup")).id == second.id
    await rig.finished(second.id, T0)
    assert (await rig.store.job(ADA, "backup")).id == second.id
    assert (await rig.store.job(ROOT, "backup")).id == second.id


async def test_a_one_shot_run_early_by_hand_still_waits_for_its_instant(rig: Rig) -> None:
    job = await rig.add(spec(at_ms=T0 + MINUTE), next_ms=T0 + MINUTE)
    run = (await rig.store.trigger(ADA, job.id, T0, T0, None)).run
    await rig.admit(run.id)
    await rig.finish(*await rig.claim())
    assert (await rig.store.job(ADA, "backup")).state == "ok"


async def test_lateness_is_the_start_after_the_due_time(rig: Rig) -> None:
    job = await rig.add(spec(late_after_ms=10))
    one, two = await rig.claimed(job.id, T0 - 5, T0)
    await rig.finish(one, started_ms=T0 + 6)
    await rig.finish(two, started_ms=T0 + 6)
    assert [(await rig.store.run(ADA, claim.run_id)).late for claim in (one, two)] == [True, False]


async def test_an_ended_run_without_a_start_is_judged_by_its_end(rig: Rig) -> None:
    job = await rig.add(spec(late_after_ms=10))
    (claim,) = await rig.claimed(job.id, T0)
    rig.now_ms = T0 + 50
    await rig.finish(claim, state=RunState.FAILED, started_ms=None)
    run = await rig.store.run(ROOT, claim.run_id)
    assert (run.late, run.started_at) == (True, None)


async def test_a_large_batch_is_finished_whole(rig: Rig) -> None:
    job = await rig.add()
    rig.now_ms = T0 + 1000
    await rig.ready(job.id, *range(T0, T0 + 700))
    claims = await rig.claim(1000)
    verdicts = await rig.finish(*claims)
    assert [verdict.answer for verdict in verdicts] == ["ok"] * 700
    counts = await rig.store.counts(None, T0)
    assert (counts.scheduled, counts.ready, counts.running) == (0, 0, 0)
