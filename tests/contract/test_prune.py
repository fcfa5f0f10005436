"""Retention: what is expired goes, a bounded number at a time, and nothing that is still referred to."""

import pytest

from jobctl.errors import Gone, NotFound
from jobctl.model import Execution
from jobctl.states import RunState, SkipReason
from jobctl_daemon.rows import DeadFilter, Expired, Keep, LogsKept
from kit.stores import ADA, DAY, MINUTE, T0, Rig, expansion, request, skip_row, spec


async def test_a_store_with_nothing_expired_loses_nothing(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    assert await rig.store.aged(T0 + MINUTE - 90 * DAY, 0, 100) == Expired()
    assert await rig.store.surplus([job.id], 1, 100) == Expired()
    assert not await rig.store.prune(T0 + MINUTE, 100, Keep())
    assert await rig.prune(T0 + MINUTE) == []
    assert len(await rig.runs()) == 1


async def test_finished_runs_go_after_their_days_with_their_logs(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, T0 - 1, T0)
    await rig.finish(*claims)
    await rig.scheduled(job.id, T0 + DAY)
    assert await rig.prune(T0 + 90 * DAY) == []
    assert await rig.prune(T0 + 90 * DAY + 1) == [(claim.run_id, claim.fence) for claim in claims]
    assert [run.state for run in await rig.runs()] == ["scheduled"]
    with pytest.raises(NotFound):
        await rig.store.attempts(ADA, claims[0].run_id)


async def test_a_look_finds_no_more_than_its_limit_and_says_where_to_go_on(rig: Rig) -> None:
    job = await rig.add()
    ids = await rig.finished(job.id, *range(T0 - 25, T0))
    first = await rig.store.aged(T0 + DAY, 0, 10)
    assert (list(first.runs), first.after) == (ids[:10], ids[9])
    last = await rig.store.aged(T0 + DAY, ids[19], 10)
    assert (list(last.runs), last.after) == (ids[20:], None)
    many = await rig.store.surplus([job.id], 5, 10)
    assert (list(many.runs), many.after) == (ids[:10], job.id)


async def test_what_is_looked_at_goes_only_when_it_is_forgotten_and_only_once(rig: Rig) -> None:
    job = await rig.add()
    (done,) = await rig.finished(job.id, T0 - 1)
    (waiting,) = await rig.scheduled(job.id, T0 + DAY)
    await rig.store.aged(T0 + DAY, 0, 10)
    assert await rig.state(done) == "succeeded"
    assert await rig.store.forget([done, waiting, 999]) == 1
    assert await rig.store.forget([done]) == 0
    assert [run.id for run in await rig.runs()] == [waiting]


async def test_each_job_keeps_its_newest_runs(rig: Rig) -> None:
    busy, calm = await rig.add(spec("busy")), await rig.add(spec("calm"))
    many = await rig.finished(busy.id, *range(T0 - 30, T0))
    few = await rig.finished(calm.id, *range(T0 - 3, T0))
    rounds = await rig.prune_all(T0, Keep(runs=5), limit=7)
    assert sum(map(len, rounds)) == 25
    assert max(map(len, rounds)) <= 7
    assert sorted(run.id for run in await rig.runs()) == sorted(many[-5:] + few)
    more = await rig.finished(busy.id, *range(T0 - 50, T0 - 48))
    await rig.prune_all(T0, Keep(runs=5), limit=7)
    assert sorted(run.id for run in await rig.runs(job_id=busy.id)) == sorted(many[-3:] + more)


async def test_events_are_kept_an_hour_and_the_newest_thousand_always(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, *range(T0 - 300, T0))
    newest = rig.events[-1].id
    await rig.prune_all(T0 + 3_600_000)
    assert await rig.store.event_span() == (1, newest)
    await rig.prune_all(T0 + 3_600_001)
    assert await rig.store.event_span() == (newest - 999, newest)
    assert len(await rig.store.events(0, 5000, None)) == 1000


async def test_request_keys_are_kept_thirty_days(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(), T0, T0, request())
    await rig.store.delete_job(ADA, made.job.id, T0)
    await rig.prune_all(T0 + 30 * DAY)
    with pytest.raises(Gone):
        await rig.store.create_job(ADA, spec(), T0, T0, request())
    await rig.prune_all(T0 + 30 * DAY + 1)
    again = await rig.store.create_job(ADA, spec(), T0, T0, request())
    assert again.fresh
    assert again.job.id > made.job.id


async def test_ledger_rows_outlive_the_runs_and_keys_asked_for_by_hand_the_requests(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0)
    run = (await rig.store.trigger(ADA, job.id, T0, T0, request(verb="trigger"))).run
    await rig.admit(run.id)
    await rig.finish(*await rig.claim())
    await rig.prune_all(T0 + 31 * DAY)
    assert [row.key for row in await rig.store.ledger(ADA, job.id, 0, T0, 10)] == [f"s:{T0}"]
    await rig.prune_all(T0 + 399 * DAY)
    assert await rig.runs() == []
    assert len(await rig.store.ledger(ADA, job.id, 0, T0, 10)) == 1
    assert await rig.scheduled(job.id, T0) == []
    await rig.prune_all(T0 + 401 * DAY)
    assert await rig.store.ledger(ADA, job.id, 0, T0, 10) == []


async def test_a_deleted_job_goes_with_its_last_run(rig: Rig) -> None:
    job = await rig.add()
    (run_id,) = await rig.finished(job.id, T0)
    await rig.store.delete_job(ADA, job.id, T0)
    await rig.prune_all(T0 + DAY)
    assert (await rig.store.run(ADA, run_id)).job == "backup"
    await rig.prune_all(T0 + 91 * DAY)
    assert await rig.runs() == []


async def test_dead_letters_expire_a_bounded_number_at_a_time_and_are_history_first(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id, *range(T0 - 25, T0))
    await rig.died(*claims)
    assert await rig.prune(T0 + 90 * DAY) == []
    assert (await rig.store.counts(None, T0)).dead == 25
    rounds = await rig.prune_all(T0 + 90 * DAY + 1, limit=10)
    assert len(rounds) > 2
    assert (await rig.store.counts(None, T0)).dead == 0
    assert {run.state for run in await rig.runs()} == {"discarded"}
    assert len({run.id for run in await rig.runs()}) == 25
    rounds = await rig.prune_all(T0 + 180 * DAY + 2, limit=10)
    assert sum(map(len, rounds)) == 25
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
    rounds = await rig.prune_all(T0 + 91 * DAY, limit=10)
    assert sum(map(len, rounds)) == len(old)
    assert max(map(len, rounds)) <= 10
    assert {run.id for run in await rig.runs()} == {claim.run_id for claim in claims} | set(young)


async def test_dead_letters_are_none_of_the_runs_that_a_job_keeps(rig: Rig) -> None:
    job = await rig.add()
    dead = await rig.dead(job.id, T0 - 20, T0 - 19, T0 - 18)
    kept = await rig.finished(job.id, *range(T0 - 10, T0))
    await rig.prune_all(T0, Keep(runs=5))
    assert sorted(run.id for run in await rig.runs()) == sorted(dead + kept[-5:])


async def test_logs_are_listed_oldest_first_for_the_disk_budget(rig: Rig) -> None:
    job = await rig.add()
    one, two, three = await rig.claimed(job.id, T0 - 2, T0 - 1, T0)
    await rig.finish(one, log_size=100)
    await rig.finish(two, log_size=0)
    await rig.finish(three, log_size=1_050, log_dropped_from=20, log_dropped_to=1_020)
    block = 4_096
    assert await rig.store.log_bytes((0, 0), 10) == LogsKept(bytes=2 * block, after=None)
    assert await rig.store.log_bytes((0, 0), 1) == LogsKept(bytes=block, after=(one.run_id, one.fence))
    assert await rig.store.log_bytes((one.run_id, one.fence), 10) == LogsKept(bytes=block, after=None)
    owner_id = (await rig.rows("SELECT owner_id FROM jobs"))[0]["owner_id"]
    assert await rig.store.finished_logs(10, (0, 0)) == [
        (one.run_id, one.fence, block, owner_id),
        (three.run_id, three.fence, block, owner_id),
    ]
    await rig.store.logs_dropped([(one.run_id, one.fence)])
    assert await rig.store.log_bytes((0, 0), 10) == LogsKept(bytes=block, after=None)
    assert await rig.store.finished_logs(10, (0, 0)) == [(three.run_id, three.fence, block, owner_id)]


async def test_pages_of_logs_end_between_two_attempts_of_one_run(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    fences = []
    for _ in range(5):
        fences.append(claim.fence)
        await rig.retrying(claim, rig.now_ms, log_size=8_000)
        (claim,) = await rig.claim()
    after = (0, 0)
    seen = []
    while page := await rig.store.finished_logs(2, after):
        seen += [fence for _, fence, _, _ in page]
        after = page[-1][:2]
    assert seen == fences
    counted = await rig.store.log_bytes((0, 0), 2)
    assert (counted.bytes, counted.after) == (16_384, (claim.run_id, fences[1]))


async def test_a_log_is_known_while_its_run_is_active_or_its_attempt_keeps_it(rig: Rig) -> None:
    job = await rig.add()
    kept, dropped, running = await rig.claimed(job.id, T0 - 2, T0 - 1, T0)
    await rig.finish(kept, dropped, log_size=10)
    await rig.store.logs_dropped([(dropped.run_id, dropped.fence)])
    logs = [(claim.run_id, claim.fence) for claim in (kept, dropped, running)]
    others = [(kept.run_id, kept.fence + 1), (running.run_id, 1), (999, 1)]
    assert await rig.store.unknown_logs([*logs, *others]) == [logs[1], others[0], others[2]]
    assert [await rig.store.at_rest(claim.run_id, claim.run_id) for claim in (kept, running)] == [True, False]
    assert not await rig.store.at_rest(running.run_id + 1, running.run_id + 10)


async def test_a_ledger_keeps_so_many_rows_of_each_job(rig: Rig) -> None:
    busy, calm = await rig.add(spec("busy")), await rig.add(spec("calm"))
    ids = await rig.finished(busy.id, *range(T0 - 25, T0))
    await rig.finished(calm.id, T0 - 99)
    await rig.store.forget(ids[:20])
    assert await rig.store.prune_ledger(busy.id, 5, 15)
    assert not await rig.store.prune_ledger(busy.id, 5, 15)
    rows = await rig.store.ledger(ADA, busy.id, 0, T0, 100)
    assert [row.from_ms for row in rows] == list(range(T0 - 5, T0))
    assert len(await rig.store.ledger(ADA, calm.id, 0, T0, 100)) == 1


async def test_a_job_that_is_changed_all_the_time_keeps_fifty_old_versions_and_those_that_its_runs_have(
    rig: Rig,
) -> None:
    job = await rig.add()
    (done,) = await rig.finished(job.id, T0)
    for number in range(2, 71):
        await rig.edit(job.id, execution=Execution(shell=f"echo {number}"))
        if number == 9:
            await rig.dead(job.id, T0 - 1)
    kept = [row["version"] for row in await rig.rows("SELECT version FROM schedule_versions ORDER BY version")]
    assert kept == [1, 9, *range(21, 71)]
    assert (await rig.store.work(ADA, done)).shell == "true"


async def test_when_all_is_over_and_its_time_is_over_every_table_is_empty(rig: Rig) -> None:
    """Whatever happens to a job leaves rows; none of them outlives it for ever."""
    one, gone = await rig.add(spec("one")), await rig.add(spec("gone"))
    after = await rig.add(spec("after", after=one.id))
    await rig.finished(one.id, *range(T0 - 9, T0))
    await rig.dead(gone.id, T0 - 3)
    await rig.replay(request=request(verb="replay"))
    await rig.look()
    await rig.died(*await rig.claim())
    await rig.ready(one.id, T0 - 1)
    await rig.admit(*await rig.scheduled(one.id, T0), reason=SkipReason.OVERLAP)
    adhoc = spec("adhoc", hidden=True, at_ms=T0)
    for verb in ("run", "run-again"):
        made = await rig.store.run_adhoc(ADA, adhoc, T0, T0, request(key=verb, verb=verb))
        await rig.admit(made.run.id)
    await rig.finish(*await rig.claim(), state=RunState.FAILED)
    await rig.expand(expansion(await rig.cursor(one.id), (), skips=[skip_row(one.id, T0 + 1, T0 + 9, 3)]))
    for job in (after, gone, one):
        await rig.store.delete_job(ADA, job.id, T0)
    for run in await rig.runs():
        if run.state in ("scheduled", "ready"):
            await rig.store.cancel(ADA, run.id, "ada", T0)
    for days in (91, 200, 500):
        await rig.prune_all(T0 + days * DAY)
    names = [row["name"] for row in await rig.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    left = {name: len(await rig.rows(f"SELECT 1 FROM {name}")) for name in names}
    stay = {"meta", "migrations", "owners", "sqlite_sequence", "events"}
    assert {name: count for name, count in left.items() if count and name not in stay} == {}
    assert left["events"] <= 1_000
    assert left["meta"] < 10
