"""Time: clocks that change, are set, drift and wake somebody early; zones that get other rules; boots."""

import random
import shutil
import signal
import sqlite3
import zoneinfo
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl.schedule import Cron
from jobctl.states import Misfire, Overlap, RunState
from jobctl_daemon.decide.admission import admit
from jobctl_daemon.rows import Finish
from jobctl_daemon.schedules import schedule_of
from kit.daemon import RealDaemon
from kit.lives import DAY, HOUR, MINUTE, OWNER, SECOND, T0, Lives

YEARS = 3652 * DAY


def ms(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Lives]:
    made = await Lives(tmp_path).begin()
    yield made
    await made.store.close()


# ── changes of the clock ──────────────────────────────────────────────

#: Zone, a fixed time, the midnight with which the test begins, and when it runs on the day of the change.
CHANGES = [
    ("America/New_York", "30 2 * * *", "2025-03-08T00:00-05:00", "2025-03-09T03:00-04:00"),
    ("America/New_York", "30 1 * * *", "2025-11-01T00:00-04:00", "2025-11-02T01:30-04:00"),
    ("Europe/Berlin", "30 2 * * *", "2025-03-29T00:00+01:00", "2025-03-30T03:00+02:00"),
    ("Europe/Berlin", "30 2 * * *", "2025-10-25T00:00+02:00", "2025-10-26T02:30+02:00"),
    ("America/Santiago", "30 0 * * *", "2025-09-06T00:00-04:00", "2025-09-07T01:00-03:00"),
    ("America/Santiago", "30 23 * * *", "2025-04-04T00:00-03:00", "2025-04-05T23:30-03:00"),
    ("Australia/Lord_Howe", "15 2 * * *", "2025-10-04T00:00+10:30", "2025-10-05T02:30+11:00"),
    ("Australia/Lord_Howe", "45 1 * * *", "2025-04-05T00:00+11:00", "2025-04-06T01:45+11:00"),
    ("Africa/Casablanca", "30 2 * * *", "2025-04-05T00:00+00:00", "2025-04-06T03:00+01:00"),
    ("Africa/Casablanca", "30 2 * * *", "2025-02-22T00:00+01:00", "2025-02-23T02:30+01:00"),
]


@pytest.mark.case("F040")
@pytest.mark.parametrize("how", ["awake", "down"])
@pytest.mark.parametrize(("zone", "cron", "midnight", "changed"), CHANGES)
async def test_a_fixed_time_runs_once_a_day_over_every_change_of_the_clock(
    tmp_path: Path, zone: str, cron: str, midnight: str, changed: str, how: str
) -> None:
    host = await Lives(tmp_path, ms(midnight)).begin()
    day = datetime.fromtimestamp(ms(midnight) / 1000, ZoneInfo(zone)).date()
    try:
        schedule = ScheduleSpec(timezone=zone, cron=cron)
        spec = JobSpec(
            name="nightly",
            schedule=schedule,
            execution=Execution(command=["true"]),
            policies=Policies(overlap=Overlap.ALLOW),
        )
        first = schedule_of(schedule).next_after(host.clock.now_ms())
        assert first is not None
        await host.store.create_job(OWNER, spec, first.at_ms, host.clock.now_ms(), None)
        before_ms = ms(changed) - 90 * MINUTE - host.clock.now_ms()
        await host.live(before_ms)
        await (host.live if how == "awake" else host.down)(3 * HOUR)
        end = datetime.combine(day + timedelta(3), time.min, ZoneInfo(zone))
        await host.live(int(end.timestamp() * 1000) - host.clock.now_ms())
        missed = await host.missed("nightly")
    finally:
        await host.store.close()

    slots = host.slots("nightly")
    days = [datetime.fromtimestamp(slot / 1000, ZoneInfo(zone)).date() for slot in slots]
    assert days == [day, day + timedelta(1), day + timedelta(2)]
    assert slots[1] == ms(changed)
    assert missed == []


@pytest.mark.case("F040")
def test_the_rule_for_changes_of_the_clock_is_said_where_times_are_shown(daemon: RealDaemon) -> None:
    daemon.add("nightly", "echo $JOBCTL_SCHEDULED_AT", schedule={"cron": "30 2 * * *", "timezone": "Europe/Berlin"})
    said = daemon.jobctl("next", "nightly", "--from", "2031-03-29", "-n", "3").stdout
    explained = daemon.jobctl("explain", "30 2 * * *", "--tz", "Europe/Berlin").stdout
    run = daemon.finished(daemon.triggered("nightly"))

    assert "03:00" in said
    assert "02:30" in explained
    assert "03:00" in explained
    assert run["scheduled_at"].endswith("Z")
    assert datetime.fromisoformat(daemon.output(run).decode().strip()) == datetime.fromisoformat(run["scheduled_at"])
    assert daemon.output(run).decode().strip()[-6:] in ("+01:00", "+02:00")


# ── the next time ──────────────────────────────────────────────

RARE = ("0 0 29 2 *", "0 0 * * 0", "*/7 1-3 * * *", "59 23 31 12 *", "30 2 * 3,10 0")


@pytest.mark.case("F042")
def test_in_every_zone_the_next_time_lies_ahead_around_every_change() -> None:
    for name in sorted(zoneinfo.available_timezones() - {"Factory", "localtime", "posixrules"}):
        dice = random.Random(name)
        start = ms("2024-01-01T00:00Z") + dice.randrange(30 * 365) * DAY
        cron = dice.choice(RARE)
        schedule = Cron(cron, name)
        at = start
        for _ in range(4):
            fire = schedule.next_after(at)
            assert fire is not None
            assert fire.at_ms > at, (name, cron, at)
            at = fire.at_ms


@pytest.mark.case("F042")
def test_a_leap_day_knows_the_century_and_a_date_that_never_comes_is_never() -> None:
    leap = Cron("0 0 29 2 *", "UTC")
    fires = list(leap.fires(ms("2095-01-01T00:00Z"), ms("2105-01-01T00:00Z")))

    assert [datetime.fromtimestamp(fire.at_ms / 1000, UTC).year for fire in fires] == [2096, 2104]
    for text in ("0 0 30 2 *", "0 0 31 4,6 *"):
        assert Cron(text, "America/Santiago").next_after(T0) is None


@pytest.mark.case("F042")
def test_a_date_that_never_comes_is_told_and_holds_up_nobody(daemon: RealDaemon) -> None:
    added = daemon.jobctl("add", "never", "--cron", "0 0 30 2 *", "--", "/bin/true")
    daemon.add("each", ["/bin/true"], schedule={"every": 1}, overlap="allow")
    daemon.until(lambda: len(daemon.runs_of("each", state="succeeded")) >= 2)

    assert added.returncode == 0
    assert "never" in added.stdout + added.stderr
    assert daemon.client.job("never")["next_run_at"] is None


# ── a clock that is set ──────────────────────────────────────────────


@pytest.mark.case("F045")
async def test_what_runs_while_the_clock_is_set_keeps_its_claim_and_ends_under_it(host: Lives) -> None:
    job = await host.add("long")
    now_ms = host.clock.now_ms()
    await host.store.trigger(OWNER, job.id, now_ms, now_ms, None)
    await host.store.admit(admit(await host.store.pending(now_ms, 10), now_ms), now_ms)
    (claim,) = await host.store.claim(now_ms, 10, "host", "boot")
    await host.add("minutely", cron="* * * * *")
    await host.live(20 * SECOND)
    for step in (-2 * HOUR, 2 * HOUR, -5 * SECOND, 5 * SECOND, -400 * DAY, 400 * DAY):
        real_ms, started = host.real_ms, len(host.starts)
        await host.step(step)
        await host.live(3 * MINUTE)
        fresh = host.starts[started:]
        assert fresh[0].real_ms - real_ms <= MINUTE
        assert {start.job for start in fresh} == {"minutely"}
    ended = Finish(
        run_id=claim.run_id,
        fence=claim.fence,
        state=RunState.SUCCEEDED,
        outcome="ok",
        failure_class=None,
        reason=None,
        started_ms=now_ms,
        ended_ms=host.clock.now_ms(),
        exit_code=0,
    )
    (verdict,) = await host.store.finish([ended], host.clock.now_ms())

    assert verdict.answer == "ok"
    assert len({start.key for start in host.of("minutely")}) == len(host.of("minutely"))
    assert host.said("clock.stepped")


@pytest.mark.case("F046")
async def test_a_jump_of_ten_years_and_back_costs_each_job_what_its_policy_allows(host: Lives) -> None:
    for number in range(50):
        await host.add(f"once-{number}", cron="*/5 * * * *")
    for number in range(5):
        await host.add(f"all-{number}", cron="*/5 * * * *", misfire=Misfire.ALL)
    await host.live(10 * MINUTE)
    before = len(host.starts)
    await host.step(YEARS)
    await host.live(30 * SECOND)
    jumped = [start.job for start in host.starts[before:]]
    before, real_ms = len(host.starts), host.real_ms
    await host.step(-YEARS)
    await host.live(10 * MINUTE)
    after = host.starts[before:]

    assert all(jumped.count(f"once-{number}") == 1 for number in range(50))
    assert all(1 <= jumped.count(f"all-{number}") <= 10 for number in range(5))
    assert [event.kind for event in host.said("clock.stepped")] == ["clock.stepped"] * 2
    assert {start.job for start in after} == set(jumped)
    assert min(start.real_ms for start in after) - real_ms <= 5 * MINUTE
    for job in await host.store.due(1 << 62, None, 100):
        assert job.next_ms is not None
        assert 0 < job.next_ms - host.clock.now_ms() <= 5 * MINUTE


@pytest.mark.case("F048")
@pytest.mark.parametrize("ppm", [500, -500])
async def test_under_a_clock_that_runs_fast_or_slow_no_slot_is_doubled_early_or_later_and_later(
    host: Lives, ppm: int
) -> None:
    await host.add("minutely", cron="* * * * *")
    for _ in range(120 * 6):
        await host.live(10 * SECOND)
        await host.step(10 * SECOND * ppm // 1_000_000)
    starts = host.of("minutely")

    assert [after.slot_ms - before.slot_ms for before, after in pairwise(starts)] == [MINUTE] * (len(starts) - 1)
    assert len(starts) >= 119
    delays = [start.wall_ms - start.slot_ms for start in starts]
    assert min(delays) >= 0
    assert max(delays) <= 200


@pytest.mark.case("F048")
def test_each_second_has_its_run_and_none_before_its_time(daemon: RealDaemon) -> None:
    daemon.add("each", "date +%s.%N", schedule={"cron": "* * * * *", "timezone": "UTC"})
    daemon.add("second", "date +%s%3N; echo $JOBCTL_SCHEDULED_AT", schedule={"every": 1}, overlap="allow")
    daemon.until(lambda: len(daemon.runs_of("second", state="succeeded")) >= 4)
    daemon.client.pause_job("second")
    runs = daemon.runs_of("second", state="succeeded")
    slots = [ms(run["scheduled_at"]) for run in runs]
    began = [int(daemon.output(run).split()[0]) for run in runs]

    assert [after - before for before, after in pairwise(slots)] == [1000] * (len(slots) - 1)
    assert all(0 <= start - slot < 1000 for start, slot in zip(began, slots, strict=True))


# ── zones ──────────────────────────────────────────────


def zone_folder(folder: Path, offset: int) -> Path:
    """A folder of zones in which Test/Zone is so many hours ahead of UTC."""
    source = next(Path(place) for place in zoneinfo.TZPATH if (Path(place) / "Etc/UTC").is_file())
    for name in ("Etc", "Test"):
        (folder / name).mkdir(parents=True)
    for name in ("UTC", "GMT"):
        shutil.copy(source / "Etc" / name, folder / "Etc" / name)
    shutil.copy(source / "Etc" / "UTC", folder / "UTC")
    shutil.copy(source / "Etc" / f"GMT-{offset}", folder / "Test" / "Zone")
    (folder / "+VERSION").write_text(f"2031{offset}\n")
    return folder


@pytest.mark.long
@pytest.mark.case("F050")
def test_new_rules_of_a_zone_are_followed_after_a_reload_and_after_a_start(tmp_path: Path) -> None:
    used, two, three = tmp_path / "used", zone_folder(tmp_path / "two", 2), zone_folder(tmp_path / "three", 3)
    used.symlink_to(two)
    daemon = RealDaemon(tmp_path / "h")
    daemon.environ["PYTHONTZPATH"] = str(used)

    def swap(folder: Path) -> None:
        used.unlink()
        used.symlink_to(folder)

    def next_at() -> datetime:
        return datetime.fromisoformat(daemon.client.job("early")["next_run_at"])

    try:
        daemon.start()
        daemon.add("early", ["/bin/true"], schedule={"cron": "0 9 * * *", "timezone": "Test/Zone"})
        first, release = next_at(), daemon.client.status()["tzdata"]
        assert (first.hour, release) == (7, "20312")
        swap(three)
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGHUP)
        while daemon.client.status()["tzdata"] != "20313":
            pass
        while next_at().hour != 6:
            pass
        daemon.stop()
        swap(two)
        daemon.start()
        assert (next_at().hour, daemon.client.status()["tzdata"]) == (7, "20312")
        # The same release with other files: a host that mended one by hand.
        shutil.copy(three / "Test" / "Zone", two / "Test" / "Zone")
        daemon.process.send_signal(signal.SIGHUP)
        while next_at().hour != 6:
            pass
        assert daemon.runs_of("early") == []
    finally:
        daemon.close()


# ── boots ──────────────────────────────────────────────


@pytest.mark.long
@pytest.mark.case("F052")
def test_a_boot_job_runs_once_a_boot_and_a_start_job_at_every_start(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "h")
    try:
        daemon.start()
        daemon.add("boot", ["/bin/true"], schedule={"on_boot": True})
        daemon.add("start", ["/bin/true"], schedule={"on_start": True}, overlap="queue")
        for _ in range(2):
            daemon.stop()
            daemon.start()
        daemon.until(lambda: len(daemon.runs_of("start", state="succeeded")) == 2)
        restarted = len(daemon.runs_of("boot"))
        daemon.stop()
        with closing(sqlite3.connect(daemon.home / "state" / "jobctl.db")) as database, database:
            changed = database.execute("UPDATE meta SET value = 'another boot' WHERE key = 'boot'").rowcount
        daemon.start()
        daemon.until(lambda: len(daemon.runs_of("boot", state="succeeded")) == 1)
        daemon.restart()
        daemon.until(lambda: len(daemon.runs_of("start", state="succeeded")) == 4)

        assert (restarted, changed) == (0, 1)
        assert len(daemon.runs_of("boot")) == 1
    finally:
        daemon.close()
