"""The mailing service over a real store: one mail for each end, whatever is lost, restarted or not there."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl.errors import Unavailable
from jobctl.filters import parse
from jobctl.model import Mail, Run
from jobctl.states import MailOn, RunState
from jobctl_daemon.auditlog import AuditLog
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.unsent import MAILED, WARN_MS
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Keep
from jobctl_daemon.services.mail import Mailer
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock
from kit.stores import ADA, DAY, T0, Rig, counted_uids, spec
from kit.syslog import Syslog

OUTPUT = Mail(to="ada", on=MailOn.OUTPUT)


class Scene(Rig):
    """A store, the service over it, and what it posts."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store)
        self.clock = ManualClock(T0)
        self.health = Health(self.clock)
        self.program: str | None = "/usr/sbin/sendmail"
        self.audit = AuditLog(self.clock, path=None)
        self.slot_ms = T0
        self.restart()

    def restart(self) -> None:
        here = Here("web1", "UTC")
        self.mailer = Mailer(self.store, self.clock, self.health, here, "root", lambda: self.program, self.audit)

    def tick(self, ms: int) -> None:
        self.clock.tick(ms)
        self.now_ms = self.clock.now_ms()

    async def mailed(self, name: str = "backup", mail: Mail | None = OUTPUT, **changes: Any) -> int:
        wanted = spec(name, **changes)
        policies = msgspec.structs.replace(wanted.policies, mail=mail)
        return (await self.add(msgspec.structs.replace(wanted, policies=policies))).id

    async def ends(self, job_id: int, state: RunState = RunState.SUCCEEDED, size: int = 5) -> int:
        """One run of the job, to its end."""
        self.slot_ms -= 1
        (claim,) = await self.claimed(job_id, self.slot_ms)
        await self.finish(claim, state=state, log_size=size, fingerprint="f" if state is RunState.DEAD else None)
        return claim.run_id

    async def look(self) -> Pass:
        """Passes until there is nothing more to do now."""
        done = await self.mailer.run_once()
        while done.again:
            done = await self.mailer.run_once()
        return done

    async def posted(self) -> list[Run]:
        return sorted(await self.runs(q=parse("mail")), key=lambda run: run.id)

    async def deliver(self, state: RunState = RunState.SUCCEEDED) -> list[str]:
        """Everything that waits is claimed and ended; the heads of the messages."""
        await self.admit(*[run.id for run in await self.posted() if run.state is RunState.SCHEDULED])
        claims = [claim for claim in await self.claim() if claim.execution.sends is not None]
        await self.finish(*claims, state=state)
        return [claim.execution.stdin or "" for claim in claims]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    made = Scene(SqliteStore(tmp_path / "jobctl.db", counted_uids()))
    await made.begin()
    yield made
    await made.store.close()


async def test_each_end_with_output_is_one_mail_also_over_a_restart(scene: Scene) -> None:
    job_id = await scene.mailed()
    await scene.ends(job_id)
    await scene.ends(job_id, size=0)
    await scene.ends(await scene.mailed("quiet", mail=None))
    assert (await scene.look()).did == 1
    scene.restart()
    await scene.look()
    await scene.ends(job_id, RunState.FAILED)
    scene.restart()
    assert (await scene.look()).did == 1
    scene.restart()
    assert (await scene.look()).did == 0
    good, bad = await scene.deliver()
    assert "\nSubject: Cron <ada@web1> " in good
    assert "(failed)\n" in bad
    assert scene.health.warnings == {}


async def test_a_run_that_dies_again_after_a_replay_is_mailed_again(scene: Scene) -> None:
    run_id = await scene.ends(await scene.mailed(), RunState.DEAD)
    await scene.look()
    await scene.replay(run_id)
    await scene.admit(run_id)
    claims = await scene.claim()
    await scene.died(*[claim for claim in claims if claim.run_id == run_id], log_size=5)
    await scene.look()
    assert len(await scene.posted()) == 2


async def test_crontab_lines_follow_the_hosts_setting_and_a_mail_that_was_taken_away_is_not_sent(scene: Scene) -> None:
    scene.mailer.crontab_mail = "failure"
    line = await scene.mailed("line", Mail(to="ada"), source="crontab:d:1:/etc/crontab")
    await scene.ends(line)
    assert (await scene.look()).did == 0
    await scene.ends(line, RunState.FAILED)
    assert (await scene.look()).did == 1
    other = await scene.mailed("other")
    await scene.ends(other)
    await scene.policies(other, mail=None)
    assert (await scene.look()).did == 0


async def test_a_pass_whose_writing_failed_is_done_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = await scene.mailed()
    await scene.look()
    await scene.ends(job_id)

    async def full(*arguments: object) -> int:
        raise Unavailable("the disk is full", "make room")

    with monkeypatch.context() as broken:
        broken.setattr(scene.store, "tell", full)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await scene.mailer.run_once()
    assert (await scene.look()).did == 1
    assert (await scene.look()).did == 0


async def test_without_a_mail_program_nothing_is_made_and_it_is_told_until_mail_goes_again(scene: Scene) -> None:
    scene.program = None
    job_id = await scene.mailed()
    for _ in range(3):
        await scene.ends(job_id)
    await scene.look()
    scene.restart()
    scene.health.warnings.clear()
    await scene.look()
    assert scene.health.warnings["mail"].startswith("mail of 3 runs was not sent: there is no sendmail here")
    assert await scene.posted() == []
    scene.program = "/usr/sbin/sendmail"
    await scene.ends(job_id)
    await scene.look()
    assert len(await scene.deliver()) == 1
    await scene.look()
    assert scene.health.warnings == {}


async def test_mails_that_cannot_be_delivered_are_told_for_a_day(scene: Scene, tmp_path: Path) -> None:
    syslog = Syslog(tmp_path / "log")
    scene.audit.path = str(syslog.path)
    job_id = await scene.mailed()
    await scene.ends(job_id)
    await scene.look()
    await scene.deliver(RunState.FAILED)
    done = await scene.look()
    assert scene.health.warnings["mail"] == "mail of 1 run could not be delivered: jobctl runs mail --state failed"
    assert done.next_ms == T0 + WARN_MS
    assert syslog.line().endswith(": (ada) MAIL (mailed 5 bytes of output but got status 0x0300 from MTA)")
    scene.audit.close()
    syslog.close()
    scene.tick(WARN_MS)
    await scene.look()
    assert scene.health.warnings == {}
    assert "mailed:failed" not in await scene.store.meta()


async def test_a_mail_that_is_done_again_by_hand_ends_the_warning(scene: Scene) -> None:
    await scene.ends(await scene.mailed())
    await scene.look()
    await scene.deliver(RunState.FAILED)
    await scene.look()
    assert "mail" in scene.health.warnings
    (failed,) = await scene.posted()
    again = (await scene.store.retry(ADA, failed.id, "ada", scene.now_ms, None)).run
    scene.events.clear()
    await scene.admit(again.id)
    assert len(await scene.deliver()) == 1
    scene.mailer.heard(scene.events)
    assert scene.mailer.wake.is_set()
    await scene.look()
    assert scene.health.warnings == {}


async def test_nothing_is_written_when_there_is_nothing_to_mail_and_the_place_before_it_falls_far_behind(
    scene: Scene,
) -> None:
    await scene.ends(await scene.mailed("quiet", mail=None))
    await scene.look()
    assert MAILED not in await scene.store.meta()
    await scene.store.create_jobs(ADA, [(spec(f"job-{n}"), None) for n in range(500)], scene.now_ms)
    await scene.look()
    assert int((await scene.store.meta())[MAILED]) >= 500


async def test_it_looks_when_there_is_something_to_mail_or_much_else_has_happened(scene: Scene) -> None:
    job_id = await scene.mailed()
    scene.mailer.heard(scene.events)
    assert not scene.mailer.wake.is_set()
    scene.mailer.heard(scene.events * 250)
    assert scene.mailer.wake.is_set()
    scene.restart()
    scene.events.clear()
    await scene.ends(job_id)
    scene.mailer.heard(scene.events)
    assert scene.mailer.wake.is_set()


async def test_ends_that_went_unseen_are_owned_up_to(scene: Scene) -> None:
    await scene.mailed()
    await scene.store.set_meta({MAILED: "1"})
    scene.restart()
    await scene.store.create_jobs(ADA, [(spec(f"job-{n}"), None) for n in range(1_100)], scene.now_ms)
    scene.tick(DAY)
    while await scene.store.prune(scene.now_ms, 500, Keep()):
        pass
    await scene.look()
    assert scene.health.warnings["mail"].startswith("mail of some runs may not have been sent")


async def test_what_must_wait_for_room_waits(scene: Scene) -> None:
    await scene.ends(await scene.mailed())
    scene.mailer.held = lambda: True
    assert (await scene.look()).did == 0
    scene.mailer.held = lambda: False
    assert (await scene.look()).did == 1
