"""The wall clock is set, the machine sleeps or is off: nothing repeats that should not, nothing falls silent."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.states import Misfire, SkipReason, Trigger
from jobctl_daemon.decide.skip import skip
from jobctl_daemon.rows import RunFilter
from jobctl_daemon.schedules import schedule_of
from kit.lives import DAY, HOUR, MINUTE, OWNER, SECOND, T0, Lives

YEARS = 3652 * DAY


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Lives]:
    made = await Lives(tmp_path).begin()
    yield made
    await made.store.close()


async def _busy(host: Lives) -> None:
    """A daily job that runs at 03:00, one each minute, and one in an interval; it is 03:30:30 then."""
    await host.add("daily", cron="0 3 * * *")
    await host.live(3 * HOUR + 20 * MINUTE + 30 * SECOND)
    await host.add("minutely", cron="* * * * *")
    await host.add("interval", every_ms=MINUTE)
    await host.live(10 * MINUTE)
    assert host.slots("daily") == [T0 + 3 * HOUR]


async def _goes_on(host: Lives) -> None:
    """Within a minute of real time each of the two runs again, never before its time."""
    before, real_ms = len(host.starts), host.real_ms
    await host.live(MINUTE)
    fresh = host.starts[before:]
    assert {"minutely", "interval"} <= {start.job for start in fresh}
    assert all(start.real_ms - real_ms <= MINUTE for start in fresh)
    assert all(start.wall_ms >= start.slot_ms for start in fresh)


async def _alone(host: Lives, ms: int) -> None:
    """The daily one alone, for so long."""
    for name in ("minutely", "interval"):
        job = await host.store.job(OWNER, name)
        await host.store.delete_job(OWNER, job.id, host.clock.now_ms())
    await host.live(ms)


@pytest.mark.parametrize("clean", [True, False])
async def test_how_long_no_daemon_ran_is_known(host: Lives, clean: bool) -> None:
    assert host.time.last_down is None
    await host.add("minutely", cron="* * * * *")
    await host.live(5 * MINUTE + 20 * SECOND)
    stopped_ms = host.clock.now_ms()
    if clean:
        await host.down(4 * MINUTE)
    else:
        await host.off(4 * MINUTE)
    from_ms = stopped_ms if clean else stopped_ms - 20 * SECOND
    assert host.time.last_down == (from_ms, host.clock.now_ms(), clean)


# ── set back ──────────────────────────────────────────────


@pytest.mark.case("F045")
async def test_two_hours_back_everything_goes_on_and_the_daily_one_is_not_repeated(host: Lives) -> None:
    await _busy(host)
    await host.step(-2 * HOUR)
    await _goes_on(host)
    assert len({start.key for start in host.of("minutely")}) == len(host.of("minutely"))
    assert await host.missed("minutely") == []
    await _alone(host, 26 * HOUR)

    assert host.slots("daily") == [T0 + 3 * HOUR, T0 + 27 * HOUR]
    (row,) = await host.missed("daily")
    assert (row.reason, row.from_ms, row.count) == (SkipReason.CLOCK, T0 + 3 * HOUR, 1)
    assert "2027-01-16T03:30:30Z to 2027-01-16T01:30:30Z" in (row.detail or "")
    (event,) = host.said("clock.stepped")
    assert event.data == {"from": "2027-01-16T03:30:30Z", "to": "2027-01-16T01:30:30Z", "generation": 1}


async def test_the_minutes_that_are_lived_again_have_runs_of_their_own(host: Lives) -> None:
    await _busy(host)
    ran = len(host.of("minutely"))
    await host.step(-5 * MINUTE)
    await host.live(10 * MINUTE)

    again = host.of("minutely", ran)
    assert [start.slot_ms for start in again] == [T0 + 3 * HOUR + minute * MINUTE for minute in range(26, 36)]
    assert all(start.key.endswith(":1") for start in again)


@pytest.mark.case("F045")
@pytest.mark.parametrize("by_ms", [5 * SECOND, 59 * SECOND])
async def test_a_step_of_seconds_repeats_nothing_and_makes_no_generation(host: Lives, by_ms: int) -> None:
    await _busy(host)
    await host.step(-by_ms)
    real_ms = host.real_ms
    await host.live(2 * MINUTE)

    slots = host.slots("minutely")
    assert len(slots) == len(set(slots))
    assert host.starts[-1].real_ms - real_ms <= 2 * MINUTE
    assert host.said("clock.stepped") == []


@pytest.mark.case("F045")
async def test_days_back_everything_counts_from_there(host: Lives) -> None:
    await _busy(host)
    await host.step(-400 * DAY)
    await _goes_on(host)
    await _alone(host, DAY)

    assert host.slots("daily") == [T0 + 3 * HOUR, T0 + 27 * HOUR - 400 * DAY]
    assert await host.missed("daily") == []


async def test_a_single_instant_to_come_waits_for_its_time_and_one_that_is_done_stays_done(host: Lives) -> None:
    await host.add("done", at_ms=T0 + HOUR)
    await host.add("to come", at_ms=T0 + 5 * HOUR)
    await host.live(2 * HOUR)
    await host.step(-90 * MINUTE)
    await host.live(4 * HOUR + 29 * MINUTE)
    assert host.slots("to come") == []
    await host.live(MINUTE)

    assert (host.slots("done"), host.slots("to come")) == ([T0 + HOUR], [T0 + 5 * HOUR])


async def test_a_job_that_is_paused_over_a_correction_goes_on_from_there(host: Lives) -> None:
    job = await host.add("minutely", cron="* * * * *")
    await host.live(10 * MINUTE)
    await host.store.pause_job(OWNER, job.id, "ada", None, None, host.clock.now_ms())
    await host.live(MINUTE)
    await host.step(-DAY)
    await host.live(5 * MINUTE)
    await host.store.resume_job(OWNER, job.id, False, host.clock.now_ms())
    await host.live(MINUTE)

    assert len(host.of("minutely")) == 11
    assert host.of("minutely")[-1].slot_ms == T0 - DAY + 17 * MINUTE


async def test_a_pause_over_a_wrong_clock_at_boot_counts_what_it_swallowed_and_no_more(host: Lives) -> None:
    job = await host.add("minutely", cron="* * * * *")
    await host.live(10 * MINUTE)
    await host.store.pause_job(OWNER, job.id, "ada", None, None, host.clock.now_ms())
    await host.live(5 * MINUTE)
    await host.off(0, shows_ms=35 * SECOND)
    await host.set(T0 + 20 * MINUTE)
    await host.store.resume_job(OWNER, job.id, True, host.clock.now_ms())
    await host.look()

    assert host.slots("minutely")[-1] == T0 + 20 * MINUTE
    (row,) = await host.missed("minutely")
    assert (row.reason, row.from_ms, row.count) == (SkipReason.PAUSED, T0 + 11 * MINUTE, 9)


async def test_what_was_skipped_on_request_stays_skipped_over_a_small_step(host: Lives) -> None:
    job = await host.add("daily", cron="0 3 * * *")
    cursor = await host.store.cursor(OWNER, job.id)
    asked = skip(cursor, schedule_of(cursor.schedule), 1, "holiday", host.clock.now_ms())
    assert asked is not None
    await host.store.skip_next(OWNER, job.id, asked.row, cursor.revision, asked.next_ms, host.clock.now_ms())
    await host.step(-10 * MINUTE)
    await host.live(DAY)

    assert host.slots("daily") == []


# ── forward, and back again ──────────────────────────────────────────────


@pytest.mark.case("F046")
async def test_ten_years_forward_and_back_costs_one_run_and_silences_nothing(host: Lives) -> None:
    await _busy(host)
    before = len(host.starts)
    await host.step(YEARS)
    jumped = host.starts[before:]
    assert sorted(start.job for start in jumped) == ["daily", "interval", "minutely"]
    await host.live(30 * SECOND)
    await host.step(-YEARS)
    await _goes_on(host)
    await _alone(host, DAY)

    assert host.slots("daily") == [T0 + 3 * HOUR, T0 + 3 * HOUR + YEARS, T0 + 27 * HOUR]
    (row,) = await host.missed("daily")
    assert (row.reason, row.count) == (SkipReason.CLOCK, 3651)
    assert "the clock was set forward" in (row.detail or "")
    assert [event.data["generation"] for event in host.said("clock.stepped")] == [0, 1]


async def test_misses_after_a_wrong_time_was_corrected_are_caught_up_as_ever(host: Lives) -> None:
    await _busy(host)
    await host.step(YEARS)
    await host.step(-YEARS)
    await host.live(2 * MINUTE)
    await host.down(DAY)

    assert host.slots("daily")[-1] == T0 + 27 * HOUR
    rows = [row for row in await host.missed("minutely") if row.reason is SkipReason.DOWN]
    assert sum(row.count for row in rows) == 24 * 60 - 1


@pytest.mark.case("F046")
@pytest.mark.parametrize("down_ms", [0, 10 * HOUR])
async def test_a_clock_that_is_at_1970_for_a_while_after_the_boot_repeats_nothing(host: Lives, down_ms: int) -> None:
    await _busy(host)
    before = len(host.starts)
    right_ms = host.clock.now_ms() + down_ms
    await host.off(down_ms, shows_ms=35 * SECOND)
    await host.live(20 * SECOND)
    await host.set(right_ms + 20 * SECOND)
    await _goes_on(host)
    missed = await host.missed("minutely")
    assert sum(row.count for row in missed) <= down_ms // MINUTE + 1
    assert all(start.slot_ms > T0 for start in host.starts[before:])
    await _alone(host, DAY)

    assert host.slots("daily") == [T0 + 3 * HOUR, T0 + 27 * HOUR]
    assert await host.missed("daily") == []


async def test_a_daily_one_that_was_missed_while_the_machine_was_off_runs_when_the_clock_is_right(host: Lives) -> None:
    await _busy(host)
    right_ms = host.clock.now_ms() + DAY
    await host.off(DAY, shows_ms=0)
    await host.live(20 * SECOND)
    await host.set(right_ms + 20 * SECOND)

    assert host.slots("daily") == [T0 + 3 * HOUR, T0 + 27 * HOUR]
    (run,) = [run for run in (await host.store.runs(OWNER, RunFilter(limit=3000)))[0] if run.job == "daily"][:1]
    assert run.trigger is Trigger.CATCH_UP


async def test_a_daemon_that_first_sees_a_wrong_future_and_dies_there_goes_on_in_the_right_time(host: Lives) -> None:
    await _busy(host)
    await host.off(HOUR, shows_ms=T0 + YEARS)
    await host.live(20 * SECOND)
    await host.crash()
    host.clock.set(T0 + 5 * HOUR)
    await host.begin()
    await _goes_on(host)

    assert host.slots("daily") == [T0 + 3 * HOUR, T0 + 3 * HOUR + YEARS - DAY]


# ── one path for what was missed ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("how", "reason", "words"),
    [
        ("down", SkipReason.DOWN, "no daemon ran"),
        ("off", SkipReason.DOWN, "no daemon ran"),
        ("sleep", SkipReason.CLOCK, "the machine slept"),
        ("step", SkipReason.CLOCK, "the clock was set forward"),
    ],
)
async def test_five_due_times_are_five_one_or_no_run_whatever_the_gap(
    host: Lives, how: str, reason: SkipReason, words: str
) -> None:
    for misfire, within_ms in ((Misfire.ALL, DAY), (Misfire.ONCE, DAY), (Misfire.SKIP, 20 * SECOND)):
        await host.add(misfire.value, every_ms=MINUTE, misfire=misfire, within_ms=within_ms)
    await host.live(2 * MINUTE + 10 * SECOND)
    before = len(host.starts)
    await getattr(host, how)(5 * MINUTE + 20 * SECOND)
    made = [start.job for start in host.starts[before:]]

    assert [made.count(name) for name in ("all", "once", "skip")] == [5, 1, 0]
    rows = {name: await host.missed(name) for name in ("all", "once", "skip")}
    assert [[row.count for row in rows[name]] for name in ("all", "once", "skip")] == [[], [4], [5]]
    assert {row.reason for name in rows for row in rows[name]} == {reason}
    assert all(words in (row.detail or "") for name in rows for row in rows[name])
    await host.live(MINUTE)
    assert [len(host.starts[before:]) - len(made)] == [3]


async def test_a_second_crash_in_the_catch_up_adds_no_double(host: Lives) -> None:
    await host.add("all", every_ms=MINUTE, misfire=Misfire.ALL)
    await host.live(MINUTE)
    for _ in range(3):
        await host.crash()
        host.clock.tick(101 * MINUTE)
        await host.begin()
        await host.crash()
        await host.begin()

    slots = host.slots("all")
    assert len(slots) == len(set(slots)) == 1 + 3 * 10
    assert sum(row.count for row in await host.missed("all")) == 3 * 91


async def test_a_storm_is_spread_and_what_is_on_its_time_goes_before_the_rest(host: Lives) -> None:
    for number in range(500):
        await host.add(f"hourly-{number}", cron="0 * * * *")
    on_time = T0 + 12 * HOUR + 30 * MINUTE + 3 * SECOND
    await host.add("on-time", at_ms=on_time)
    await host.down(12 * HOUR + 30 * MINUTE)
    real_ms = host.real_ms
    at_once = len(host.starts)
    await host.live(30 * SECOND)

    caught_up = [start for start in host.starts if start.job != "on-time"]
    assert at_once == 16
    assert len(caught_up) == 500
    assert {start.slot_ms for start in caught_up} == {T0 + 12 * HOUR}
    seconds = [(start.real_ms - real_ms) // SECOND for start in caught_up[16:]]
    assert max(seconds.count(second) for second in set(seconds)) <= 51
    (single,) = host.of("on-time")
    assert single.wall_ms - on_time <= 2 * SECOND


async def test_a_backlog_that_fills_every_slot_lets_what_is_on_its_time_go_first(host: Lives) -> None:
    for number in range(200):
        await host.add(f"hourly-{number}", cron="0 * * * *")
    for number in range(5):
        await host.add(f"each-{number}", cron="0 * * * *", misfire=Misfire.ALL)
    on_time = T0 + 12 * HOUR + 30 * MINUTE + 5 * SECOND
    await host.add("on-time", at_ms=on_time)
    host.room = 8
    await host.down(12 * HOUR + 30 * MINUTE)
    await host.live(MINUTE)

    (single,) = host.of("on-time")
    assert single.wall_ms - on_time <= 2 * SECOND
    assert len(host.starts) == 200 + 5 * 10 + 1
    assert host.most_running == 8


# ── waking ──────────────────────────────────────────────


@pytest.mark.case("F048")
async def test_a_wake_that_is_early_or_late_makes_one_run_and_never_before_its_time(host: Lives) -> None:
    await host.add("minutely", cron="* * * * *")
    for round_ in range(1, 200):
        around = (-2000, -1999, -500, -2, -1, 0, 1, 700, 1500)
        for offset in around[round_ % 3 :: 1 + round_ % 2]:
            wait_ms = T0 + round_ * MINUTE + offset - host.clock.now_ms()
            host.clock.tick(max(0, wait_ms))
            await host.look()
        host.clock.tick(MINUTE // 2)
        await host.look()

    assert host.slots("minutely") == [T0 + round_ * MINUTE for round_ in range(1, 200)]
    assert all(start.wall_ms >= start.slot_ms for start in host.starts)


# ── starts that wait ──────────────────────────────────────────────


@pytest.mark.parametrize("back_ms", [2 * HOUR, 400 * DAY])
async def test_a_short_delay_lasts_no_longer_because_the_clock_was_set_back(host: Lives, back_ms: int) -> None:
    job = await host.add("by hand")
    now_ms = host.clock.now_ms()
    await host.store.trigger(OWNER, job.id, now_ms + 10 * MINUTE, now_ms, None)
    await host.live(4 * MINUTE)
    await host.step(-back_ms)
    await host.live(6 * MINUTE - 1)
    assert host.starts == []
    await host.live(1)

    assert [start.real_ms for start in host.starts] == [10 * MINUTE]


@pytest.mark.parametrize("back_ms", [2 * HOUR, 400 * DAY])
async def test_a_start_at_a_time_of_the_clock_keeps_its_time(host: Lives, back_ms: int) -> None:
    job = await host.add("by hand")
    now_ms = host.clock.now_ms()
    await host.store.trigger(OWNER, job.id, now_ms + 5 * HOUR, now_ms, None)
    await host.step(-back_ms)
    (run,) = (await host.store.runs(OWNER, RunFilter()))[0]

    assert run.due_at == "2027-01-16T05:00:00Z"


async def test_what_was_due_when_the_clock_was_set_back_is_still_due(host: Lives) -> None:
    job = await host.add("by hand")
    now_ms = host.clock.now_ms()
    await host.store.trigger(OWNER, job.id, now_ms, now_ms, None)
    host.clock.step(-DAY)
    await host.look()

    assert len(host.starts) == 1


async def test_fences_never_fall_whatever_the_clock_shows(host: Lives) -> None:
    job = await host.add("by hand")
    fences = []
    for shown in (T0 + YEARS, T0, 0, T0 + DAY):
        await host.set(shown)
        now_ms = host.clock.now_ms()
        await host.store.trigger(OWNER, job.id, now_ms, now_ms, None)
        await host.look()
        (run, *_) = (await host.store.runs(OWNER, RunFilter()))[0]
        fences.append(run.fence)

    assert all(fence is not None and fence >= T0 + YEARS for fence in fences)


# ── crashes on the way ──────────────────────────────────────────────


async def test_a_daemon_that_dies_while_it_aims_is_finished_by_the_next(host: Lives) -> None:
    for number in range(3):
        await host.add(f"minutely-{number}", cron="* * * * *")
    await host.live(10 * MINUTE)
    host.clock.step(-2 * HOUR)
    aimed = host.store.aim
    calls = []

    async def dies(*args: object) -> int:
        calls.append(args)
        raise RuntimeError("killed")

    host.store.aim = dies  # type: ignore[method-assign,assignment]
    with pytest.raises(RuntimeError):
        await host.scan.run_once()
    host.store.aim = aimed  # type: ignore[method-assign]
    await host.crash()
    await host.begin()
    before = len(host.starts)
    await host.live(MINUTE)

    assert calls
    assert len(host.starts) - before == 3
    assert host.time.generation == 1
    assert len(host.said("clock.stepped")) == 1


async def test_what_was_on_its_way_into_the_store_when_the_clock_was_set_is_found_by_a_second_look(host: Lives) -> None:
    host.clock.tick(MINUTE)
    await host.step(-2 * HOUR)
    host.clock.step(2 * HOUR)
    await host.add("minutely", cron="* * * * *")
    host.clock.step(-2 * HOUR)
    real_ms = host.real_ms
    await host.live(90 * SECOND)

    assert host.of("minutely")[0].real_ms - real_ms <= 70 * SECOND
    assert (await host.store.clock()).back is None


async def test_a_hundred_jobs_or_many_more_are_aimed_in_batches(host: Lives, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobctl_daemon.services.clock.BATCH", 7)
    for number in range(40):
        await host.add(f"minutely-{number}", cron="* * * * *")
    await host.live(MINUTE)
    await host.step(-2 * HOUR)
    before = len(host.starts)
    await host.live(MINUTE)

    assert len(host.starts) - before == 40


async def test_an_idle_daemon_writes_nothing_to_say_that_it_lives(host: Lives) -> None:
    await host.add("yearly", cron="0 0 1 1 *")
    await host.look()
    before = await host.store.meta()
    for _ in range(20):
        host.clock.tick(HOUR)
        await host.look()

    assert await host.store.meta() == before
    assert (await host.store.clock()).seen_ms == T0
    await host.down(MINUTE)
    (gap,) = host.time.gaps
    assert (gap.from_ms, gap.to_ms) == (T0 + 20 * HOUR, T0 + 20 * HOUR + MINUTE)


async def test_what_is_old_is_not_judged_by_a_clock_that_has_just_leapt(host: Lives) -> None:
    await host.step(YEARS)
    assert host.time.age_ms() == T0
    await host.live(30 * MINUTE)
    assert host.time.age_ms() == T0 + 30 * MINUTE
    await host.live(31 * MINUTE)
    assert host.time.age_ms() == host.clock.now_ms()


async def test_a_leap_that_nobody_has_looked_at_yet_makes_nothing_old(host: Lives) -> None:
    host.clock.step(YEARS)
    assert host.time.age_ms() == T0


async def test_a_machine_that_was_off_for_long_waits_before_it_throws_away(host: Lives) -> None:
    await host.add("daily", cron="0 3 * * *")
    await host.off(3 * DAY)
    assert host.time.age_ms() < T0 + MINUTE
    await host.live(HOUR)
    assert host.time.age_ms() == host.clock.now_ms()
