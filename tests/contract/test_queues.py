"""Queues: limits of their own, priorities, and owners who take turns."""

import itertools

import pytest

from jobctl.states import RunState, Trigger
from jobctl_daemon.rows import Caller, Pause
from kit.stores import ADA, BOB, MINUTE, ROOT, T0, Rig, spec

EVE = Caller(uid=1002, name="eve")


async def ready_of(rig: Rig, owner: Caller, *slots: int, queue: str = "default", priority: int = 0) -> list[int]:
    """Ready runs of a new job."""
    number = len(await rig.rows("SELECT id FROM jobs"))
    job = await rig.add(spec(f"job-{number}", queue=queue, priority=priority), owner=owner)
    return await rig.ready(job.id, *slots)


async def order(rig: Rig, limit: int = 100) -> list[int]:
    return [claim.run_id for claim in await rig.claim(limit)]


# ── limits ──────────────────────────────────────────────


async def test_a_queue_runs_no_more_than_its_limit(rig: Rig) -> None:
    await rig.store.set_queue("db", 2, T0)
    ids = await ready_of(rig, ADA, *range(T0 - 5, T0), queue="db")
    claims = await rig.claim()
    assert [claim.run_id for claim in claims] == ids[:2]
    assert await rig.claim() == []
    await rig.finish(claims[0])
    assert await order(rig) == ids[2:3]
    await rig.check()


async def test_a_limit_counts_the_runs_of_all_jobs_owners_and_priorities(rig: Rig) -> None:
    await rig.store.set_queue("db", 3, T0)
    await ready_of(rig, ADA, T0 - 2, T0 - 1, queue="db")
    await ready_of(rig, BOB, T0 - 2, T0 - 1, queue="db", priority=-1)
    await ready_of(rig, ADA, T0 - 2, queue="db", priority=5)
    assert len(await rig.claim()) == 3
    assert await rig.claim() == []
    await rig.check()


async def test_other_queues_go_on_beside_a_full_one(rig: Rig) -> None:
    await rig.store.set_queue("db", 1, T0)
    await ready_of(rig, ADA, T0 - 9, T0 - 8, queue="db", priority=-5)
    others = await ready_of(rig, ADA, T0 - 2, T0 - 1)
    assert len(await rig.claim(1)) == 1
    assert await order(rig) == others


async def test_the_queue_of_everybody_may_have_a_limit_as_well(rig: Rig) -> None:
    await rig.store.set_queue("default", 1, T0)
    ids = await ready_of(rig, ADA, T0 - 2, T0 - 1)
    claims = await rig.claim()
    assert [claim.run_id for claim in claims] == ids[:1]
    assert claims[0].limited
    assert await rig.claim() == []
    await rig.finish(*claims)
    assert await order(rig) == ids[1:]


async def test_a_limit_that_is_taken_away_is_none(rig: Rig) -> None:
    await rig.store.set_queue("db", 1, T0)
    ids = await ready_of(rig, ADA, *range(T0 - 5, T0), queue="db")
    await rig.store.set_queue("db", None, T0)
    claims = await rig.claim()
    assert [claim.run_id for claim in claims] == ids
    assert not claims[0].limited


async def test_a_lower_limit_stops_nothing_and_starts_nothing_until_it_holds(rig: Rig) -> None:
    rig.limits_lowered = True
    await ready_of(rig, ADA, *range(T0 - 4, T0), queue="db")
    claims = await rig.claim(3)
    await rig.store.set_queue("db", 2, T0)
    assert await rig.claim() == []
    await rig.finish(claims[0])
    assert await rig.claim() == []
    await rig.finish(claims[1])
    assert len(await rig.claim()) == 1


async def test_a_retry_that_waits_takes_no_place_of_its_queue(rig: Rig) -> None:
    await rig.store.set_queue("db", 1, T0)
    ids = await ready_of(rig, ADA, T0 - 2, T0 - 1, queue="db")
    (claim,) = await rig.claim()
    await rig.retrying(claim, T0 + MINUTE)
    assert await order(rig) == ids[1:]
    rig.now_ms = T0 + MINUTE
    assert await rig.claim() == []


async def test_what_a_full_queue_holds_up_is_not_the_daemon_s_delay(rig: Rig) -> None:
    await rig.store.set_queue("db", 1, T0)
    await ready_of(rig, ADA, T0 - 9, T0 - 8, queue="db")
    await rig.claim()
    assert (await rig.store.counts(None, T0)).oldest_due_ms is None
    await ready_of(rig, BOB, T0 - 3)
    assert (await rig.store.counts(None, T0)).oldest_due_ms == T0 - 3
    assert (await rig.store.counts(BOB, T0)).oldest_due_ms == T0 - 3
    assert (await rig.store.counts(ADA, T0)).oldest_due_ms is None


# ── whose turn it is ──────────────────────────────────────────────


async def test_smaller_priorities_go_first_whatever_is_older(rig: Rig) -> None:
    low = await ready_of(rig, ADA, T0 - 9, priority=5)
    normal = await ready_of(rig, BOB, T0 - 5)
    high = await ready_of(rig, ADA, T0 - 1, priority=-5)
    assert [await order(rig, 1) for _ in range(3)] == [high, normal, low]


async def test_priorities_hold_over_all_queues(rig: Rig) -> None:
    one = await ready_of(rig, ADA, T0 - 9, queue="a", priority=1)
    two = await ready_of(rig, ADA, T0 - 1, queue="z", priority=-1)
    assert await order(rig) == two + one


async def test_owners_take_turns_inside_a_priority(rig: Rig) -> None:
    ada = await ready_of(rig, ADA, *range(T0 - 20, T0 - 10))
    bob = await ready_of(rig, BOB, T0 - 3, T0 - 2)
    eve = await ready_of(rig, EVE, T0 - 1)
    assert await order(rig) == [ada[0], bob[0], eve[0], ada[1], bob[1], *ada[2:]]


@pytest.mark.parametrize("slots", [1, 2, 3])
async def test_turns_go_on_from_claim_to_claim(rig: Rig, slots: int) -> None:
    ada = await ready_of(rig, ADA, *range(T0 - 20, T0 - 10))
    bob = await ready_of(rig, BOB, *range(T0 - 5, T0))
    taken = []
    for _ in range(10):
        taken += await order(rig, slots)
    alternating = [run_id for pair in itertools.zip_longest(ada[:5], bob) for run_id in pair]
    assert taken[:10] == alternating[:10]
    assert len(taken) == min(15, 10 * slots)


async def test_who_had_the_last_turn_alone_waits_for_those_who_come(rig: Rig) -> None:
    ada = await ready_of(rig, ADA, T0 - 9, T0 - 8)
    assert await order(rig, 1) == ada[:1]
    bob = await ready_of(rig, BOB, T0 - 1)
    assert await order(rig, 1) == bob
    assert await order(rig, 1) == ada[1:]


async def test_an_owner_s_runs_go_by_due_time_and_id_whatever_their_queues(rig: Rig) -> None:
    one = await ready_of(rig, ADA, T0 - 9, T0 - 3, queue="b")
    two = await ready_of(rig, ADA, T0 - 6, T0 - 1, queue="a")
    assert await order(rig) == [one[0], two[0], one[1], two[1]]


async def test_an_owner_whose_queue_is_full_does_not_hold_up_the_turn(rig: Rig) -> None:
    await rig.store.set_queue("db", 1, T0)
    ada = await ready_of(rig, ADA, *range(T0 - 20, T0 - 10), queue="db")
    bob = await ready_of(rig, BOB, *range(T0 - 5, T0))
    assert await order(rig, 4) == [ada[0], *bob[:3]]
    assert await order(rig, 4) == bob[3:]


async def test_one_owner_with_many_jobs_has_one_turn(rig: Rig) -> None:
    ada = [(await ready_of(rig, ADA, T0 - 20 + n))[0] for n in range(4)]
    bob = await ready_of(rig, BOB, T0 - 2, T0 - 1)
    assert await order(rig, 4) == [ada[0], bob[0], ada[1], bob[1]]


async def test_a_waiting_retry_is_not_claimed_before_its_instant_whatever_its_priority(rig: Rig) -> None:
    high = await ready_of(rig, ADA, T0 - 1, priority=-9)
    (claim,) = await rig.claim()
    await rig.retrying(claim, T0 + MINUTE)
    normal = await ready_of(rig, BOB, T0 - 1)
    assert await order(rig) == normal
    rig.now_ms = T0 + MINUTE - 1
    assert await rig.claim() == []
    rig.now_ms = T0 + MINUTE
    assert await order(rig) == high


async def test_a_run_past_its_last_instant_takes_nobody_s_turn(rig: Rig) -> None:
    job = await rig.add()
    late = await rig.ready(job.id, T0 - 9, start_by_ms=T0 - 1)
    fine = await rig.ready(job.id, T0 - 8, start_by_ms=T0)
    assert await order(rig, 1) == fine
    assert await rig.state(late[0]) == "ready"


async def test_a_catch_up_that_gives_way_goes_after_what_else_is_due_in_its_priority(rig: Rig) -> None:
    job, other = await rig.add(), await rig.add(spec("other"))
    behind = await rig.ready(job.id, T0 - 9, gives_way=True, trigger=Trigger.CATCH_UP)
    on_time = await rig.ready(other.id, T0)
    low = await ready_of(rig, ADA, T0 - 9, priority=2)
    assert await order(rig) == on_time + behind + low


# ── slots that many share ──────────────────────────────────────────────


async def shared(rig: Rig, free: int, limit: int = 100) -> list[int]:
    """What is claimed in a daemon that serves everybody, with so many slots free."""
    claims = await rig.store.claim(rig.now_ms, limit, "host", "boot", free)
    return [claim.run_id for claim in claims]


async def test_nobody_takes_so_many_slots_that_others_find_none(rig: Rig) -> None:
    ada = await ready_of(rig, ADA, *range(T0 - 60, T0 - 20))
    assert await shared(rig, 20) == ada[:16]
    assert await shared(rig, 4) == []
    bob = await ready_of(rig, BOB, *range(T0 - 9, T0))
    assert await shared(rig, 4) == bob[:3]
    eve = await ready_of(rig, EVE, T0 - 1, T0)
    assert await shared(rig, 1) == eve[:1]


async def test_where_there_is_one_slot_it_is_anybody_s(rig: Rig) -> None:
    ada = await ready_of(rig, ADA, T0 - 2, T0 - 1)
    assert await shared(rig, 1) == ada[:1]


async def test_root_may_have_all_slots(rig: Rig) -> None:
    root = await ready_of(rig, ROOT, *range(T0 - 60, T0 - 40))
    assert await shared(rig, 20, 20) == root
    more = await ready_of(rig, ROOT, T0 - 2, T0 - 1, queue="other")
    await ready_of(rig, ADA, *range(T0 - 9, T0))
    assert await shared(rig, 1, 1) != more[:1]
    assert await shared(rig, 1, 1) == more[:1]


async def test_among_others_a_priority_of_one_s_own_is_no_better_than_the_normal(rig: Rig) -> None:
    own = await ready_of(rig, ADA, T0 - 9)
    first = await ready_of(rig, ADA, *range(T0 - 5, T0 - 1), priority=-9)
    bob = await ready_of(rig, BOB, T0 - 1, T0)
    low = await ready_of(rig, ADA, T0 - 20, priority=1)
    of_root = await ready_of(rig, ROOT, T0 - 1, priority=-1)
    assert await shared(rig, 100) == [*of_root, first[0], bob[0], first[1], bob[1], *first[2:], *own, *low]


# ── the list of them ──────────────────────────────────────────────


async def test_queues_are_those_that_somebody_set_and_those_that_jobs_are_in(rig: Rig) -> None:
    await rig.add(spec("a"))
    await rig.add(spec("b", queue="db"))
    await rig.add(spec("c", queue="theirs"), owner=BOB)
    await rig.add(spec("hidden", queue="hidden", cron=None, hidden=True), next_ms=None)
    await rig.store.set_queue("empty", 7, T0)
    queues = await rig.store.queues(ADA)
    assert [(queue.name, queue.concurrency, queue.jobs) for queue in queues] == [
        ("db", None, 1),
        ("default", None, 1),
        ("empty", 7, 0),
    ]
    assert [queue.name for queue in await rig.store.queues(ROOT)] == ["db", "default", "empty", "theirs"]


async def test_a_queue_says_what_is_ready_and_what_runs_in_it(rig: Rig) -> None:
    await rig.store.set_queue("db", 1, T0)
    await ready_of(rig, ADA, T0 - 3, T0 - 2, T0 - 1, queue="db")
    await ready_of(rig, ADA, T0 - 3, T0 - 2)
    await rig.claim(2)
    found = {queue.name: (queue.ready, queue.running) for queue in await rig.store.queues(ADA)}
    assert found == {"db": (2, 1), "default": (1, 1)}
    assert {queue.name: (queue.ready, queue.running) for queue in await rig.store.queues(BOB)} == {"db": (0, 0)}


async def test_a_queue_that_is_set_is_told_of(rig: Rig) -> None:
    await rig.store.set_queue("db", 3, T0)
    event = rig.events[-1]
    assert (event.kind, event.job_id, event.data) == ("queue.set", None, {"name": "db", "concurrency": 3})


async def test_setting_a_limit_leaves_the_pause_of_a_queue_alone(rig: Rig) -> None:
    await rig.store.pause_queue("db", Pause(by="root", until_ms=T0 + MINUTE, why="move"), T0)
    await rig.store.set_queue("db", 3, T0)
    (queue,) = await rig.store.queues(ROOT)
    assert (queue.concurrency, queue.paused, queue.paused_by, queue.paused_why) == (3, True, "root", "move")
    assert (queue.paused_since, queue.paused_until) == ("2027-01-15T08:00:00Z", "2027-01-15T08:01:00Z")
    await rig.store.resume_queue("db", False, T0)
    (queue,) = await rig.store.queues(ROOT)
    assert (queue.concurrency, queue.paused, queue.paused_by, queue.paused_until) == (3, False, None, None)


async def test_after_everything_has_ended_no_queue_counts_anything(rig: Rig) -> None:
    await rig.store.set_queue("db", 2, T0)
    await ready_of(rig, ADA, *range(T0 - 5, T0), queue="db")
    for state in (RunState.SUCCEEDED, RunState.FAILED, RunState.SUCCEEDED):
        await rig.finish(*await rig.claim(), state=state)
    (queue,) = await rig.store.queues(ADA)
    assert (queue.ready, queue.running) == (0, 0)
