"""Telling people: which events are looked at, and messages that become runs, once, with what is remembered of them."""

from typing import Any

import msgspec
import pytest

from jobctl.model import Execution, JobSpec
from jobctl.states import OnFailure, RunState, Trigger
from jobctl_daemon.rows import JobFilter, Notice, Pause
from kit.stores import ADA, BOB, DAY, MINUTE, T0, Rig, spec

MESSAGE = Execution(shell="page me", stdin="it failed", env={"JOBCTL_EVENT": "dead"}, user="www-data")


def told(name: str = "backup", **changes: Any) -> JobSpec:
    """A job of whose failures somebody is told."""
    wanted = spec(name, **changes)
    return msgspec.structs.replace(wanted, policies=msgspec.structs.replace(wanted.policies, notify=["mail"]))


def notice(job_id: int, key: str = "n:1:abc", name: str = "notify backup", **changes: Any) -> Notice:
    facts = {"execution": MESSAGE} | changes
    return Notice(key=key, job_id=job_id, name=name, **facts)


async def deliveries(rig: Rig) -> list[Any]:
    return sorted((run for run in await rig.runs() if run.trigger is Trigger.NOTICE), key=lambda run: run.id)


# ── events ──────────────────────────────────────────────


async def test_failures_of_jobs_that_have_somebody_to_tell_are_seen_in_order(rig: Rig) -> None:
    job = await rig.add(told())
    quiet = await rig.add(spec("quiet"))
    await rig.finished(quiet.id, T0, state=RunState.FAILED)
    await rig.finished(job.id, T0 - 1, state=RunState.FAILED)
    (claim,) = await rig.claimed(job.id, T0)
    await rig.finish(claim, state=RunState.DEAD, fingerprint="f1", error="no space")
    await rig.finished(job.id, T0 - 2)
    seen = await rig.store.notices(0, 100)
    assert [event.kind for event in seen] == ["run.failed", "run.dead", "job.recovered"]
    assert {event.job_id for event in seen} == {job.id}
    assert (seen[1].run_id, seen[1].data["fingerprint"], seen[1].data["error"]) == (claim.run_id, "f1", "no space")
    assert await rig.store.notices(seen[0].id, 1) == seen[1:2]
    assert await rig.store.notices(seen[-1].id, 100) == []


async def test_a_quarantine_is_seen(rig: Rig) -> None:
    job = await rig.add(told())
    for n in range(5):
        (claim,) = await rig.claimed(job.id, T0 - n)
        await rig.finish(claim, state=RunState.DEAD, fingerprint="f1")
    assert [event.kind for event in await rig.store.notices(0, 100)] == ["run.dead"] * 5 + ["job.quarantined"]


async def test_the_ends_of_deliveries_are_seen_and_those_of_other_commands_are_not(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.run_adhoc(ADA, spec("command", hidden=True), T0, T0, None)
    await rig.store.tell([notice(job.id, "n:1:a"), notice(job.id, "n:2:b")], {}, T0)
    await rig.admit(*[run.id for run in await rig.runs()])
    other, good, bad = sorted(await rig.claim(), key=lambda claim: claim.run_id)
    await rig.finish(good)
    await rig.finish(bad, other, state=RunState.FAILED)
    assert [(event.kind, event.data["key"]) for event in await rig.store.notices(0, 100)] == [
        ("run.succeeded", "n:1:a"), ("run.failed", "n:2:b"),
    ]  # fmt: skip


# ── messages ──────────────────────────────────────────────


async def test_a_message_is_a_run_of_a_hidden_job_of_the_same_owner_that_carries_it(rig: Rig) -> None:
    job = await rig.add(told(), owner=BOB)
    assert await rig.store.tell([notice(job.id)], {"told": "7"}, T0) == 1
    (run,) = await deliveries(rig)
    assert (run.job, run.state, run.max_attempts) == ("notify backup", RunState.SCHEDULED, 4)
    assert (await rig.store.run(BOB, run.id)).id == run.id
    await rig.admit(run.id)
    (claim,) = await rig.claim()
    assert (claim.key, claim.execution, claim.trigger, claim.owner_uid) == ("n:1:abc", MESSAGE, Trigger.NOTICE, BOB.uid)
    assert claim.policies.on_failure is OnFailure.RECORD
    assert claim.policies.timeout_ms == MINUTE
    assert claim.policies.notify == []
    assert (await rig.store.meta())["told"] == "7"


async def test_the_job_that_carries_messages_is_made_once_and_never_listed(rig: Rig) -> None:
    job, other = await rig.add(told()), await rig.add(told("other"), owner=BOB)
    wanted = [notice(job.id, "n:1:a"), notice(job.id, "n:2:a"), notice(other.id, "n:3:a")]
    assert await rig.store.tell(wanted, {}, T0) == 3
    assert await rig.store.tell([notice(job.id, "n:4:a")], {}, T0) == 1
    runs = await deliveries(rig)
    assert len({run.job_id for run in runs}) == 2
    assert runs[0].job_id == runs[1].job_id == runs[3].job_id
    listed, _ = await rig.store.jobs(ADA, JobFilter(done=True))
    assert [found.name for found in listed] == ["backup"]


async def test_a_message_is_made_once_for_each_key(rig: Rig) -> None:
    job = await rig.add(told())
    assert await rig.store.tell([notice(job.id), notice(job.id)], {}, T0) == 1
    assert await rig.store.tell([notice(job.id)], {}, T0 + DAY) == 0
    (run,) = await deliveries(rig)
    await rig.admit(run.id)
    await rig.finish(*await rig.claim())
    assert await rig.store.tell([notice(job.id)], {}, T0 + 2 * DAY) == 0


async def test_notes_are_put_and_removed_with_the_messages(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.tell([], {"told": "1", "told:job:7": "{}"}, T0)
    await rig.store.tell([notice(job.id)], {"told": "2", "told:job:7": None, "told:job:8": None}, T0)
    notes = await rig.store.meta()
    assert notes["told"] == "2"
    assert "told:job:7" not in notes


async def test_a_message_that_cannot_be_stored_harms_no_other(rig: Rig) -> None:
    job = await rig.add(told())
    bad = notice(job.id, "n:2:a", execution=Execution(shell="\ud800"))
    assert await rig.store.tell([notice(job.id, "n:1:a"), bad, notice(job.id, "n:3:a")], {"told": "3"}, T0) == 2
    assert [run.key[-5:] for run in await deliveries(rig)] == ["n:1:a", "n:3:a"]
    assert (await rig.store.meta())["told"] == "3"


async def test_a_message_about_a_removed_job_is_still_delivered(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.delete_job(ADA, job.id, T0)
    assert await rig.store.tell([notice(job.id)], {}, T0) == 1
    assert await rig.store.tell([notice(999)], {}, T0) == 0


async def test_deliveries_are_no_failures_of_the_users_jobs(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.tell([notice(job.id)], {}, T0)
    await rig.admit(*[run.id for run in await rig.runs()])
    before = await rig.store.counts(ADA, T0)
    await rig.finish(*await rig.claim(), state=RunState.FAILED)
    counts = await rig.store.counts(ADA, T0)
    assert (counts.jobs, counts.failed, counts.dead, counts.untold) == (1, 0, 0, 0)
    assert before.jobs == 1


async def test_a_hanging_delivery_keeps_no_other_message_of_its_job_from_starting(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.tell([notice(job.id, "n:1:a")], {}, T0)
    await rig.admit(*[run.id for run in await rig.runs()])
    assert len(await rig.claim()) == 1
    await rig.store.tell([notice(job.id, "n:2:a")], {}, T0)
    (waiting,) = await rig.store.pending(T0, 10)
    await rig.admit(waiting.run_id)
    assert len(await rig.claim()) == 1


@pytest.mark.parametrize("queue", ["", "notices"])
async def test_a_pause_of_the_daemon_or_of_the_messages_queue_holds_them(rig: Rig, queue: str) -> None:
    job = await rig.add(told())
    await rig.store.tell([notice(job.id, "n:1:a")], {}, T0)
    await rig.store.pause_queue(queue, Pause(by="ada"), T0)
    await rig.store.tell([notice(job.id, "n:2:a"), notice(job.id, "n:3:a", "notify other")], {}, T0)
    assert await rig.store.pending(T0, 10) == []
    assert [run.reason for run in await deliveries(rig)] == ["held: its job is paused"] * 3


async def test_a_pause_of_another_queue_holds_no_message(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.pause_queue("default", Pause(by="ada"), T0)
    await rig.store.tell([notice(job.id)], {}, T0)
    assert len(await rig.store.pending(T0, 10)) == 1


async def test_a_carrier_that_somebody_removed_carries_what_comes_later(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.tell([notice(job.id, "n:1:a")], {}, T0)
    (run,) = await deliveries(rig)
    await rig.store.delete_job(ADA, run.job_id, T0)
    assert await rig.store.tell([notice(job.id, "n:2:a")], {}, T0) == 1
    (waiting,) = await rig.store.pending(T0, 10)
    await rig.admit(waiting.run_id)
    assert len(await rig.claim()) == 1


async def test_a_carrier_goes_with_its_last_run_and_is_made_again(rig: Rig) -> None:
    job = await rig.add(told())
    await rig.store.tell([notice(job.id, "n:1:a")], {}, T0)
    await rig.admit(*[run.id for run in await rig.runs()])
    await rig.finish(*await rig.claim())
    assert len(await rig.prune(T0 + 100 * DAY)) == 1
    assert await deliveries(rig) == []
    rig.now_ms = T0 + 100 * DAY
    assert await rig.store.tell([notice(job.id, "n:2:a")], {}, rig.now_ms) == 1
    (run,) = await deliveries(rig)
    assert run.job == "notify backup"
