"""Between the store and the runners nothing is dropped, whatever fails on the way."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobctl.clock import SystemClock
from jobctl.errors import Unavailable, Unreachable
from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.execution.identity import User
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.pool import Flight, RunnerPool
from jobctl_daemon.execution.reports import Ended, Refused
from jobctl_daemon.execution.request import Host
from jobctl_daemon.health import Health
from jobctl_daemon.rows import Admission, Caller
from jobctl_daemon.services.collect import Collect
from jobctl_daemon.services.dispatch import Dispatch, Node
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock

OWNER = Caller(uid=1000, name="ana", all_owners=True)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(str(tmp_path / "jobctl.db"))
    await made.open()
    yield made
    await made.close()


class FailsOnce:
    """A store whose next write fails."""

    def __init__(self, store: SqliteStore, name: str) -> None:
        self._store = store
        self._name = name
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        if name == self._name and not self.failed:
            self.failed = True
            raise Unavailable("no room", "free some")
        return getattr(self._store, name)


class NoLink:
    """A connection that takes every word."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.said.append(message)

    def start_answered(self) -> None:
        pass


async def _ready(store: SqliteStore, clock: ManualClock) -> int:
    spec = JobSpec(
        name="x",
        schedule=ScheduleSpec(timezone="UTC"),
        execution=Execution(command=["true"]),
        policies=Policies(),
        hidden=True,
    )
    run = (await store.run_adhoc(OWNER, spec, clock.now_ms(), clock.now_ms(), None)).run
    await store.admit([Admission(run_id=run.id)], clock.now_ms())
    return run.id


async def _claimed(store: SqliteStore, clock: ManualClock) -> tuple[int, int]:
    await _ready(store, clock)
    (claim,) = await store.claim(clock.now_ms(), 10, "host", "boot")
    return claim.run_id, claim.fence


async def test_a_refused_start_is_given_back_even_when_the_first_write_fails(store: SqliteStore) -> None:
    clock = ManualClock()
    run_id, fence = await _claimed(store, clock)
    pool = RunnerPool(clock, lambda: None, lambda: None)
    link = NoLink()
    pool.flights[f"{run_id}-{fence}"] = Flight(link)  # type: ignore[arg-type]
    pool._reports.append(Refused(run_id, fence, "EAGAIN"))
    failing = FailsOnce(store, "unclaim")
    health = Health(clock)
    ending = Ending(store, LogFiles("nowhere"))
    collect = Collect(failing, clock, pool, health, StartAgain(health, clock), ending, lambda: None)  # type: ignore[arg-type]

    with pytest.raises(Unavailable):
        await collect.run_once()
    await collect.run_once()

    assert (await store.run(OWNER, run_id)).state == "ready"
    assert pool.flights == {}
    assert link.said == [{"op": "ack", "ids": [f"{run_id}-{fence}"]}]


def test_every_runner_that_told_of_a_result_may_forget_it() -> None:
    """After a reboot two runners may both take charge of what a dead one left; one that is never told keeps it."""
    pool = RunnerPool(ManualClock(), lambda: None, lambda: None)
    links = [NoLink(), NoLink()]
    for link in [*links, links[1]]:
        pool._note(link, Ended(Result(run_id=7, fence=70, ended_ms=1, exit_code=0)))  # type: ignore[arg-type]

    pool.settle(["7-70"])

    assert [link.said for link in links] == [[{"op": "ack", "ids": ["7-70"]}]] * 2
    assert pool.flights == {}


class OneAtATime(NoLink):
    """A runner that has room for a start when the test says so."""

    hello = SimpleNamespace(version="build")
    draining = silent = False
    attentive = True
    starting, sent = 1, 0

    def start(self, message: dict[str, Any]) -> None:
        self.starting = 1
        self.said.append(message)


def test_more_starts_are_asked_for_once_when_few_are_left_and_none_before() -> None:
    """What is claimed long before it can start is out of reach of whatever comes before it by then."""
    pool = RunnerPool(ManualClock(), lambda: None, lambda: None)
    link, asked = OneAtATime(), []
    pool.on_short = lambda: asked.append(len(link.said))
    pool.links["a"] = link  # type: ignore[assignment]
    for number in range(150):
        pool.start({"id": f"{number}-1"}, None, "build")
    assert (pool.busy, asked) == (True, [])
    while len(link.said) < 150:
        link.starting = 0
        pool._send_some()
        assert pool.busy == (len(link.said) < 100)
    assert asked == [100]


async def test_nothing_is_claimed_while_the_runners_have_starts_enough(store: SqliteStore, tmp_path: Path) -> None:
    clock, logs = ManualClock(), LogFiles(str(tmp_path / "logs"))
    pool = RunnerPool(clock, lambda: None, lambda: None)
    pool.links["a"] = OneAtATime()  # type: ignore[assignment]
    pool.adopted = True
    health = Health(clock)
    host, node = Host(User("ana", 1000, 1000, "/", (1000,)), "/bin"), Node("host", "boot", "build")
    dispatch = Dispatch(store, clock, pool, logs, host, node, StartAgain(health, clock), Ending(store, logs))
    dispatch.slots = 500
    run_id = await _ready(store, clock)
    for number in range(100, 200):
        pool.start({"id": f"{number}-1"}, None, "build")

    await dispatch.run_once()
    assert (await store.run(OWNER, run_id)).state == "ready"

    pool._outbox.clear()
    await dispatch.run_once()
    assert (await store.run(OWNER, run_id)).state == "running"


@pytest.mark.case("F129")
def test_the_delay_grows_by_the_round_and_ends_with_a_start_that_went_well() -> None:
    clock = ManualClock()
    health = Health(clock)
    again = StartAgain(health, clock)
    began = clock.now_ms()

    waits = []
    for _ in range(3):
        waits.append(again.refused(1, "EAGAIN") - began)
        clock.tick(10)
    assert set(waits) == {1_000}
    again.started()
    assert health.warnings
    clock.tick(1_000)
    assert again.refused(1, "EAGAIN") == clock.now_ms() + 2_000
    clock.tick(2_000)
    again.started()
    assert not health.warnings
    assert again.refused(1, "EAGAIN") == clock.now_ms() + 1_000


def test_a_clock_that_is_set_back_does_not_put_off_what_was_refused() -> None:
    clock = ManualClock()
    again = StartAgain(Health(clock), clock)
    again.refused(1, "EAGAIN")
    clock.tick(400)
    clock.step(-7_200_000)

    assert again.refused(1, "EAGAIN") == clock.now_ms() + 600


async def test_a_runner_that_goes_before_it_has_told_what_it_holds_is_not_kept(tmp_path: Path) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        hello = {"protocol": 1, "instance": "a", "version": "b", "pid": 1, "boot_id": "c", "kill_by": "d"}
        writer.write(json.dumps({"hello": {**hello, "draining": False}}).encode() + b"\n")
        await writer.drain()
        writer.close()

    path = str(tmp_path / "a.sock")
    server = await asyncio.start_unix_server(greet, path)
    pool = RunnerPool(SystemClock(), lambda: None, lambda: None)
    async with server:
        with pytest.raises(Unreachable):
            await pool.connect(path, "b")

    assert pool.links == {}
    assert pool.losses == 1
