"""The due scan over a real store, under a clock that the test moves."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.errors import Unavailable
from jobctl.model import Execution, Job, JobSpec, Policies, ScheduleSpec
from jobctl.states import Misfire, SkipReason, Trigger
from jobctl_daemon.rows import Caller, ClockStep, DueJob, Expansion, JobFilter, LedgerRow, RunFilter
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.services import once
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.materialise import Materialise
from jobctl_daemon.services.zones import follow_zone_data
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock

MINUTE = 60_000
OWNER = Caller(uid=1000, name="ana", all_owners=True)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(str(tmp_path / "jobctl.db"))
    await made.open()
    yield made
    await made.close()


class Scene:
    """A store, a clock, and the due scan."""

    def __init__(self, store: SqliteStore, clock: ManualClock, epoch: int) -> None:
        self.store = store
        self.clock = clock
        self.epoch = epoch
        self.scan = Materialise(store, Timekeeper(store, clock, epoch), epoch, lambda: None)

    async def add(self, schedule: ScheduleSpec, policies: Policies | None = None, name: str = "job") -> Job:
        spec = JobSpec(
            name=name, schedule=schedule, execution=Execution(command=["true"]), policies=policies or Policies()
        )
        fire = schedule_of(schedule).next_after(self.clock.now_ms())
        created = await self.store.create_job(OWNER, spec, fire.at_ms if fire else None, self.clock.now_ms(), None)
        return created.job

    async def run_all(self) -> None:
        while (await self.scan.run_once()).again:
            pass

    async def slots(self, job: Job) -> list[str]:
        runs, _ = await self.store.runs(OWNER, RunFilter(job_id=job.id))
        return [run.scheduled_at for run in reversed(runs)]

    async def skipped(self, job: Job) -> list[LedgerRow]:
        rows = await self.store.ledger(OWNER, job.id, 0, 1 << 60, 100)
        return [row for row in rows if row.run_id is None]


@pytest.fixture
async def scene(store: SqliteStore) -> Scene:
    clock = ManualClock(now_ms=1_800_000_000_000)
    return Scene(store, clock, await store.take_epoch("host", clock.now_ms()))


def _minutely(clock: ManualClock) -> ScheduleSpec:
    return ScheduleSpec(timezone="UTC", every_ms=MINUTE, anchor_ms=clock.now_ms())


async def test_each_occurrence_becomes_one_run_however_often_the_scan_looks(scene: Scene) -> None:
    job = await scene.add(_minutely(scene.clock))
    for _ in range(3):
        scene.clock.tick(MINUTE)
        await scene.run_all()
        await scene.run_all()

    assert len(await scene.slots(job)) == 3
    assert await scene.skipped(job) == []


@pytest.mark.parametrize(
    ("policies", "runs", "missed"),
    [
        (Policies(misfire=Misfire.ALL), 5, 0),
        (Policies(misfire=Misfire.ONCE), 1, 4),
        (Policies(misfire=Misfire.SKIP, misfire_within_ms=10_000), 0, 5),
    ],
)
async def test_five_due_times_in_an_outage_are_five_runs_or_rows_that_say_why(
    scene: Scene, policies: Policies, runs: int, missed: int
) -> None:
    job = await scene.add(_minutely(scene.clock), policies)
    scene.clock.tick(5 * MINUTE + 30_000)
    await scene.run_all()
    made = await scene.store.runs(OWNER, RunFilter(job_id=job.id))
    rows = await scene.skipped(job)

    assert len(made[0]) == runs
    assert sum(row.count for row in rows) == missed
    assert {row.reason for row in rows} <= {SkipReason.MISFIRE}


async def test_the_daemon_that_lost_its_epoch_expands_nothing(scene: Scene) -> None:
    job = await scene.add(_minutely(scene.clock))
    await scene.store.take_epoch("another", scene.clock.now_ms())
    scene.clock.tick(MINUTE)
    await scene.scan.run_once()

    assert await scene.slots(job) == []


async def test_the_pass_asks_to_be_called_at_the_next_instant_and_never_without_one(scene: Scene) -> None:
    assert (await scene.scan.run_once()).next_ms is None
    await scene.add(_minutely(scene.clock))

    assert (await scene.scan.run_once()).next_ms == scene.clock.now_ms() + MINUTE


async def test_a_job_with_a_broken_zone_is_parked_and_harms_no_other(scene: Scene) -> None:
    good = await scene.add(_minutely(scene.clock), name="good")
    broken = ScheduleSpec(timezone="Mars/Olympus", cron="* * * * *")
    spec = JobSpec(name="broken", schedule=broken, execution=Execution(command=["true"]), policies=Policies())
    await scene.store.create_job(OWNER, spec, scene.clock.now_ms() + MINUTE, scene.clock.now_ms(), None)
    scene.clock.tick(MINUTE)
    await scene.run_all()
    parked = await scene.store.job(OWNER, "broken")

    assert len(await scene.slots(good)) == 1
    assert parked.state == "parked"
    assert "Mars/Olympus" in str(parked.error)


async def test_missed_slots_of_a_pause_are_one_row_and_nothing_fires_at_its_end(scene: Scene) -> None:
    job = await scene.add(_minutely(scene.clock), Policies(misfire=Misfire.ALL))
    now = scene.clock.now_ms()
    await scene.store.pause_job(OWNER, job.id, "ana", now + 5 * MINUTE + 1000, "holiday", now)
    scene.clock.tick(3 * MINUTE)
    await scene.run_all()
    assert await scene.slots(job) == []
    scene.clock.tick(3 * MINUTE)
    await scene.run_all()
    (row,) = await scene.skipped(job)

    assert (row.reason, row.count) == (SkipReason.PAUSED, 6)
    assert not (await scene.store.job(OWNER, "job")).paused
    assert await scene.slots(job) == []


async def test_a_store_that_fails_while_a_pause_ends_parks_nobody(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_ms = scene.clock.now_ms()
    step = ClockStep(from_ms=started_ms, to_ms=started_ms - MINUTE, held_ms=started_ms)
    await scene.store.stepped(step, scene.epoch)
    job = await scene.add(_minutely(scene.clock))
    scene.clock.tick(MINUTE // 2)
    await scene.store.pause_job(OWNER, job.id, "ana", None, None, scene.clock.now_ms())
    scene.clock.tick(5 * MINUTE)
    await scene.store.resume_job(OWNER, job.id, False, scene.clock.now_ms())

    async def lost(job_ids: Any, now_ms: int) -> Any:
        raise Unavailable("the answer was lost")

    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "covered", lost)
        with pytest.raises(Unavailable):
            await scene.run_all()
    await scene.run_all()
    (resumed,), _ = await scene.store.jobs(OWNER, JobFilter(limit=10))
    assert (resumed.state, len(await scene.skipped(job))) == ("ok", 1)


@pytest.mark.case("F052")
async def test_a_boot_job_runs_once_each_boot_and_not_for_the_boot_it_was_added_in(scene: Scene) -> None:
    await once.expand_boot(scene.store, scene.clock, "boot-a", scene.epoch)
    scene.clock.tick(1000)
    job = await scene.add(ScheduleSpec(timezone="UTC", on_boot=True))
    made = []
    for boot in ("boot-a", "boot-a", "boot-b", "boot-b"):
        scene.clock.tick(1000)
        made.append(await once.expand_boot(scene.store, scene.clock, boot, scene.epoch))
    runs, _ = await scene.store.runs(OWNER, RunFilter(job_id=job.id))

    assert made == [0, 0, 1, 0]
    assert [run.trigger for run in runs] == [Trigger.BOOT]


async def test_a_start_job_runs_at_each_start_of_the_daemon(scene: Scene) -> None:
    job = await scene.add(ScheduleSpec(timezone="UTC", on_start=True))
    for _ in range(2):
        scene.clock.tick(1000)
        epoch = await scene.store.take_epoch("host", scene.clock.now_ms())
        await once.expand_start(scene.store, scene.clock, epoch)
    runs, _ = await scene.store.runs(OWNER, RunFilter(job_id=job.id))

    assert [run.trigger for run in runs] == [Trigger.START] * 2


async def test_a_hundred_thousand_missed_slots_do_not_hold_up_the_scan(scene: Scene) -> None:
    job = await scene.add(ScheduleSpec(timezone="UTC", every_ms=1000, anchor_ms=scene.clock.now_ms()))
    scene.clock.tick(100_000_000)
    await scene.run_all()

    assert len(await scene.slots(job)) == 1
    assert sum(row.count for row in await scene.skipped(job)) == 99_999


@pytest.mark.case("F050")
async def test_new_zone_data_aims_every_cursor_again_and_old_data_touches_none(scene: Scene) -> None:
    job = await scene.add(ScheduleSpec(timezone="Europe/Berlin", cron="0 9 * * *"))
    right = job.next_run_at
    assert await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026a") == 0
    (cursor,) = await scene.store.due(1 << 62, None, 10)
    wrong = Expansion(
        job_id=job.id,
        version=cursor.version,
        revision=cursor.revision,
        runs=(),
        skips=(),
        next_ms=(cursor.next_ms or 0) + 3_600_000,
        handled_ms=cursor.handled_ms,
    )
    await scene.store.expand([wrong], scene.clock.now_ms(), scene.epoch)

    assert await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026a") == 0
    assert await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026b") == 1
    assert (await scene.store.job(OWNER, "job")).next_run_at == right


async def test_a_look_at_new_zone_data_that_was_broken_off_is_made_again_also_when_the_old_data_is_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.add(ScheduleSpec(timezone="Europe/Berlin", cron="0 9 * * *"))
    assert await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026a") == 0
    looks = []

    async def dies(*_: object) -> list[object]:
        looks.append("died")
        raise RuntimeError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(scene.store, "due", dies)
        with pytest.raises(RuntimeError):
            await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026b")
    read = scene.store.due

    async def counted(*arguments: Any) -> list[DueJob]:
        looks.append("looked")
        return await read(*arguments)

    monkeypatch.setattr(scene.store, "due", counted)
    await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026a")
    again = len(looks)
    await follow_zone_data(scene.store, scene.clock.now_ms(), scene.epoch, "2026a")

    assert looks[:2] == ["died", "looked"]
    assert len(looks) == again
