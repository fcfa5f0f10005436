"""The event log: every state change once, in order, and heard after its commit."""

import asyncio
from collections.abc import Sequence

import pytest

from jobctl.errors import Conflict
from jobctl.model import Event
from kit.stores import ADA, BOB, T0, Rig, spec


async def test_listeners_hear_exactly_what_is_in_the_log(rig: Rig) -> None:
    job = await rig.add()
    await rig.finished(job.id, T0 - 1, T0)
    assert await rig.store.events(0, 1000, None) == rig.events
    assert [event.id for event in rig.events] == list(range(1, len(rig.events) + 1))
    assert (await rig.store.event_span()) == (1, len(rig.events))


async def test_a_listener_can_read_what_it_hears_of(rig: Rig) -> None:
    heard: list[int] = []

    def listener(events: Sequence[Event]) -> None:
        heard.extend(event.id for event in events)

    rig.store.listen(listener)
    await rig.add()
    assert [event.id for event in await rig.store.events(0, 10, None)] == heard


async def test_what_is_rolled_back_is_not_heard(rig: Rig) -> None:
    await rig.add()
    results = await asyncio.gather(rig.add(), rig.add(spec("b")), rig.add(), return_exceptions=True)
    assert [type(result) is Conflict for result in results] == [True, False, True]
    assert rig.kinds() == ["job.created", "job.created"]
    assert await rig.store.events(0, 1000, None) == rig.events


async def test_each_run_has_its_changes_in_order_whatever_runs_beside_it(rig: Rig) -> None:
    jobs = [await rig.add(spec(f"job-{number}")) for number in range(5)]
    await asyncio.gather(*(rig.ready(job.id, T0 - number) for number, job in enumerate(jobs)))
    claims = await rig.claim()
    await asyncio.gather(*(rig.finish(claim) for claim in claims))
    for claim in claims:
        assert rig.kinds(claim.run_id) == ["run.scheduled", "run.ready", "run.running", "run.succeeded"]


async def test_events_are_read_after_a_number_up_to_a_limit_and_by_owner(rig: Rig) -> None:
    await rig.add(spec("a"))
    await rig.add(spec("b"), owner=BOB)
    await rig.add(spec("c"))
    assert [event.data["name"] for event in await rig.store.events(1, 1, None)] == ["b"]
    assert [event.data["name"] for event in await rig.store.events(0, 10, ADA)] == ["a", "c"]
    assert [event.data["name"] for event in await rig.store.events(0, 10, BOB)] == ["b"]
    assert await rig.store.events(3, 10, None) == []


async def test_an_event_says_what_it_is_about(rig: Rig) -> None:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.finish(claim)
    ended = rig.events[-1]
    assert (ended.kind, ended.job_id, ended.run_id, ended.at) == (
        "run.succeeded",
        job.id,
        claim.run_id,
        "2027-01-15T08:00:00Z",
    )
    assert ended.data["name"] == "backup"
    assert (ended.data["fence"], ended.data["outcome"], ended.data["exit_code"]) == (claim.fence, "ok", 0)


@pytest.mark.filterwarnings("ignore")
async def test_a_listener_that_fails_takes_no_answer_away(rig: Rig) -> None:
    def broken(events: Sequence[Event]) -> None:
        raise RuntimeError("broken listener")

    failures: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(str(context["exception"])))
    rig.store.listen(broken)
    assert (await rig.add()).name == "backup"
    assert failures == ["broken listener"]


async def test_notes_of_the_daemon_are_kept(rig: Rig) -> None:
    await rig.store.set_meta({"boot": "x 1", "tzdata": "2026a"})
    await rig.store.set_meta({"boot": "y 2"})
    notes = await rig.store.meta()
    assert (notes["boot"], notes["tzdata"], notes["epoch"]) == ("y 2", "2026a", str(rig.epoch))
    assert await rig.store.take_epoch("n", T0) == rig.epoch + 1
