"""Retention: what is expired goes, a bounded number at a time, and nothing that is still referred to."""

import pytest

from jobctl.errors import Gone, NotFound
from jobctl_daemon.rows import DeadFilter, Keep, Pruned
from jobctl_daemon.store import Store
from kit.stores import ADA, DAY, MINUTE, T0, Rig, request, spec


async def prune_all(store: Store, now_ms: int, keep: Keep = Keep(), limit: int = 100) -> list[Pruned]:  # noqa: B008
    """Until there is nothing more."""
    rounds = [await store.prune(now_ms, limit, keep)]
    while rounds[-1].more:
        rounds.append(await store.prune(now_ms, limit, keep))
        assert len(rounds) < 500
    return rounds


async def test_a_store_with_nothing_expired_loses_nothing(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    assert await rig.store.prune(T0 + MINUTE, 100, Keep()) == Pruned(logs=(), more=False)
    assert len(await rig.runs()) == 1


async def test_finished_runs_go_after_their_days_with_their_logs(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, T0 - 1, T0)
    await rig.finish(*claims)
    await rig.scheduled(job.id, T0 + DAY)
    assert (await rig.store.prune(T0 + 90 * DAY, 100, Keep())).logs == ()
    (pruned,) = await prune_all(rig.store, T0 + 90 * DAY + 1)
    assert pruned.logs == tuple((claim.run_id, claim.fence) for claim in claims)
    assert [run.state for run in await rig.runs()] == ["scheduled"]
    with pytest.raises(NotFound):
        await rig.store.attempts(ADA, claims[0].run_id)


async def test_a_call_deletes_no_more_than_its_limit_and_says_that_there_is_more(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, *range(T0 - 25, T0))
    pruned = await rig.store.prune(T0 + 91 * DAY, 10, Keep())
    assert (len(pruned.logs), pruned.more) == (10, True)
    rounds = await prune_all(rig.store, T0 + 91 * DAY, limit=10)
    assert sum(len(pruned.logs) for pruned in rounds) == 15


async def test_each_job_keeps_its_newest_runs(rig: Rig) -> None:
    busy, calm = await rig.add(spec("busy")), await rig.add(spec("calm"))
    many = await rig.finished(busy.id, *range(T0 - 30, T0))
    few = await rig.finished(calm.id, *range(T0 - 3, T0))
    rounds = await prune_all(rig.store, T0, Keep(runs=5), limit=7)
    assert sum(len(pruned.logs) for pruned in rounds) == 25
    assert max(len(pruned.logs) for pruned in rounds) <= 7
    assert sorted(run.id for run in await rig.runs()) == sorted(many[-5:] + few)
    more = await rig.finished(busy.id, *range(T0 - 50, T0 - 48))
    await prune_all(rig.store, T0, Keep(runs=5), limit=7)
    assert sorted(run.id for run in await rig.runs(job_id=busy.id)) == sorted(many[-3:] + more)


async def test_events_are_kept_an_hour_and_the_newest_thousand_always(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, *range(T0 - 300, T0))
    newest = rig.events[-1].id
    await prune_all(rig.store, T0 + 3_600_000)
    assert await rig.store.event_span() == (1, newest)
    await prune_all(rig.store, T0 + 3_600_001)
    assert await rig.store.event_span() == (newest - 999, newest)
    assert len(await rig.store.events(0, 5000, None)) == 1000


async def test_request_keys_are_kept_thirty_days(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(), T0, T0, request())
    await rig.store.delete_job(ADA, made.job.id, T0)
    await prune_all(rig.store, T0 + 30 * DAY)
    with pytest.raises(Gone):
        await rig.store.create_job(ADA, spec(), T0, T0, request())
    await prune_all(rig.store, T0 + 30 * DAY + 1)
    again = await rig.store.create_job(ADA, spec(), T0, T0, request())
    assert again.fresh
    assert again.job.id > made.job.id


async def test_ledger_rows_outlive_the_runs_and_keys_asked_for_by_hand_the_requests(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    run = (await rig.store.trigger(ADA, job.id, T0, T0, request(verb="trigger"))).run
    await rig.admit(run.id)
    await rig.finish(*await rig.claim())
    await prune_all(rig.store, T0 + 31 * DAY)
    assert [row.key for row in await rig.store.ledger(ADA, job.id, 0, T0, 10)] == [f"s:{T0}"]
    await prune_all(rig.store, T0 + 399 * DAY)
    assert await rig.runs() == []
    assert len(await rig.store.ledger(ADA, job.id, 0, T0, 10)) == 1
    assert await rig.scheduled(job.id, T0) == []
    await prune_all(rig.store, T0 + 401 * DAY)
    assert await rig.store.ledger(ADA, job.id, 0, T0, 10) == []


async def test_a_deleted_job_goes_with_its_last_run(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.finished(job.id, T0)
    await rig.store.delete_job(ADA, job.id, T0)
    await prune_all(rig.store, T0 + DAY)
    assert (await rig.store.run(ADA, run_id)).job == "backup"
    await prune_all(rig.store, T0 + 91 * DAY)
    assert await rig.runs() == []


async def test_dead_letters_expire_a_bounded_number_at_a_time_and_are_history_first(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 25, T0))
    await rig.died(*claims)
    assert await rig.store.prune(T0 + 90 * DAY, 100, Keep()) == Pruned(logs=(), more=False)
    assert (await rig.store.counts(None, T0)).dead == 25
    rounds = await prune_all(rig.store, T0 + 90 * DAY + 1, limit=10)
    assert len(rounds) > 2
    assert (await rig.store.counts(None, T0)).dead == 0
    assert {run.state for run in await rig.runs()} == {"discarded"}
    assert len({run.id for run in await rig.runs()}) == 25
    rounds = await prune_all(rig.store, T0 + 180 * DAY + 2, limit=10)
    assert sum(len(pruned.logs) for pruned in rounds) == 25
    assert await rig.runs() == []


async def test_runs_that_ended_long_after_they_began_do_not_keep_what_came_after_them(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 100, T0 - 70))
    await rig.died(*claims)
    await rig.resume(job.id)
    old = await rig.finished(job.id, *range(T0 - 50, T0))
    rig.now_ms = T0 + 89 * DAY
    await rig.store.discard(ADA, DeadFilter(), "ada", None, rig.now_ms)
    young = await rig.finished(job.id, rig.now_ms)
    rounds = await prune_all(rig.store, T0 + 91 * DAY, limit=10)
    assert sum(len(pruned.logs) for pruned in rounds) == len(old)
    assert max(len(pruned.logs) for pruned in rounds) <= 10
    assert {run.id for run in await rig.runs()} == {claim.run_id for claim in claims} | set(young)


async def test_dead_letters_are_none_of_the_runs_that_a_job_keeps(rig: Rig) -> None:
    job = await rig.add()
    dead = await rig.dead(job.id, T0 - 20, T0 - 19, T0 - 18)
    kept = await rig.finished(job.id, *range(T0 - 10, T0))
    await prune_all(rig.store, T0, Keep(runs=5))
    assert sorted(run.id for run in await rig.runs()) == sorted(dead + kept[-5:])


async def test_logs_are_listed_oldest_first_for_the_disk_budget(rig: Rig) -> None:
    job = await rig.add()
    one, two, three = await rig.claimed(job.id, T0 - 2, T0 - 1, T0)
    await rig.finish(one, log_size=100)
    await rig.finish(two, log_size=0)
    await rig.finish(three, log_size=1_050, log_dropped_from=20, log_dropped_to=1_020)
    assert await rig.store.log_bytes() == 150
    assert await rig.store.finished_logs(10, 0) == [
        (one.run_id, one.fence, 100),
        (three.run_id, three.fence, 50),
    ]
    assert await rig.store.finished_logs(10, one.run_id) == [(three.run_id, three.fence, 50)]
    await rig.store.logs_dropped([(one.run_id, one.fence)])
    assert await rig.store.log_bytes() == 50
    assert await rig.store.finished_logs(10, 0) == [(three.run_id, three.fence, 50)]
