"""Retention over a real store and real log files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl_daemon.decide.outcome import Result, judge, record
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Admission, Caller, Keep, RunFilter
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.retain import Retain
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock

OWNER = Caller(uid=1000, name="ana", all_owners=True)
DAY = 86_400_000


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
        self.retain = Retain(store, self.clock, self.logs, keep, self.time.age_ms)

    async def ran(self, size: int) -> Path:
        """One ad-hoc run with a log of so many bytes."""
        spec = JobSpec(
            name="x",
            schedule=ScheduleSpec(timezone="UTC"),
            execution=Execution(command=["true"]),
            policies=Policies(),
            hidden=True,
        )
        now = self.clock.now_ms()
        run = (await self.store.run_adhoc(OWNER, spec, now, now, None)).run
        await self.store.admit([Admission(run_id=run.id)], now)
        (claim,) = await self.store.claim(now, 1, "host", "boot")
        log = Path(self.logs.create_dir(claim.run_id, claim.fence))
        log.write_bytes(b"x" * size)
        result = Result(claim.run_id, claim.fence, now, started_ms=now, exit_code=0, log_size=size)
        await self.store.finish([record(result, judge(result))], now)
        self.retain.finished(1)
        return log

    async def tidy(self) -> None:
        while (await self.retain.run_once()).again:
            pass

    async def count(self) -> int:
        return len((await self.store.runs(OWNER, RunFilter()))[0])


async def test_logs_over_the_budget_go_oldest_first_and_their_runs_stay(store: SqliteStore, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path, Keep(log_bytes=250))
    logs = [await scene.ran(100) for _ in range(4)]
    await scene.tidy()

    assert [log.exists() for log in logs] == [False, False, True, True]
    assert await scene.count() == 4
    assert await store.log_bytes() == 200


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
    scene.retain = Retain(store, scene.clock, scene.logs, Keep(log_bytes=1))
    await scene.tidy()

    assert log.exists()


async def test_it_is_woken_by_a_thousand_runs_or_by_the_first_after_ten_minutes(
    store: SqliteStore, tmp_path: Path
) -> None:
    scene = Scene(store, tmp_path, Keep())
    scene.retain.finished(999)
    assert not scene.retain.wake.is_set()
    scene.retain.finished(1)
    assert scene.retain.wake.is_set()
    await scene.retain.wake.wait()
    await scene.tidy()
    scene.clock.tick(601_000)
    scene.retain.finished(1)
    assert scene.retain.wake.is_set()
