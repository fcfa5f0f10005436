"""A daemon as a process of the simulated machine: the real composition with a stepped loop, store threads and sockets.

What is not the daemon's own is replaced here, and only that: threads, timers, sockets, the start of a program, the
folder of logs, the identity of the boot. `in_place` puts these into the modules that read them.
"""

import asyncio
import errno
import inspect
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import structlog

from jobctl.errors import JobctlError, Unavailable
from jobctl_daemon import app, loop
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.context import Services
from jobctl_daemon.api.problems import problem
from jobctl_daemon.api.routes import find
from jobctl_daemon.asides import Asides
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.store.sqlite import store as store_module
from jobctl_daemon.store.sqlite import thread as thread_module
from jobctl_daemon.store.sqlite.opening import connect_reader, connect_writer
from jobctl_daemon.watching import Watch
from simulation.disk import Connection, Thread
from simulation.loop import Alarm, StepLoop
from simulation.room import SimulatedRoom
from simulation.runner import Client, Runner

if TYPE_CHECKING:
    from simulation.world import World

#: What a daemon begins and ends with: when that fails it ends.
UNASKED: Final = frozenset({"open", "close", "take_epoch"})


class Process:
    """One daemon, from its start to its death."""

    def __init__(self, world: "World", number: int) -> None:
        self.world = world
        self.number = number
        self.stopped = False
        """By SIGSTOP."""
        self.alive = True
        self.ready = False
        self.ending = False
        """It was asked to end."""
        self.epoch: int | None = None
        self.why: BaseException | None = None
        """What it died of, if it died by itself."""
        self.loop = StepLoop(world.clock, self._connect)
        self._wires: list[Wire] = []
        self.server: _Server | None = None
        world.starting = self
        setup = app.Setup(world.places, world.places.config_file, world.settings, world.clock, os.getuid(), self._up)
        self.daemon = app.Daemon(setup)
        self._task = self.loop.create_task(self.daemon.run())
        self._task.add_done_callback(self._ended)

    # ── what can be done next ──────────────────────────────────────────────
    def actions(self) -> list[Callable[[], None]]:
        """One for each of its threads that has something to do."""
        found: list[Callable[[], None]] = []
        if self.loop._ready:
            found.append(self.loop.step)
        found += [partial(self._work, thread) for thread in self.loop.threads if thread.jobs]
        if self.loop.jobs:
            found.append(self.loop.work)
        return found

    def _work(self, thread: Thread) -> None:
        """One whose store somebody else has taken over is watched (I5)."""
        old = self.epoch is not None and self.epoch < self.world.epoch
        before = self.world.newest_event() if old else 0
        thread.work()
        if old and self.world.newest_event() != before:
            self.world.on_old_write(self, before)

    def _up(self) -> None:
        self.ready = True

    # ── its end ──────────────────────────────────────────────
    def kill(self) -> None:
        """By SIGKILL."""
        self.alive = False
        self.let_go()
        self.world.broken_off(self)
        self.loop.unwind()

    def let_go(self) -> None:
        """Of what the kernel closes for a process that has ended."""
        for thread in self.loop.threads:
            thread.drop()
        for wire in self._wires:
            wire.cut()

    def terminate(self) -> None:
        """By SIGTERM. One that is not ready yet has no handler, and dies of it."""
        handler = self.loop.handlers.get(signal.SIGTERM)
        if handler is None:
            self.kill()
        else:
            self.ending = True
            self.loop.call_soon(handler)

    def took_over(self, epoch: int) -> None:
        self.epoch = epoch
        self.world.took_over(self)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if self.alive and not task.cancelled():
            self.why = task.exception()
            self.world.exited(self)

    def _connect(self, factory: Callable[[], Any], path: str) -> tuple[Any, Any]:
        runner = self.world.runners.get(os.path.basename(path).removesuffix(".sock"))
        if runner is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, path)
        protocol = factory()
        wire = Wire(self.loop, runner, protocol)
        self._wires.append(wire)
        protocol.connection_made(wire)
        return wire, protocol

    # ── what it is asked ──────────────────────────────────────────────
    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str], caller: Caller) -> "asyncio.Task[Any]":
        """A request as its verb gets it; the answer is (status, body)."""
        assert self.server is not None
        return self.loop.create_task(self.server.answer(method, path, body, headers, caller))


class Wire(asyncio.Transport):
    """A connection to a runner, from the daemon's end. What was sent arrives, also when the sender dies behind it."""

    def __init__(self, own: StepLoop, runner: Runner, protocol: Any) -> None:
        super().__init__()
        self._loop = own
        self._protocol = protocol
        self.runner = runner
        self._closed = False
        self.client = Client(self._received, self._lost)
        runner.clients.append(self.client)

    def write(self, data: Any) -> None:
        if self._closed:
            return
        for line in bytes(data).splitlines():
            self.runner.inbox.append((self.client, self.runner.world.read(line)))

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        if not self._closed:
            self._hang_up()
            self._loop.call_soon(self._protocol.connection_lost, None)

    def cut(self) -> None:
        """The process is gone."""
        if not self._closed:
            self._hang_up()

    def _hang_up(self) -> None:
        self._closed = True
        self.runner.inbox.append((self.client, None))

    def _received(self, line: bytes) -> None:
        if not self._closed:
            self._loop.call_soon(self._protocol.data_received, line)

    def _lost(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.call_soon(self._protocol.connection_lost, None)


class _Server:
    """In the place of the HTTP server: requests come as values, and go to the real verbs."""

    def __init__(self, services: Services) -> None:
        store: Any = services.store
        self._services = services
        self._process: Process = store.process
        self._process.took_over(services.epoch)
        self.open = False

    async def start(self) -> None:
        self.open = True
        self._process.server = self

    async def stop(self, within_s: float = 5.0) -> None:
        self.open = False

    async def answer(
        self, method: str, path: str, body: bytes, headers: dict[str, str], caller: Caller
    ) -> tuple[int, bytes]:
        methods, params = find(path)
        assert methods is not None, path
        request: Any = _Request(body, headers)
        feed: Any = None

        async def again() -> Caller:
            return caller

        call = Call(request, self._services, feed, caller, params, "", again)
        try:
            response: Any = await methods[method].verb(call)
        except JobctlError as error:
            response = problem(error)
        return response.status, response.body or b""


class _Request:
    """A request that has arrived whole."""

    def __init__(self, body: bytes, headers: dict[str, str]) -> None:
        self.headers = headers
        self.content_length = len(body)
        self._body = body

    async def read(self) -> bytes:
        return self._body


class _Answers:
    """The store as the services have it. The answer of a call can be lost, after its commit."""

    def __init__(self, process: Process, path: str, room: Any = None) -> None:
        self.process = process
        more = {} if room is None else {"room": room}
        self._store = SqliteStore(path, process.world.new_uid, **more)
        self._world = process.world

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not inspect.iscoroutinefunction(method) or name in UNASKED:
            return method
        world = self._world

        async def call(*args: Any) -> Any:
            answer = await method(*args)
            if world.hold == name and (answer or not isinstance(answer, list)):
                await world.wait_for_others(answer)
            if world.loses_answer(name):
                raise Unavailable("the answer was lost", "")
            return answer

        setattr(self, name, call)
        return call


class _Logs(LogFiles):
    """What commands printed, without files."""

    __slots__ = ("_world",)

    def __init__(self, world: "World") -> None:
        super().__init__("/nowhere")
        self._world = world

    def create_dir(self, run_id: int, fence: int) -> str:
        if self._world.disk.full:
            raise OSError(errno.ENOSPC, "no space left on device")
        return self.path(run_id, fence)

    def tail(self, run_id: int, fence: int, limit: int) -> bytes:
        return self._world.printed(attempt_id(run_id, fence))

    def remove(self, run_id: int, fence: int) -> None:
        self._world.log_removed(attempt_id(run_id, fence))


class _Program:
    """A program that the daemon has run: it ends when the runner that it starts listens."""

    returncode: int | None = None

    def __init__(self, world: "World", instance: str) -> None:
        self._world = world
        self._instance = instance

    async def communicate(self) -> tuple[bytes, bytes]:
        await asyncio.sleep(0.05)
        words = self._world.start_runner(self._instance)
        self.returncode = 1 if words else 0
        return b"", words.encode()

    def kill(self) -> None:
        self.returncode = -9

    async def wait(self) -> int | None:
        return self.returncode


async def _at_once(_: Asides, key: str, question: Callable[[], Any], within_s: float) -> Any:
    """No thread, and no file system that hangs."""
    return question()


async def _looks_once(watch: Watch) -> None:
    """Nobody changes files in here."""
    await watch._look()
    await asyncio.Event().wait()


@contextmanager
def in_place(world: "World") -> Iterator[None]:
    """What the daemon asks the machine is answered by this world."""

    async def exec_(*command: str, **_: Any) -> _Program:
        return _Program(world, command[command.index("--instance") + 1])

    def writer(path: Any) -> Any:
        return Connection(connect_writer(path), world.disk, writer=True)

    def reader(path: Any) -> Any:
        return Connection(connect_reader(path), world.disk, writer=False)

    answers: dict[str, tuple[Any, Any]] = {
        "boot_id": (app, lambda: world.boot),
        "boot_key": (app, lambda: world.boot),
        "build_id": (app, lambda: world.build),
        "process_limits": (app, lambda: (-1, -1)),
        "set_level": (app, lambda level: None),
        "SqliteStore": (app, lambda path, **more: _Answers(world.starting, path, **more)),
        "Room": (app, lambda *places: SimulatedRoom(world.disk, *places)),
        "LogFiles": (app, lambda directory: _Logs(world)),
        "Server": (app, _Server),
        "Alarm": (loop, Alarm),
        "connect_writer": (store_module, writer),
        "connect_reader": (store_module, reader),
        "aiosqlite": (thread_module, SimpleNamespace(Connection=Thread)),
        "_CLOCK": (thread_module, world.clock),
        "create_subprocess_exec": (asyncio, exec_),
        "ask": (Asides, _at_once),
        "run": (Watch, _looks_once),
        "_begin_events": (Watch, lambda *_: None),
    }
    changes = [
        mock.patch.object(place, name, answer) for name, (place, answer) in answers.items() if hasattr(place, name)
    ]
    for change in changes:
        change.start()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    try:
        yield
    finally:
        for change in changes:
            change.stop()
        structlog.reset_defaults()
