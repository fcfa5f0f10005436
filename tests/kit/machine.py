"""A host in one process: the services over a real store, a clock that the test moves, a runner that runs nothing.

Every call of the store is told to a model. A service can be stopped behind any of its calls, so that something else
happens between what it has read and what it writes, or its daemon dies there.
"""

import asyncio
import functools
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from jobctl.errors import CallerError
from jobctl.model import Event
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.execution.identity import User
from jobctl_daemon.execution.link import Link
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.request import Host as HostFacts
from jobctl_daemon.health import Health
from jobctl_daemon.hearing import Hearing
from jobctl_daemon.loop import Pass
from jobctl_daemon.services import once
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.collect import Collect
from jobctl_daemon.services.dispatch import Dispatch, Node
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.services.materialise import Materialise
from jobctl_daemon.services.rescue import Rescue
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.store.sqlite.opening import connect_reader
from kit.clock import ManualClock
from kit.model import Model
from kit.stores import counted_uids

BUILD: Final = "1.0"
SERVICES: Final = ("materialise", "dispatch", "collect", "rescue")
#: Calls of the store behind which something else may happen, and whose they are.
CALLS: Final = {
    "due": "materialise",
    "resumable": "materialise",
    "pending": "dispatch",
    "admit": "dispatch",
    "claim": "dispatch",
    "too_late": "dispatch",
    "efforts": "collect",
    "finish": "collect",
    "running": "rescue",
    "returned": "rescue",
}
#: Services that hold the same lock while they are stopped.
_EXCLUSIVE: Final = {"dispatch": "rescue", "rescue": "dispatch"}
Json = dict[str, Any]


# ── the runner ──────────────────────────────────────────────
@dataclass(slots=True)
class Effort:
    """An attempt that a runner has: starting, running or ended."""

    id: str
    run_id: int
    fence: int
    state: str = "starting"
    result: Json | None = None
    stop: str | None = None
    orphan: bool = False
    """Its runner died: nobody will see how it ends."""

    @property
    def alive(self) -> bool:
        return self.state != "ended"


class Runner:
    """Takes starts, tells what it is told to have happened, and keeps results until they are acknowledged."""

    def __init__(self, clock: ManualClock) -> None:
        self.efforts: dict[str, Effort] = {}
        self.printed: dict[str, bytes] = {}
        self.twice: list[str] = []
        """Attempts that were started while another one of the same run was alive (I4)."""
        self._clock = clock
        self._link: Link | None = None
        self._pids = 100

    @property
    def connected(self) -> bool:
        return self._link is not None

    def connect(self, link: Link) -> None:
        self._link = link

    def disconnect(self) -> None:
        self._link = None

    # ── what jobd says ──────────────────────────────────────────────
    def hear(self, message: Json) -> None:
        match message["op"]:
            case "hello":
                facts = {"protocol": 1, "instance": "one", "version": BUILD, "pid": 1, "boot_id": "", "kill_by": ""}
                self._say({"hello": {**facts, "draining": False}})
            case "watch":
                self._say({"list": [self._item(effort) for effort in self.efforts.values()]})
            case "rescan":
                self._say({"rescanned": {"adopted": 0}})
            case "start":
                effort = Effort(message["id"], message["run_id"], message["fence"])
                if any(other.run_id == effort.run_id and other.alive for other in self.efforts.values()):
                    self.twice.append(effort.id)
                self.efforts[effort.id] = effort
            case "kill" if message["id"] in self.efforts:
                self.efforts[message["id"]].stop = "killed" if message["mode"] == "kill" else "cancelled"
            case "ack":
                for name in message["ids"]:
                    self.efforts.pop(name, None)

    # ── what happens ──────────────────────────────────────────────
    def begins(self, effort: Effort) -> None:
        """The command runs."""
        effort.state = "running"
        self._pids += 1
        self._say({"started": self._process(effort)})

    def ends(self, effort: Effort, line: bytes = b"", **facts: Any) -> None:
        """`facts` are those of a result. A runner that has been replaced saw nothing."""
        kind = "failed" if facts.get("cause") == "spawn_error" else "ended"
        if effort.orphan:
            kind, facts = "ended", {"cause": "lost"}
        effort.state = "ended"
        effort.result = {"id": effort.id, "ended_at": self._clock.now_ms(), **facts}
        self.printed[effort.id] = line
        self._say({kind: effort.result})

    def refuses(self, effort: Effort) -> None:
        """An order that cannot be carried out now; nothing of it is kept."""
        del self.efforts[effort.id]
        self._say({"refused": {"id": effort.id, "reason": "busy", "invalid": False}})

    def tells_again(self, result: Json) -> None:
        """What it told before, or what nobody asked for."""
        self._say({"ended": result})

    def dies(self, *, started: bool) -> None:
        """Another one takes over what lives. `started`: whether what it was about to start had begun to."""
        link, self._link = self._link, None
        for effort in list(self.efforts.values()):
            if effort.state == "starting" and not started:
                del self.efforts[effort.id]
            effort.orphan = effort.alive
        if link is not None:
            link.close()

    def reboots(self) -> None:
        """Nothing is left of anything."""
        self.efforts.clear()
        self._link = None

    def _process(self, effort: Effort) -> Json:
        return {"id": effort.id, "pid": self._pids, "pid_start": 1, "started_at": self._clock.now_ms()}

    def _item(self, effort: Effort) -> Json:
        return {**self._process(effort), "state": effort.state, "result": effort.result}

    def _say(self, message: Json) -> None:
        """It comes when whoever asked waits for it, as over a socket."""
        if self._link is not None:
            asyncio.get_running_loop().call_soon(self._link.data_received, json.dumps(message).encode() + b"\n")


class _Wire(asyncio.Transport):
    """From jobd to the runner, without a socket."""

    def __init__(self, runner: Runner, link: Link) -> None:
        super().__init__()
        self._runner = runner
        self._link = link
        self._closed = False

    def write(self, data: Any) -> None:
        for line in bytes(data).splitlines():
            self._runner.hear(json.loads(line))

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._link.connection_lost(None)


class _Pool(RunnerPool):
    """Its one runner is in this process."""

    def has_room(self, link: Link) -> bool:
        """It answers when the test says so."""
        return True

    async def to(self, runner: Runner) -> None:
        link = Link(self._lines, self._lost)
        link.connection_made(_Wire(runner, link))
        runner.connect(link)
        self.links[(await link.greet(BUILD)).instance] = link
        await link.until(link.listed)


class _Runners:
    """Keeps the runner connected."""

    def __init__(self, pool: _Pool, runner: Runner) -> None:
        self._pool = pool
        self._runner = runner

    async def ensure(self) -> None:
        if not self._runner.connected:
            await self._pool.to(self._runner)


class _Logs(LogFiles):
    """What commands printed, without files."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        super().__init__("/nowhere")
        self._runner = runner

    def create_dir(self, run_id: int, fence: int) -> str:
        return self.path(run_id, fence)

    def tail(self, run_id: int, fence: int, limit: int) -> bytes:
        return self._runner.printed.get(attempt_id(run_id, fence), b"")


# ── the store, watched ──────────────────────────────────────────────
class Step:
    """A pass of a service that can be stopped behind one of its calls of the store."""

    def __init__(self, pass_: Coroutine[Any, Any, Pass]) -> None:
        self.task = asyncio.get_running_loop().create_task(pass_)
        self._behind: str | None = None
        self._stopped = asyncio.Event()
        self._go = asyncio.Event()

    async def called(self, name: str) -> None:
        """It has made a call, and goes on when it may."""
        if name == self._behind:
            self._go.clear()
            self._stopped.set()
            await self._go.wait()

    async def go_on(self, behind: str | None) -> bool:
        """Until it has made this call, or to its end; whether it has ended."""
        self._behind = behind
        self._stopped.clear()
        self._go.set()
        stopped = asyncio.get_running_loop().create_task(self._stopped.wait())
        await asyncio.wait({self.task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        return self.task.done()

    async def dies(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Watched:
    """A store whose calls are told to somebody when they come back."""

    def __init__(self, store: SqliteStore, told: Callable[..., None], steps: dict[str, Step]) -> None:
        self._store = store
        self._told = told
        self._steps = steps

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def call(*args: Any) -> Any:
            answer, failure = None, None
            try:
                answer = await method(*args)
            except Exception as error:
                failure = error
            self._told(name, args, answer, failure)
            if failure is not None:
                raise failure
            for step in list(self._steps.values()):
                if step.task is asyncio.current_task():
                    await step.called(name)
            return answer

        return call


class _Here:
    """In the place of a connection's thread: what is asked for is done at once. A hop is most of what a call costs."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    async def open(self) -> None:
        self._connection = self._connect()

    async def close(self) -> None:
        self._connection.close()

    def must_be_open(self) -> None:
        """It is, while the host lives."""

    def post(self, function: Callable[[sqlite3.Connection], None]) -> None:
        function(self._connection)

    async def call(self, function: Callable[[sqlite3.Connection], Any]) -> Any:
        return function(self._connection)


def _threadless(store: Any) -> SqliteStore:
    store._reader = _Here(store._reader._connect)
    store._writer._thread = _Here(store._writer._thread._connect)
    return cast("SqliteStore", store)


# ── the host ──────────────────────────────────────────────
@dataclass(slots=True)
class Driven:
    """A service, and when it wants to be called."""

    service: Any
    again: bool = True
    next_ms: int | None = None

    def wants(self, now_ms: int) -> bool:
        return self.again or self.service.wake.is_set() or (self.next_ms is not None and self.next_ms <= now_ms)


class Host:
    """Everything of it is called from outside the loop. `kept` is how many dead letters the store keeps of a job."""

    def __init__(self, slots: int, kept: int, now_ms: int) -> None:
        self.slots = slots
        self.clock = ManualClock(now_ms)
        self.model = Model(kept)
        self.runner = Runner(self.clock)
        self.steps: dict[str, Step] = {}
        self.driven: dict[str, Driven] = {}
        self.boot = 1
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.mkdtemp(prefix="jobctl-machine-", dir=quick_folder())
        self._path = Path(self._folder, "jobctl.db")
        self._path.write_bytes(empty_database())
        self._new_uid = counted_uids()
        self._failure: BaseException | None = None
        self._learned = 0
        self.look = connect_reader(self._path)
        self._run(self._begin())

    def close(self) -> None:
        self.look.close()
        self._loop.run_until_complete(self._end())
        self._loop.close()
        shutil.rmtree(self._folder)

    # ── lives ──────────────────────────────────────────────
    async def _begin(self) -> None:
        """As the daemon begins: the clock, adoption, and then everything else."""
        clock, runner = self.clock, self.runner
        self._real = _threadless(SqliteStore(self._path, self._new_uid))
        await self._real.open()
        self._real.listen(self._heard)
        self.steps = {}
        self.store = store = Watched(self._real, self._told, self.steps)
        self.model.restarted()
        self.epoch = await store.take_epoch("host", clock.now_ms())
        health = Health(clock)
        self.pool = _Pool(clock, self._reported, self._runner_lost)
        again, logs = StartAgain(health, clock), _Logs(runner)
        ending = Ending(store, logs)
        self._time = Timekeeper(store, clock, self.epoch)
        user = User("ada", 1000, 1000, "/", ())
        node = Node("host", f"boot-{self.boot}", BUILD)
        dispatch = Dispatch(store, clock, self.pool, logs, HostFacts(user, "/bin"), node, again, ending)
        dispatch.slots = self.slots
        materialise = Materialise(store, self._time, self.epoch, dispatch.due)
        collect = Collect(store, clock, self.pool, health, again, ending, dispatch.wake.set)
        runners: Any = _Runners(self.pool, runner)
        rescue = Rescue(store, clock, self.pool, runners, node.boot_id, ending, dispatch.due)
        self.driven = {
            "materialise": Driven(materialise),
            "dispatch": Driven(dispatch),
            "collect": Driven(collect),
            "rescue": Driven(rescue),
        }
        await self._time.begin()
        await rescue.run_once()
        await store.wake_waiting()
        await once.expand_boot(store, clock, f"boot-{self.boot}", self.epoch)
        await once.expand_start(store, clock, self.epoch)

    async def _end(self) -> None:
        for step in self.steps.values():
            await step.dies()
        self.steps.clear()
        self.driven = {}
        self.runner.disconnect()
        self.pool.close()
        await self._real.close()

    def restart(self, *, clean: bool = False, boot: bool = False) -> None:
        """The daemon stops or is killed, and the next one begins; with `boot` the machine was off in between."""

        async def again() -> None:
            if clean:
                await self._finish_steps()
                await self.driven["collect"].service.run_once()
                await self._time.end()
            await self._end()
            if boot:
                self.runner.reboots()
                self.boot += 1
                self.clock.reboot(1)
            await self._begin()

        self._run(again())

    # ── services ──────────────────────────────────────────────
    def serve(self, name: str, behind: str | None = None) -> None:
        """A pass of a service, or the rest of one; it stops behind that call of the store if it makes it."""
        self._run(self._serve(name, behind))

    def finish_steps(self) -> None:
        self._run(self._finish_steps())

    async def _serve(self, name: str, behind: str | None) -> None:
        other = _EXCLUSIVE.get(name)
        if other in self.steps and name not in self.steps:
            await self._serve(str(other), None)
        driven = self.driven[name]
        if name not in self.steps:
            driven.again, driven.next_ms = False, None
            if driven.service.wake.is_set():
                await driven.service.wake.wait()
            self.steps[name] = Step(driven.service.run_once())
        step = self.steps[name]
        if await step.go_on(behind):
            del self.steps[name]
            done = step.task.result()
            driven.again, driven.next_ms = done.again, done.next_ms

    async def _finish_steps(self) -> None:
        for name in list(self.steps):
            await self._serve(name, None)

    def wanted(self) -> list[str]:
        """The services that have been woken, or whose time has come."""
        return [name for name, driven in self.driven.items() if driven.wants(self.clock.now_ms())]

    def next_ms(self) -> int | None:
        """The next instant at which a service wants to be called."""
        times = (driven.next_ms for driven in self.driven.values())
        return min((at_ms for at_ms in times if at_ms is not None), default=None)

    # ── what commands and people do ──────────────────────────────────────────────
    def call(self, name: str, *args: Any) -> Any:
        """A call of the store, all at once."""
        return self._run(getattr(self.store, name)(*args))

    def happens(self, what: Callable[..., None], *args: Any, **facts: Any) -> None:
        """Something of the runner, of which it tells jobd."""

        async def does() -> None:
            what(*args, **facts)
            await asyncio.sleep(0)

        self._run(does())

    # ── what is heard ──────────────────────────────────────────────
    def _told(self, name: str, args: Sequence[Any], answer: Any, error: Exception | None) -> None:
        try:
            if error is not None and not isinstance(error, CallerError):
                raise error  # noqa: TRY301
            self.model.told(name, args, answer, error)
            if name in _MAKING:
                self._learn()
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def _learn(self) -> None:
        rows = sorted(self.look.execute(_NEW_RUNS, {"after": self._learned}))
        self.model.learn(rows)
        self._learned = rows[-1][0] if rows else self._learned

    def _heard(self, events: Sequence[Event]) -> None:
        """What the daemon does with every committed change."""
        if self.driven:
            Hearing(self.driven["materialise"].service.wake.set, _nothing, _nothing, _unheard)(events)

    def _reported(self) -> None:
        if self.driven:
            self.driven["collect"].service.wake.set()

    def _runner_lost(self) -> None:
        if self.driven:
            self.driven["rescue"].service.wake.set()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """An assertion that a service has swallowed is raised all the same."""
        try:
            answer = self._loop.run_until_complete(work)
        except BaseException:
            if self._failure is None:
                raise
        if self._failure is not None:
            raise self._failure
        return answer


def _nothing(*_: Any) -> None:
    """Nobody else listens."""


def _unheard() -> None:
    raise AssertionError("what was committed was not understood")


_NEW_RUNS: Final = """
    SELECT id, job_id, key FROM runs WHERE id > :after
    UNION ALL SELECT id, job_id, key FROM history WHERE id > :after"""
#: Calls that may make runs.
_MAKING: Final = frozenset(
    {"expand", "unsuspend", "trigger", "run_adhoc", "retry", "finish", "cancel", "unclaim", "returned"}
)


@functools.cache
def empty_database() -> bytes:
    """A database without a job."""

    async def made(path: Path) -> None:
        store = SqliteStore(path)
        await store.open()
        await store.close()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobctl.db")
        asyncio.run(made(path))
        return path.read_bytes()


def quick_folder() -> str | None:
    """Where a commit waits for no disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
