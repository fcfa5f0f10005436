"""What is due or was missed together: bounded, spread, never lost or doubled, and out of the way of others."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.states import Misfire, Trigger
from jobctl_daemon.rows import RunFilter
from kit.lives import DAY, OWNER, SECOND, T0, Lives

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
KEPT = {Misfire.SKIP: 0, Misfire.ONCE: 1, Misfire.ALL: 10}


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Lives]:
    made = await Lives(tmp_path).begin()
    yield made
    await made.store.close()


@pytest.mark.case("F054")
@pytest.mark.parametrize("down_ms", [3 * HOUR, 101 * MINUTE, 40 * DAY])
@pytest.mark.parametrize("misfire", list(Misfire))
async def test_what_was_missed_is_run_as_its_policy_says_or_counted_and_the_schedule_goes_on(
    host: Lives, misfire: Misfire, down_ms: int
) -> None:
    grace_ms = 100 * DAY if misfire is Misfire.ALL else DAY if misfire is Misfire.ONCE else SECOND
    await host.add("minutely", every_ms=MINUTE, misfire=misfire, within_ms=grace_ms)
    await host.add("daily", every_ms=DAY, misfire=misfire, within_ms=grace_ms)
    await host.live(MINUTE + SECOND)
    await host.crash()
    host.clock.tick(down_ms + 10 * SECOND)
    before = len(host.of("minutely"))
    await host.begin()
    await host.live(20 * SECOND)
    await host.crash()  # in the middle of the catch-up, or after it
    await host.begin()
    await host.live(20 * SECOND)
    caught_up, missed = host.of("minutely", before), await host.missed("minutely")
    await host.live(3 * MINUTE)
    went_on = host.of("minutely", before + len(caught_up))

    due = down_ms // MINUTE
    assert len(caught_up) == KEPT[misfire]
    assert sum(row.count for row in missed) == due - KEPT[misfire]
    assert len(missed) == 1
    assert [start.slot_ms for start in caught_up] == sorted({start.slot_ms for start in caught_up})
    assert len(went_on) == 3
    days = down_ms // DAY
    assert len(host.of("daily")) == min(KEPT[misfire], days)
    assert sum(row.count for row in await host.missed("daily")) == days - min(KEPT[misfire], days)
    assert len(set(host.slots("minutely"))) == len(host.slots("minutely"))


@pytest.mark.case("F055")
async def test_a_storm_of_catch_ups_keeps_to_the_limit_and_gives_way_to_what_is_on_its_time(host: Lives) -> None:
    for number in range(500):
        await host.add(f"last-{number}", cron="0 * * * *")
    for number in range(20):
        await host.add(f"all-{number}", cron="0 * * * *", misfire=Misfire.ALL)
    back = T0 + 12 * HOUR + 30 * MINUTE
    fresh = [back + 10 * SECOND, back + 40 * SECOND]
    for number, at_ms in enumerate(fresh):
        await host.add(f"fresh-{number}", at_ms=at_ms)
    host.room = 8
    await host.down(back - T0)
    waited = []
    for number, at_ms in enumerate(fresh):
        await host.live(30 * SECOND)
        (start,) = host.of(f"fresh-{number}")
        waited.append(start.wall_ms - at_ms)
        assert len(host.starts) < 700  # the backlog is not done
    await host.live(5 * MINUTE)

    made = [start for start in host.starts if not start.job.startswith("fresh")]
    job = await host.store.job(OWNER, "all-7")
    runs = (await host.store.runs(OWNER, RunFilter(job_id=job.id)))[0]
    assert max(waited) <= 2 * SECOND
    assert host.most_running == 8
    assert len(made) == len({start.key + start.job for start in made}) == 500 + 20 * 10
    assert {run.trigger for run in runs} == {Trigger.CATCH_UP}
    assert all(start.slot_ms <= T0 + 12 * HOUR for start in made)


@pytest.mark.case("F059")
@pytest.mark.parametrize("spread_ms", [0, 2 * MINUTE])
@pytest.mark.long
async def test_a_thousand_jobs_at_minute_zero_all_run_once_and_with_jitter_each_at_its_own_place(
    host: Lives, spread_ms: int
) -> None:
    hours = 3
    for number in range(1_000):
        await host.add(f"job-{number}", cron="0 * * * *", jitter_ms=spread_ms)
    host.room = 32
    first = (T0 // HOUR + 1) * HOUR
    await host.live(first - T0 - SECOND)
    places: list[dict[str, int]] = []
    for hour in range(hours):
        before = len(host.starts)
        await host.live(HOUR)
        started = host.starts[before:]
        places.append({start.job: start.wall_ms - start.slot_ms for start in started})
        assert len(started) == len(places[-1]) == 1_000
        if hour == 1:
            await host.crash()
            await host.begin()

    assert host.most_running <= 32
    if spread_ms:
        for one, other in itertools.pairwise(places):
            assert max(abs(other[job] - at_ms) for job, at_ms in one.items()) <= SECOND
        quarters = [sum(at_ms * 4 // spread_ms == quarter for at_ms in places[0].values()) for quarter in range(4)]
        assert min(quarters) > 150
    else:
        assert max(places[0].values()) < MINUTE
