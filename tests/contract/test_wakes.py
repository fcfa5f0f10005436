"""The next instant at which something is due: nothing is slept over, and nothing wakes for nothing."""

from typing import Any

import pytest

from jobctl.states import Overlap
from jobctl_daemon.rows import Pause
from kit.stores import ADA, DAY, MINUTE, T0, Rig, spec


async def _cursor(rig: Rig) -> None:
    await rig.add(next_ms=T0 + MINUTE)


async def _scheduled(rig: Rig) -> None:
    job = await rig.add(spec(cron=None), next_ms=None)
    await rig.by_hand(job.id, T0 + MINUTE)


async def _retry(rig: Rig) -> None:
    job = await rig.add(spec(cron=None), next_ms=None)
    await rig.by_hand(job.id)
    await rig.look()
    await rig.retrying(*await rig.claim(), T0 + MINUTE)


async def _given_back(rig: Rig) -> None:
    job = await rig.add(spec(cron=None), next_ms=None)
    await rig.by_hand(job.id)
    await rig.look()
    (claim,) = await rig.claim()
    await rig.store.unclaim([(claim.run_id, claim.fence)], T0 + MINUTE, T0, "busy")


async def _job_s_pause(rig: Rig) -> None:
    job = await rig.add()
    await rig.pause(job.id, T0 + MINUTE)


async def _queue_s_pause(rig: Rig) -> None:
    await rig.store.pause_queue("db", Pause(by="ada", until_ms=T0 + MINUTE), T0)


async def _daemon_s_pause(rig: Rig) -> None:
    await rig.store.pause_queue("", Pause(by="ada", until_ms=T0 + MINUTE), T0)


async def _paced_replay(rig: Rig) -> None:
    job = await rig.add(spec(cron=None), next_ms=None)
    for _ in range(2):
        await rig.by_hand(job.id)
        await rig.look()
        await rig.died(*await rig.claim())
    await rig.replay(pace_ms=MINUTE)


SOURCES = [_cursor, _scheduled, _retry, _given_back, _job_s_pause, _queue_s_pause, _daemon_s_pause, _paced_replay]


@pytest.mark.parametrize("source", SOURCES)
async def test_each_source_wakes_at_its_instant_and_not_after_it(rig: Rig, source: Any) -> None:
    assert await rig.store.next_wake(T0) is None
    await source(rig)
    assert await rig.store.next_wake(T0) == T0 + MINUTE
    assert await rig.store.next_wake(T0 + MINUTE - 1) == T0 + MINUTE
    assert await rig.store.next_wake(T0 + MINUTE) is None


async def test_the_earliest_of_all_groups_of_retries_wakes(rig: Rig) -> None:
    jobs = [
        await rig.add(spec(f"job-{n}", cron=None, queue=f"q{n % 3}", priority=n % 2), next_ms=None) for n in range(6)
    ]
    for n, job in enumerate(jobs):
        await rig.by_hand(job.id)
        await rig.look()
        await rig.retrying(*await rig.claim(), T0 + (9 - n) * MINUTE)
    assert [await rig.store.next_wake(T0 + n * MINUTE) for n in range(3, 10)] == [
        *(T0 + n * MINUTE for n in range(4, 10)), None,
    ]  # fmt: skip


async def test_a_retry_wakes_although_others_of_its_group_are_due(rig: Rig) -> None:
    job = await rig.add(spec(cron=None), next_ms=None)
    for _ in range(2):
        await rig.by_hand(job.id)
    await rig.look()
    one, _ = await rig.claim()
    await rig.retrying(one, T0 + MINUTE)
    await rig.by_hand(job.id)
    await rig.look()
    assert await rig.store.next_wake(T0) == T0 + MINUTE


async def test_what_is_held_waits_or_is_dead_wakes_nobody(rig: Rig) -> None:
    job = await rig.add(spec(overlap=Overlap.QUEUE), next_ms=T0 + MINUTE)
    (dead,) = await rig.dead(job.id, T0 - 9)
    await rig.claimed(job.id, T0)
    await rig.by_hand(job.id)
    await rig.look()
    assert await rig.store.next_wake(T0) is None
    assert await rig.state(dead) == "dead"


async def test_a_pause_without_an_end_wakes_nobody(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await rig.scheduled(job.id, T0 + 1, next_ms=T0 + MINUTE)
    await rig.hold("daemon", job.id)
    assert await rig.store.next_wake(T0) is None


async def test_a_deleted_job_wakes_nobody(rig: Rig) -> None:
    job = await rig.add(next_ms=T0 + MINUTE)
    await rig.pause(job.id, T0 + MINUTE)
    await rig.store.delete_job(ADA, job.id, T0)
    assert await rig.store.next_wake(T0) is None
    assert await rig.store.end_pauses(T0 + DAY) == 0
