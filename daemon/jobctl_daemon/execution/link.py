"""One connection to a runner: lines of JSON each way (docs/runner-protocol.md). A protocol of the loop, no task.

Whoever asks a runner something expects a word from it. Any word will do: a runner is one thread, so one that says
anything is alive. One that says nothing for `SILENT_S` is *silent*: stopped, or held up inside a start. Nothing is
asked just to know that; an idle daemon asks nothing.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from jobctl.errors import Unreachable, VersionMismatch
from jobctl_daemon.execution.stuck import SPAWN_S, end_hanging_start

#: The part of the runner's protocol that adopts, kills and reports is frozen under this number.
RUNNER_PROTOCOL = 1
SILENT_S = 10.0
#: How long somebody waits on the spot for an answer that he needs to go on. What comes later is heard all the same.
_ANSWER_S = 3.0
#: A start is answered in a millisecond or two. One that takes longer than this is held up, and so is what comes behind.
_AT_ONCE_S = 0.05
#: One that has said nothing for longer is asked for a word before it is sent a start.
_FRESH_S = 1.0


@dataclass(frozen=True, slots=True)
class Hello:
    """Who answered."""

    instance: str
    version: str
    pid: int
    boot_id: str
    kill_by: str
    draining: bool


class Link(asyncio.Protocol):
    """`on_lines` gets every complete line, `on_lost` is called once when the connection is gone, `on_silent` whenever
    the runner falls silent or speaks again."""

    def __init__(
        self,
        on_lines: Callable[["Link", list[bytes]], None],
        on_lost: Callable[["Link"], None],
        on_silent: Callable[["Link"], None] = lambda _: None,
    ) -> None:
        self._on_lines = on_lines
        self._on_lost = on_lost
        self._on_silent = on_silent
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._hello: asyncio.Future[Hello] = self._loop.create_future()
        self._version = ""
        self._asked_at: float | None = None
        self._heard_at = float("-inf")
        self._patience: asyncio.TimerHandle | None = None
        self.listed = asyncio.Event()
        """Set when the runner has told all that it holds."""
        self.rescanned = asyncio.Event()
        self.rescanned.set()
        """Not set while a rescan has not been answered: what the runner has taken over by then is not known."""
        self.rescan_busy = False
        """The last rescan did not look: another runner was looking."""
        self.word = asyncio.Event()
        """Set by anything that it says."""
        self.awaited = False
        """Somebody waits on the spot for what comes next."""
        self.lost = False
        self.draining = False
        self.silent = False
        """It has not answered for so long that it gets no more starts."""
        self.starting = 0
        """Starts that were sent and not yet answered."""
        self.sent = 0
        """Starts that were sent: the least used is next."""
        self.pid: int | None = None
        """Of the process at the other end, as the kernel knows it (SO_PEERCRED in unix(7))."""

    @property
    def hello(self) -> Hello:
        return self._hello.result()

    @property
    def ours(self) -> bool:
        """Whether the runner is of this very build."""
        return self.hello.version == self._version

    @property
    def waiting_s(self) -> float | None:
        """For how long it has owed a word; None: it owes none."""
        return None if self._asked_at is None else self._loop.time() - self._asked_at

    @property
    def attentive(self) -> bool:
        """Whether a start sent now would be dealt with at once, as far as one can know: it has just said something, or
        owes an answer for no longer than one takes."""
        if self._asked_at is not None:
            return self._loop.time() - self._asked_at < _AT_ONCE_S
        return self._loop.time() - self._heard_at < _FRESH_S

    # ── what is asked ────────────────────────────────────────────
    async def greet(self, version: str) -> Hello:
        """Says hello and asks for everything that is and will be; raises `VersionMismatch` or `Unreachable`.

        A runner that answers later is listened to then, unless the link is closed.
        """
        self._version = version
        self.ask({"op": "hello", "protocol": RUNNER_PROTOCOL, "version": version})
        self.awaited = True
        try:
            return await asyncio.wait_for(asyncio.shield(self._hello), _ANSWER_S)
        except TimeoutError as error:
            raise Unreachable("a runner did not answer", "see the runner's log in the state folder") from error
        finally:
            self.awaited = False

    async def rescan(self) -> None:
        """Has the runner take over what dead runners left; returns when that is reported, or raises `Unreachable`."""
        self.rescanned.clear()
        self.ask({"op": "rescan"})
        await self.until(self.rescanned)

    async def until(self, told: asyncio.Event) -> None:
        """Waits for an answer; `Unreachable` when it does not come, or the runner goes instead."""
        self.awaited = True
        try:
            await asyncio.wait_for(told.wait(), _ANSWER_S)
        except TimeoutError as error:
            raise Unreachable("a runner does not answer", "see the runner's log in the state folder") from error
        finally:
            self.awaited = False
        if self.lost:
            raise Unreachable("a runner went away", "see the runner's log in the state folder")

    def ping(self) -> None:
        """Asks for a sign of life, unless it owes one already."""
        self.word.clear()
        if self._asked_at is None:
            self.ask({"op": "ping"})

    def start(self, message: dict[str, Any]) -> None:
        """Sends a start: an answer is due soon."""
        self.starting += 1
        self.sent += 1
        self.ask(message)

    def start_answered(self) -> None:
        """One start less to wait for."""
        self.starting -= 1
        if not self.starting:
            self._owes_nothing()

    def drain(self) -> None:
        """The runner ends after its last command."""
        self.draining = True
        self.send({"op": "drain"})

    def ask(self, message: dict[str, Any]) -> None:
        """Sends a message to which something must be said."""
        self.send(message)
        if self._asked_at is None:
            self._asked_at = self._loop.time()
            self._patience = self._loop.call_later(SILENT_S, self._fall_silent)

    def send(self, message: dict[str, Any]) -> None:
        """Queues a message; on a lost connection nothing happens (what it was about is settled by adoption)."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(msgspec.json.encode(message) + b"\n")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # ── what is heard ────────────────────────────────────────────
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.pid = _peer(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self._owes_nothing()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines and not self._hello.done():
            self._take_hello(lines.pop(0))
        if lines and not self._hello.exception():
            self._on_lines(self, lines)
        if self.starting and not self.lost and self._asked_at is None:
            self._asked_at = self._loop.time()
            self._patience = self._loop.call_later(SILENT_S, self._fall_silent)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        if not self._hello.done():
            self._fail(Unreachable("a runner closed the connection", "see the runner's log"))
        self.lost = True
        self._owes_nothing()
        self.listed.set()
        self.rescanned.set()
        self._on_lost(self)

    def _owes_nothing(self) -> None:
        self.word.set()
        self._asked_at = None
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if self.silent:
            self.silent = False
            self._on_silent(self)

    def _fall_silent(self) -> None:
        self._patience = None
        if not self.lost and not self.silent:
            self.silent = True
            structlog.get_logger().warning("runner.silent", pid=self.pid, starting=self.starting)
            if self.starting:
                self._patience = self._loop.call_later(SPAWN_S - SILENT_S, self._end_hanging_start)
            self._on_silent(self)

    def _end_hanging_start(self) -> None:
        self._patience = None
        if self.starting and not self.lost:
            end_hanging_start(self.pid)

    def _take_hello(self, line: bytes) -> None:
        answer = msgspec.json.decode(line)
        facts = answer.get("hello") if isinstance(answer, dict) else None
        if not isinstance(facts, dict) or facts.get("protocol") != RUNNER_PROTOCOL:
            self._fail(Foreign(facts if isinstance(facts, dict) else {}, self.pid))
            self.close()
            return
        hello = Hello(
            instance=facts["instance"],
            version=facts["version"],
            pid=facts["pid"],
            boot_id=facts["boot_id"],
            kill_by=facts["kill_by"],
            draining=facts["draining"],
        )
        self.draining = hello.draining
        self._hello.set_result(hello)
        self.ask({"op": "watch"})

    def _fail(self, error: Exception) -> None:
        self._hello.set_exception(error)
        self._hello.exception()  # nobody may be waiting for it any more


class Foreign(VersionMismatch):
    """A runner that speaks another protocol."""

    def __init__(self, facts: dict[str, Any], pid: int | None) -> None:
        super().__init__("a runner speaks another protocol", "it ends by itself after its last command")
        self.protocol = str(facts.get("protocol", "?"))
        self.version = str(facts.get("version", "?"))
        self.pid = pid


def _peer(sock: socket.socket | None) -> int | None:
    if sock is None:
        return None
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", credentials)[0]
    return pid or None
