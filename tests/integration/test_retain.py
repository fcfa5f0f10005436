"""Retention over a real store and real log files."""

import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jobctl.model import Execution, Job, JobSpec, Policies, ScheduleSpec
from jobctl.states import Overlap
from jobctl_daemon.decide.outcome import Result, judge, record
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Admission, Caller, Claim, Keep, RunFilter
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.retain import Retain
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock

OWNER = Caller(uid=1000, name="ana", all_owners=True)
OTHER = Caller(uid=1001, name="bob")
DAY = 86_400_000


def plain(name: str, *, hidden: bool = False) -> JobSpec:
    return JobSpec(
        name=name,
        schedule=ScheduleSpec(timezone="UTC"),
        execution=Execution(command=["true"]),
        policies=Policies(overlap=Overlap.ALLOW),
        hidden=hidden,
    )


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(str(tmp_path / "jobctl.db"))
    await made.open()
    yield made
    await made.close()


class Scene:
    """Finished runs with logs, and the service that tidies them."""

    def __init__(self, store: SqliteStore, folder: Path, keep: Keep) -> None:
        self.clock = ManualClock()
        self.store = store
        self.logs = LogFiles(str(folder / "runs"))
        self.time = Timekeeper(store, self.clock, 1)
        self.running: set[tuple[int, int]] = set()
        self.retain = self.service(keep)

    def service(self, keep: Keep) -> Retain:
        """As a daemon that starts has it."""
        return Retain(self.store, self.clock, self.logs, keep, self.time.age_ms, lambda: self.running)

    async def ran(self, size: int, owner: Caller = OWNER) -> Path:
        """One ad-hoc run with a log of so many bytes."""
        claim = await self.began(owner)
        return await self.ended(claim, size)

    async def began(self, owner: Caller = OWNER) -> Claim:
        """An ad-hoc run that is claimed."""
        now = self.clock.now_ms()
        return await self.claimed((await self.store.run_adhoc(owner, plain("x", hidden=True), now, now, None)).run.id)

    async def again(self, job: Job) -> Claim:
        """Another run of a job that is claimed."""
        now = self.clock.now_ms()
        return await self.claimed((await self.store.trigger(OWNER, job.id, now, now, None)).run.id)

    async def claimed(self, run_id: int) -> Claim:
        now = self.clock.now_ms()
        await self.store.admit([Admission(run_id=run_id)], now)
        (claim,) = await self.store.claim(now, 1, "host", "boot")
        return claim

    async def job(self) -> Job:
        """One that runs when it is told to."""
        return (await self.store.create_job(OWNER, plain("job"), None, self.clock.now_ms(), None)).job

    def wrote(self, claim: Claim, size: int) -> Path:
        """Its log as its command wrote it."""
        log = Path(self.logs.create_dir(claim.run_id, claim.fence))
        log.write_bytes(b"x" * size)
        return log

    async def ended(self, claim: Claim, size: int) -> Path:
        """It has succeeded."""
        log, now = self.wrote(claim, size), self.clock.now_ms()
        result = Result(claim.run_id, claim.fence, now, started_ms=now, exit_code=0, log_size=size)
        await self.store.finish([record(result, judge(result))], now)
        self.retain.heard(3, [claim.job_id])
        return log

    async def tidy(self, after_ms: int = 600_001) -> None:
        """All that is to be done, ten minutes later."""
        self.clock.tick(after_ms)
        while True:
            done = await self.retain.run_once()
            if not done.again and (done.next_ms is None or done.next_ms >= self.clock.now_ms() + 10_000):
                return

    def aged(self, path: Path, days: int = 2) -> Path:
        """A file that nobody has written to for so long."""
        at_s = self.clock.now_ms() / 1000 - days * 86_400
        os.utime(path, (at_s, at_s))
        return path

    async def count(self) -> int:
        return len((await self.store.runs(OWNER, RunFilter()))[0])


async def test_logs_over_the_budget_go_oldest_first_and_their_runs_stay(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=10_000))
    logs = [await scene.ran(100) for _ in range(4)]
    await scene.tidy()

    assert [log.exists() for log in logs] == [False, False, True, True]
    assert await scene.count() == 4
    assert (await store.log_bytes((0, 0), 10)).bytes == 2 * 4_096


async def test_who_prints_much_loses_his_own_logs_and_nobody_else_s(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=32_768))
    others = [await scene.ran(8_000, OTHER) for _ in range(2)]
    flood = [await scene.ran(8_000) for _ in range(6)]
    await scene.tidy()

    assert [log.exists() for log in others] == [True, True]
    assert [log.exists() for log in flood] == [False] * 4 + [True] * 2


async def test_what_one_s_running_command_writes_costs_nobody_else_a_log(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=20_000))
    other, own = await scene.ran(4_000, OTHER), await scene.ran(4_000)
    claim = await scene.began()
    scene.running.add((claim.run_id, claim.fence))
    writing = scene.wrote(claim, 100_000)
    await scene.tidy()

    assert [log.exists() for log in (other, own, writing)] == [True, False, True]


async def test_history_goes_after_its_days_and_its_logs_with_it(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(days=90))
    old = await scene.ran(10)
    scene.clock.tick(91 * DAY)
    new = await scene.ran(10)
    await scene.tidy()

    assert (old.exists(), new.exists()) == (False, True)
    assert await scene.count() == 1


async def test_a_wrong_clock_makes_nothing_old(store: SqliteStore, tmp_path: Path) -> None:
    await store.take_epoch("host", 0)
    scene = Scene(store, tmp_path, Keep(days=90))
    log = await scene.ran(10)
    scene.clock.step(3650 * DAY)
    await scene.time.look()
    await scene.ran(10)
    await scene.tidy()
    assert log.exists()
    scene.clock.tick(3_600_000)
    await scene.time.look()
    await scene.ran(10)
    await scene.tidy()

    assert not log.exists()


async def test_when_nothing_has_finished_nothing_is_looked_at(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=1))
    log = await scene.ran(10)
    scene.retain = scene.service(Keep(log_bytes=1))
    await scene.tidy()

    assert log.exists()


async def test_it_is_woken_by_a_thousand_runs_or_by_the_first_after_ten_minutes(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep())
    scene.retain.heard(0, [1] * 999)
    assert not scene.retain.wake.is_set()
    scene.retain.heard(0, [1])
    assert scene.retain.wake.is_set()
    await scene.retain.wake.wait()
    await scene.tidy()
    scene.clock.tick(601_000)
    scene.retain.heard(0, [])
    assert not scene.retain.wake.is_set()
    scene.retain.heard(0, [1])
    assert scene.retain.wake.is_set()


async def test_many_events_without_a_finished_run_and_other_settings_wake_it_too(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep())
    scene.retain.heard(19_999, [])
    assert not (await scene.retain.run_once()).again
    scene.retain.heard(1, [])
    assert (await scene.retain.run_once()).again
    other = Scene(store, tmp_path, Keep())
    other.retain.keep = Keep()
    assert not other.retain.wake.is_set()
    other.retain.keep = Keep(days=7)
    assert other.retain.wake.is_set()


async def test_a_daemon_that_is_restarted_every_few_minutes_looks_as_well(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=1))
    scene.clock.tick(60_001)
    log = await scene.ran(10)
    assert scene.retain.wake.is_set()
    for _ in range(20):
        await scene.retain.run_once()
    assert not log.exists()


async def test_a_lowered_setting_holds_for_jobs_that_run_no_more(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(runs=3))
    job = await scene.job()
    logs = [await scene.ended(await scene.again(job), 10) for _ in range(5)]
    await scene.tidy()
    assert [log.exists() for log in logs] == [False, False, True, True, True]
    await scene.tidy()
    scene.retain.keep = Keep(runs=1)
    await scene.tidy()
    assert [log.exists() for log in logs] == [False] * 4 + [True]


async def test_a_job_whose_runs_end_long_after_those_of_others_keeps_no_more(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep(runs=1))
    job = await scene.job()
    claims = [await scene.again(job) for _ in range(3)]
    await scene.ran(10)
    await scene.tidy()
    logs = [await scene.ended(claim, 10) for claim in claims]
    await scene.tidy()
    assert [log.exists() for log in logs] == [False, False, True]


async def test_what_running_commands_write_counts_and_is_never_removed(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=110_000))
    old = [await scene.ran(20_000) for _ in range(3)]
    claim = await scene.began()
    scene.running.add((claim.run_id, claim.fence))
    await scene.tidy()
    assert all(log.exists() for log in old)
    writing = scene.wrote(claim, 60_000)
    await scene.tidy(after_ms=20_000)
    assert [log.exists() for log in (*old, writing)] == [False, True, True, True]
    scene.wrote(claim, 400_000)
    await scene.tidy()
    assert [log.exists() for log in (*old, writing)] == [False, False, False, True]
    scene.running.clear()
    await scene.ended(claim, 50_000)
    new = await scene.ran(20_000)
    await scene.tidy()
    assert (writing.exists(), new.exists()) == (True, True)


async def test_it_stops_anywhere_and_goes_on_where_it_was(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(days=1))
    logs = [await scene.ran(10) for _ in range(4)]
    scene.clock.tick(2 * DAY)
    await scene.ran(10)

    async def stops(_: Any, files: LogFiles, gone: Sequence[tuple[int, int]]) -> None:
        for run_id, fence in gone[:2]:
            files.remove(run_id, fence)
        raise KeyboardInterrupt

    scene.retain = Retain(store, scene.clock, scene.logs, Keep(days=1), scene.time.age_ms, aside=stops)
    scene.retain.heard(1, [1])
    with pytest.raises(KeyboardInterrupt):
        await scene.tidy()
    assert [log.exists() for log in logs] == [False, False, True, True]
    assert await scene.count() == 5
    scene.retain = scene.service(Keep(days=1))
    scene.retain.heard(1, [1])
    await scene.tidy()
    assert not any(log.exists() for log in logs)
    assert await scene.count() == 1


async def test_a_log_that_cannot_be_removed_keeps_nothing_else_and_is_tried_again(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep(days=1))
    bad, good = [await scene.ran(10) for _ in range(2)]
    bad.unlink()
    (bad / "in the way").mkdir(parents=True)
    scene.clock.tick(2 * DAY)
    await scene.ran(10)
    await scene.tidy()
    assert (bad.exists(), good.exists(), await scene.count()) == (True, False, 1)
    (bad / "in the way").rmdir()
    bad.rmdir()
    bad.write_bytes(b"x")
    scene.aged(bad)
    scene.clock.tick(2 * DAY)
    await scene.ran(10)
    await scene.tidy()
    assert not bad.exists()


async def test_logs_that_nothing_refers_to_are_found_once_they_are_a_day_old(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep())
    kept = scene.aged(await scene.ran(10))
    running = await scene.began()
    written = scene.aged(scene.wrote(running, 10))
    folder = kept.parent
    fence_that_came_to_nothing = folder / f"{kept.name.split('-')[0]}-7.log"
    draft = folder / f"{kept.name}~"
    strange = folder / "notes.txt"
    young = folder / "77-7.log"
    for file in (fence_that_came_to_nothing, draft, strange):
        file.write_bytes(b"x")
        scene.aged(file)
    young.write_bytes(b"x")
    scene.aged(young, days=0)
    elsewhere = Path(scene.logs.directory) / "41"
    elsewhere.mkdir()
    (elsewhere / "41007-9.log").write_bytes(b"x")
    scene.aged(elsewhere / "41007-9.log")
    await scene.tidy()
    assert all(file.exists() for file in (kept, written, strange, young))
    assert not any(file.exists() for file in (fence_that_came_to_nothing, draft, elsewhere / "41007-9.log"))


async def test_a_folder_goes_when_no_run_of_it_is_left_or_still_to_come(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(days=1))
    for _ in range(2):
        await scene.ran(10)
    folder = tmp_path / "runs" / "0"
    scene.clock.tick(2 * DAY)
    await scene.tidy()
    assert folder.exists()
    with sqlite3.connect(tmp_path / "jobctl.db") as database:  # 998 runs later
        database.execute("UPDATE sqlite_sequence SET seq = 1000 WHERE name = 'runs'")
    database.close()
    scene = Scene(store, tmp_path, Keep(days=1))
    await scene.ran(10)
    await scene.tidy()
    assert not folder.exists()
    assert (tmp_path / "runs" / "1").exists()


async def test_of_ad_hoc_runs_the_newest_are_kept_whatever_other_jobs_there_are(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep(adhoc=3))
    job = await scene.job()
    of_job = [await scene.ended(await scene.again(job), 10) for _ in range(4)]
    logs = [await scene.ran(10) for _ in range(7)]
    await scene.began()
    await scene.tidy()
    assert [log.exists() for log in logs] == [False] * 4 + [True] * 3
    with sqlite3.connect(tmp_path / "jobctl.db") as database:
        (jobs,) = database.execute("SELECT count(*) FROM jobs WHERE hidden = 1").fetchone()
    database.close()
    assert jobs == 3 + 1
    assert all(log.exists() for log in of_job)
    logs += [await scene.ran(10) for _ in range(2)]
    await scene.tidy()
    assert [log.exists() for log in logs[4:]] == [True] * 5
    scene.retain.keep = Keep(adhoc=2)
    await scene.tidy()
    assert [log.exists() for log in logs[4:]] == [False] * 3 + [True] * 2


async def test_a_single_command_that_writes_for_long_is_measured_though_nothing_else_happens(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=50_000))
    old = await scene.ran(20_000)
    await scene.tidy()
    while (await scene.retain.run_once()).next_ms is not None:
        scene.clock.tick(15_000)
    await scene.retain.wake.wait()
    claim = await scene.began()
    scene.retain.heard(2, [])  # the claim is told before the command is started
    assert scene.retain.wake.is_set()
    first = await scene.retain.run_once()
    scene.running.add((claim.run_id, claim.fence))
    scene.wrote(claim, 100_000)
    assert first.next_ms == scene.clock.now_ms() + 15_000
    await scene.tidy(after_ms=15_000)
    assert not old.exists()


async def test_an_idle_daemon_is_left_alone(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep())
    scene.clock.tick(DAY)
    assert await scene.retain.run_once() == Pass()
