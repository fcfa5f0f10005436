"""The telling service over a real store: what is told, what is written down, and what a restart changes."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl.errors import Unavailable
from jobctl.model import JobSpec, Run
from jobctl.states import RunState, Trigger
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.notices import BUNDLE_MS
from jobctl_daemon.decide.told import BEHIND_MOST, TOLD
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Keep
from jobctl_daemon.services.tell import Tell
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock
from kit.stores import ADA, DAY, T0, Rig, counted_uids, spec

HERE = Here("web1", "UTC")


class Scene(Rig):
    """A store, the service over it, and what it sends."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store)
        self.clock = ManualClock(T0)
        self.health = Health(self.clock)
        self.tell = Tell(store, self.clock, self.health, HERE)
        self.slot_ms = T0

    def restart(self) -> None:
        self.tell = Tell(self.store, self.clock, self.health, HERE)

    def tick(self, ms: int) -> None:
        self.clock.tick(ms)
        self.now_ms = self.clock.now_ms()

    async def told(self, name: str = "backup", notify: tuple[str, ...] = ("exec:page",), **changes: Any) -> int:
        wanted: JobSpec = spec(name, **changes)
        policies = msgspec.structs.replace(wanted.policies, notify=list(notify))
        return (await self.add(msgspec.structs.replace(wanted, policies=policies))).id

    async def many(self, count: int) -> None:
        """So many events of jobs that tell nobody."""
        await self.store.create_jobs(ADA, [(spec(f"job-{n}"), None) for n in range(count)], self.now_ms)

    async def ends(self, job_id: int, state: RunState = RunState.DEAD, way: str = "f1") -> int:
        """One run of the job, to its end."""
        self.slot_ms -= 1
        (claim,) = await self.claimed(job_id, self.slot_ms)
        good = state is RunState.SUCCEEDED
        await self.finish(claim, state=state, fingerprint=None if good else way)
        return claim.run_id

    async def look(self) -> Pass:
        """Passes until there is nothing more to do now."""
        done = await self.tell.run_once()
        while done.again:
            done = await self.tell.run_once()
        return done

    async def sent(self) -> list[Run]:
        return sorted((run for run in await self.runs() if run.trigger is Trigger.NOTICE), key=lambda run: run.id)

    async def deliver(self, state: RunState = RunState.SUCCEEDED) -> list[tuple[str, str]]:
        """Everything that waits is claimed and ended: (what the command is told of, its input)."""
        await self.admit(*[pending.run_id for pending in await self.store.pending(self.now_ms, 100)])
        claims = [claim for claim in await self.claim() if claim.trigger is Trigger.NOTICE]
        await self.finish(*claims, state=state)
        return [(claim.execution.env["JOBCTL_EVENT"], claim.execution.stdin or "") for claim in claims]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    made = Scene(SqliteStore(tmp_path / "jobctl.db", counted_uids()))
    await made.begin()
    yield made
    await made.store.close()


async def test_a_failure_becomes_one_run_that_says_what_happened(scene: Scene) -> None:
    job_id = await scene.told(notify=("exec:page", "mail", "exec:page"))
    run_id = await scene.ends(job_id)
    assert (await scene.look()).did == 2
    sent = await scene.sent()
    assert {run.job for run in sent} == {"notify backup"}
    await scene.admit(*[run.id for run in sent])
    page, mail = sorted(await scene.claim(), key=lambda claim: claim.execution.shell or "", reverse=True)
    assert (page.execution.shell, page.owner_uid) == ("page", ADA.uid)
    assert page.execution.env["JOBCTL_ABOUT_RUN"] == str(run_id)
    assert page.execution.env["JOBCTL_ABOUT_KEY"] == (await scene.store.run(ADA, run_id)).key
    assert (page.execution.stdin or "").startswith("web1: backup failed: exit 3\n")
    assert (mail.execution.stdin or "").startswith("To: ada\nSubject: jobctl on web1: backup failed: exit 3\n")


async def test_a_job_that_tells_nobody_is_not_told_of(scene: Scene) -> None:
    await scene.ends((await scene.add()).id)
    assert (await scene.look()).did == 0
    assert await scene.sent() == []


@pytest.mark.case("F148")
async def test_a_hundred_jobs_that_fail_in_one_minute_are_two_messages(scene: Scene) -> None:
    ids = [await scene.told(f"job-{n:03}") for n in range(100)]
    await scene.ends(ids[0])
    first = await scene.look()
    for job_id in ids[1:]:
        await scene.ends(job_id)
    held = await scene.look()
    assert (first.did, held.did, held.next_ms) == (1, 0, T0 + BUNDLE_MS)
    scene.tick(BUNDLE_MS)
    assert (await scene.look()).did == 1
    (_, one), (_, many) = await scene.deliver()
    assert one.startswith("web1: job-000 failed")
    assert many.startswith("99 messages from web1\n")
    assert "  and 79 more\n" in many


async def test_repeated_failures_are_counted_and_the_recovery_is_told(scene: Scene) -> None:
    job_id = await scene.told()
    for _ in range(3):
        await scene.ends(job_id, RunState.FAILED)
        await scene.look()
    scene.tick(3_600_000)
    await scene.ends(job_id, RunState.FAILED)
    await scene.look()
    scene.tick(BUNDLE_MS)
    await scene.ends(job_id, RunState.SUCCEEDED)
    await scene.look()
    first, reminder, recovery = await scene.deliver()
    assert (first[0], reminder[0], recovery[0]) == ("failed", "failed", "recovered")
    assert reminder[1].startswith("web1: backup still fails: exit 3 (3 more since the last message)\n")
    assert recovery[1].startswith("web1: backup works again\n")


async def test_what_was_seen_before_a_crash_is_told_once_after_it(scene: Scene) -> None:
    job_id = await scene.told()
    await scene.ends(job_id)
    scene.restart()
    await scene.look()
    scene.restart()
    await scene.look()
    await scene.ends(job_id)
    await scene.look()
    assert len(await scene.sent()) == 1


async def test_a_replay_that_is_broken_off_tells_of_the_run_that_died_and_of_none_that_was_put_back(
    scene: Scene,
) -> None:
    job_id = await scene.told()
    dead = [await scene.ends(job_id, way=way) for way in ("f1", "f2", "f3")]
    await scene.look()
    scene.tick(DAY)
    await scene.look()
    await scene.deliver()
    await scene.replay(*dead, stop_on_failure=True)
    await scene.admit(*[pending.run_id for pending in await scene.store.pending(scene.now_ms, 100)])
    (claim,) = await scene.claim()
    await scene.died(claim, fingerprint="f4")
    assert await scene.states(*dead) == ["dead"] * 3
    scene.tick(DAY)
    await scene.look()
    ((_, text),) = await scene.deliver()
    assert text.startswith("web1: backup failed")
    assert f"jobctl dlq replay {claim.run_id} " in text


async def test_what_waits_for_its_bundle_survives_a_restart(scene: Scene) -> None:
    await scene.ends(await scene.told("first"))
    await scene.look()
    await scene.ends(await scene.told("second"))
    await scene.look()
    other = await scene.told("third", notify=("exec:other",))
    await scene.ends(other)
    await scene.look()
    scene.restart()
    assert (await scene.look()).next_ms == T0 + BUNDLE_MS
    scene.tick(BUNDLE_MS)
    await scene.look()
    assert [run.job for run in await scene.sent()] == ["notify first", "notify third", "notify second"]


async def test_a_pass_whose_writing_failed_is_done_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = await scene.told()
    await scene.look()
    await scene.ends(job_id)

    async def full(*arguments: object) -> int:
        raise Unavailable("the disk is full", "make room")

    with monkeypatch.context() as broken:
        broken.setattr(scene.store, "tell", full)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await scene.tell.run_once()
    assert (await scene.look()).did == 1
    assert (await scene.look()).did == 0
    assert len(await scene.sent()) == 1


async def test_nothing_is_written_when_there_is_nothing_to_tell(scene: Scene) -> None:
    await scene.ends((await scene.add()).id, RunState.SUCCEEDED)
    await scene.look()
    before = await scene.store.meta()
    await scene.look()
    assert await scene.store.meta() == before
    assert TOLD not in before


async def test_the_place_is_written_down_before_it_falls_far_behind(scene: Scene) -> None:
    await scene.many(BEHIND_MOST)
    await scene.look()
    assert (await scene.store.meta())[TOLD] == str(BEHIND_MOST)


async def test_it_looks_when_something_to_tell_or_much_else_has_happened(scene: Scene) -> None:
    await scene.add()
    scene.tell.heard(scene.events)
    assert not scene.tell.wake.is_set()
    scene.tell.heard(scene.events * 250)
    assert scene.tell.wake.is_set()

    scene.restart()
    job_id = await scene.told("b")
    scene.events.clear()
    await scene.ends(job_id)
    scene.tell.heard(scene.events)
    assert scene.tell.wake.is_set()


async def test_events_that_went_unseen_are_owned_up_to_once_to_each_destination(scene: Scene) -> None:
    await scene.told("a")
    await scene.told("b", notify=("exec:page", "exec:other"))
    await scene.add(spec("quiet"))
    await scene.store.set_meta({TOLD: "1"})
    scene.restart()
    await scene.many(1_100)
    scene.tick(2 * 3_600_000)
    while await scene.store.prune(scene.now_ms, 500, Keep()):
        pass
    assert (await scene.store.event_span())[0] > 2
    await scene.look()
    await scene.look()
    told = await scene.deliver()
    assert [event for event, _ in told] == ["untold", "untold"]
    assert {run.job for run in await scene.sent()} == {"notify jobd"}


async def test_messages_that_could_not_be_delivered_are_a_warning_until_one_can(scene: Scene) -> None:
    job_id = await scene.told()
    await scene.ends(job_id)
    await scene.look()
    await scene.deliver(RunState.FAILED)
    await scene.look()
    words = "1 message could not be delivered: jobctl runs 'notify backup' --state failed"
    assert scene.health.warnings == {"notices": words}
    scene.tick(BUNDLE_MS)
    await scene.ends(job_id, way="f2")
    await scene.look()
    scene.restart()
    scene.health.warnings.clear()
    await scene.look()
    assert scene.health.warnings == {"notices": words}
    scene.events.clear()
    await scene.ends((await scene.add(spec("quiet"))).id, RunState.SUCCEEDED)
    scene.tell.heard(scene.events)
    assert scene.tell.wake.is_set()
    await scene.deliver()
    await scene.look()
    assert scene.health.warnings == {}


async def test_a_failed_delivery_is_told_to_nobody(scene: Scene) -> None:
    await scene.ends(await scene.told())
    await scene.look()
    await scene.deliver(RunState.FAILED)
    scene.tick(DAY)
    await scene.look()
    assert len(await scene.sent()) == 1


async def test_the_failures_of_a_removed_job_are_told_to_nobody(scene: Scene) -> None:
    job_id = await scene.told()
    await scene.ends(job_id)
    await scene.store.delete_job(ADA, job_id, T0)
    assert (await scene.look()).did == 0
