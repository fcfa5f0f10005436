"""A failure that is tried again: the run waits for its instant with its gate, and without a slot."""

from typing import Any

import pytest

from jobctl.states import FailureClass, OnFailure, Overlap, RunState
from kit.stores import ADA, MINUTE, ROOT, T0, Rig, ended, spec


async def test_a_run_that_is_to_be_tried_again_waits_for_its_instant(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.begun(claim)
    verdict = await rig.retrying(claim, T0 + MINUTE, error="busy", fingerprint="abc")
    assert verdict.answer == "ok"
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.due_at, run.attempt, run.fence) == ("ready", "2027-01-15T08:01:00Z", 1, claim.fence)
    assert (run.outcome, run.failure_class, run.reason) == ("exit_code", FailureClass.EXIT_CODE, "exit 3")
    assert (run.finished_at, run.node, run.error) == (None, None, None)
    assert await rig.claim() == []
    assert await rig.store.running() == []
    assert await rig.store.next_wake(T0) == T0 + MINUTE
    (event,) = [event for event in rig.events if event.kind == "run.retrying"]
    assert (event.run_id, event.data["attempt"], event.data["due_ms"]) == (claim.run_id, 1, T0 + MINUTE)
    assert (event.data["class"], event.data["exit_code"], event.data["reason"]) == ("exit_code", 3, "exit 3")


async def test_it_runs_again_under_the_same_key_with_a_higher_fence_and_the_next_attempt(rig: Rig) -> None:
    job = await rig.add()
    (first,) = await rig.claimed(job.id, T0)
    await rig.retrying(first, T0 + MINUTE)
    rig.now_ms = T0 + MINUTE
    (second,) = await rig.claim()
    assert (second.run_id, second.key, second.attempt) == (first.run_id, first.key, 2)
    assert second.fence > first.fence
    assert (await rig.finish(first))[0].answer == "stale"
    assert (await rig.finish(second))[0].answer == "ok"
    run = await rig.store.run(ADA, first.run_id)
    assert (run.state, run.outcome, run.failure_class, run.reason, run.attempt) == ("succeeded", "ok", None, None, 2)
    attempts = await rig.store.attempts(ADA, first.run_id)
    assert [(attempt.attempt, attempt.fence, attempt.exit_code) for attempt in attempts] == [
        (1, first.fence, 3),
        (2, second.fence, 0),
    ]
    assert rig.kinds(first.run_id) == [
        "run.scheduled", "run.ready", "run.running", "run.retrying", "run.running", "run.succeeded",
    ]  # fmt: skip


async def test_nothing_of_the_process_that_failed_is_left_on_a_waiting_retry(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0, start_by_ms=T0 + 5)
    await rig.begun(claim)
    await rig.retrying(claim)
    row = await rig.row(claim.run_id)
    gone = ("node", "boot_id", "runner", "pid", "pid_start", "claimed_ms", "started_ms", "stop_wanted", "start_by_ms")
    assert {name: row[name] for name in gone} == dict.fromkeys(gone)
    assert (row["gate"], row["ended_ms"], row["probe"]) == (job.id, T0, 0)
    rig.now_ms = T0 + 10 * MINUTE
    assert await rig.store.too_late(rig.now_ms, 10) == []
    assert len(await rig.claim()) == 1


async def test_budgets_are_counted_as_they_are_told(rig: Rig) -> None:
    job = await rig.add(spec(retries=9, lost_retries=9))
    (claim,) = await rig.claimed(job.id, T0)
    counted: list[tuple[int, int, int, bool]] = []
    for changes in ({}, {"counted": "lost", "probe": True}, {"counted": ""}, {"counted": "failed"}):
        await rig.retrying(claim, T0, **changes)
        (claim,) = await rig.claim()
        (effort,) = await rig.store.efforts([claim.run_id])
        counted.append((effort.failures, effort.losses, effort.attempt, effort.probe))
        assert claim.probe == effort.probe
    assert counted == [(1, 0, 2, False), (1, 1, 3, True), (1, 1, 4, False), (2, 1, 5, False)]


async def test_efforts_say_what_the_retry_rule_must_know_of_running_attempts(rig: Rig) -> None:
    job = await rig.add(spec(retries=7))
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    await rig.finish(two)
    await rig.store.cancel(ADA, one.run_id, "ada", T0)
    (effort,) = await rig.store.efforts([one.run_id, two.run_id, 999])
    assert (effort.run_id, effort.fence, effort.key) == (one.run_id, one.fence, f"{job.uid}/{one.key}")
    assert (effort.policies.retries, effort.stop_by) == (7, "ada")
    assert await rig.store.efforts([]) == []


async def test_a_retry_is_told_of_and_is_no_end_of_its_job(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0 - 1)
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim)
    shown = await rig.store.job(ADA, "backup")
    assert shown.state == "ok"
    assert shown.last_run is not None
    assert shown.last_run.id != claim.run_id
    counts = await rig.store.counts(ADA, T0)
    assert (counts.ready, counts.running, counts.failed, counts.oldest_due_ms) == (1, 0, 0, None)


async def test_a_waiting_retry_takes_no_slot_and_holds_the_gate(rig: Rig) -> None:
    job, other = await rig.add(spec(overlap=Overlap.SKIP)), await rig.add(spec("other"))
    (claim,) = await rig.claimed(job.id, T0 - 1)
    await rig.retrying(claim)
    (skipped,) = await rig.scheduled(job.id, T0)
    await rig.ready(other.id, T0)
    await rig.look()
    assert [found.job_id for found in await rig.claim(1)] == [other.id]
    run = await rig.store.run(ADA, skipped)
    assert (run.state, run.reason) == ("skipped", f"run {claim.run_id} was still active")


async def test_a_retry_goes_before_what_became_ready_after_it(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, T0 + MINUTE)
    rig.now_ms = T0 + 2 * MINUTE
    await rig.ready(other.id, T0 + MINUTE + 1)
    assert [found.job_id for found in await rig.claim(1)] == [job.id]


@pytest.mark.parametrize("pause", ["job", "queue", "daemon"])
async def test_a_retry_of_a_job_that_was_paused_meanwhile_is_held_with_its_gate(rig: Rig, pause: str) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.hold(pause, job.id)
    await rig.retrying(claim, T0 + MINUTE)
    row = await rig.row(claim.run_id)
    assert (row["state"], row["held"], row["gate"]) == ("scheduled", 1, job.id)
    assert rig.kinds(claim.run_id)[-2:] == ["run.retrying", "run.held"]
    assert await rig.store.next_wake(T0) is None
    rig.now_ms = T0 + 5 * MINUTE
    assert await rig.claim() == []
    await rig.let_go(pause, job.id)
    row = await rig.row(claim.run_id)
    assert (row["state"], row["held"], row["gate"], row["due_ms"]) == ("ready", 0, job.id, T0 + MINUTE)
    assert rig.kinds(claim.run_id)[-1] == "run.ready"
    assert [found.attempt for found in await rig.claim()] == [2]


async def test_a_retry_of_a_run_that_was_asked_for_by_hand_goes_on_in_a_pause(rig: Rig) -> None:
    job = await rig.add()
    run_id = await rig.by_hand(job.id)
    await rig.look()
    (claim,) = await rig.claim()
    await rig.pause(job.id)
    await rig.retrying(claim, T0)
    assert [found.run_id for found in await rig.claim()] == [run_id]


async def test_a_retry_of_a_run_that_was_cancelled_meanwhile_is_cancelled(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    assert (await rig.retrying(claim)).answer == "ok"
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.outcome, run.failure_class) == ("cancelled", "cancelled", FailureClass.CANCELLED)
    assert "cancelled by ada" in str(run.reason)
    assert "exit 3" in str(run.reason)
    assert rig.kinds(claim.run_id)[-1] == "run.cancelled"


@pytest.mark.parametrize(("on_failure", "state"), [(OnFailure.DEAD, "dead"), (OnFailure.RECORD, "failed")])
async def test_a_retry_of_a_run_whose_job_was_removed_meanwhile_is_the_end(
    rig: Rig, on_failure: OnFailure, state: str
) -> None:
    job = await rig.add(spec(on_failure=on_failure))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.store.delete_job(ADA, job.id, T0)
    await rig.retrying(claim, fingerprint="abc")
    run = await rig.store.run(ADA, claim.run_id)
    assert (run.state, run.reason) == (state, "exit 3; not retried: its job was removed")


async def test_a_waiting_retry_that_is_cancelled_ends_and_frees_its_gate(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    (claim,) = await rig.claimed(job.id, T0 - 1)
    await rig.retrying(claim)
    (waiting,) = await rig.scheduled(job.id, T0)
    await rig.look()
    cancelled = await rig.store.cancel(ADA, claim.run_id, "ada", T0)
    assert (cancelled.fence, cancelled.run.state, cancelled.run.attempt) == (None, "cancelled", 1)
    await rig.look()
    assert await rig.state(waiting) == "ready"


async def test_a_waiting_retry_goes_with_its_job(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim)
    await rig.store.delete_job(ADA, job.id, T0)
    assert await rig.state(claim.run_id) == "cancelled"


async def test_a_claimed_retry_that_is_given_back_is_the_retry_again(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, T0)
    (again,) = await rig.claim()
    await rig.store.unclaim([(again.run_id, again.fence)], T0, T0, "no runner")
    row = await rig.row(claim.run_id)
    assert (row["state"], row["attempt"], row["failures"], row["gate"]) == ("ready", 1, 1, job.id)
    await rig.pause(job.id)
    assert (await rig.row(claim.run_id))["gate"] == job.id
    await rig.resume(job.id)
    assert [found.attempt for found in await rig.claim()] == [2]


async def test_a_claimed_retry_that_is_given_back_to_a_paused_job_keeps_its_gate(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, T0)
    (again,) = await rig.claim()
    await rig.pause(job.id)
    await rig.store.unclaim([(again.run_id, again.fence)], T0, T0, "no runner")
    row = await rig.row(claim.run_id)
    assert (row["state"], row["held"], row["attempt"], row["gate"]) == ("scheduled", 1, 1, job.id)


@pytest.mark.parametrize("bad", [{"retry_ms": None}, {"retry_ms": 1 << 70}, {"reason": "\ud800"}])
async def test_a_retry_that_cannot_be_stored_is_refused_alone(rig: Rig, bad: dict[str, Any]) -> None:
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    facts = [{"retry_ms": T0}, {"retry_ms": T0, **bad}]
    rows = [ended(claim, T0, RunState.READY, **fact) for claim, fact in zip((one, two), facts, strict=True)]
    assert [verdict.answer for verdict in await rig.store.finish(rows, T0)] == ["ok", "refused"]
    assert await rig.states(one.run_id, two.run_id) == ["ready", "running"]


async def test_the_first_success_after_a_failure_is_a_recovery(rig: Rig) -> None:
    job, hidden = await rig.add(), await rig.add(spec("hidden", cron=None, hidden=True), next_ms=None)
    await rig.finished(job.id, T0 - 9)
    assert "job.recovered" not in rig.kinds()
    await rig.finished(job.id, T0 - 8, state=RunState.FAILED)
    (good,) = await rig.finished(job.id, T0 - 7)
    (event,) = [event for event in rig.events if event.kind == "job.recovered"]
    assert (event.job_id, event.run_id, event.data["name"]) == (job.id, good, "backup")
    await rig.finished(job.id, T0 - 6)
    for state in (RunState.FAILED, RunState.SUCCEEDED):
        run_id = await rig.by_hand(hidden.id)
        await rig.admit(run_id)
        await rig.finish(*await rig.claim(), state=state)
    assert rig.kinds().count("job.recovered") == 1


async def test_a_retry_that_succeeds_is_no_recovery(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, T0)
    await rig.finish(*await rig.claim())
    assert "job.recovered" not in rig.kinds()


async def test_a_failure_and_a_success_that_are_recorded_together_are_a_failure_and_a_recovery(rig: Rig) -> None:
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    await rig.store.finish([ended(one, T0, RunState.FAILED), ended(two, T0)], T0)
    assert rig.kinds().count("job.recovered") == 1
    assert (await rig.store.job(ROOT, "backup")).state == "ok"
