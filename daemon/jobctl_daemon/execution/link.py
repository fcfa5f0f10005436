"""One connection to a runner: lines of JSON each way (docs/runner-protocol.md). A protocol of the loop, no task."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from jobctl.errors import Unreachable, VersionMismatch

#: The part of the runner's protocol that adopts, kills and reports is frozen under this number.
RUNNER_PROTOCOL = 1
_ANSWER_S = 10.0


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
    """`on_lines` gets every complete line, `on_lost` is called once when the connection is gone."""

    def __init__(self, on_lines: Callable[["Link", list[bytes]], None], on_lost: Callable[["Link"], None]) -> None:
        self._on_lines = on_lines
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self.listed = asyncio.Event()
        """Set when the runner has told all that it holds."""
        self.rescanned = asyncio.Event()
        self._patience: asyncio.TimerHandle | None = None
        self.lost = False
        self.draining = False
        self.silent = False
        """It has not answered a start for so long that it gets no more of them."""
        self.starting = 0
        """Starts that were sent and not yet answered: the load that counts when starts are spread."""

    @property
    def hello(self) -> Hello:
        return self._hello.result()

    async def greet(self, version: str) -> Hello:
        """Says hello and asks for everything that is and will be; raises `VersionMismatch` or `Unreachable`."""
        self.send({"op": "hello", "protocol": RUNNER_PROTOCOL, "version": version})
        try:
            hello = await asyncio.wait_for(asyncio.shield(self._hello), _ANSWER_S)
        except TimeoutError as error:
            self.close()
            raise Unreachable("a runner did not answer", "see the runner's log in the state folder") from error
        self.draining = hello.draining
        self.send({"op": "watch"})
        return hello

    async def rescan(self) -> None:
        """Has the runner take over what dead runners left; returns when that is reported, or raises `Unreachable`."""
        self.rescanned.clear()
        self.send({"op": "rescan"})
        await self.until(self.rescanned)

    async def until(self, told: asyncio.Event) -> None:
        """Waits for an answer; `Unreachable` when it does not come, or the runner goes instead."""
        try:
            await asyncio.wait_for(told.wait(), _ANSWER_S)
        except TimeoutError as error:
            raise Unreachable("a runner does not answer", "see the runner's log in the state folder") from error
        if self.lost:
            raise Unreachable("a runner went away", "see the runner's log in the state folder")

    def expect_start(self) -> None:
        """A start was sent: an answer is due soon."""
        self.starting += 1
        if self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(_ANSWER_S, self._out_of_patience)

    def start_answered(self) -> None:
        """One start less to wait for."""
        self.starting -= 1
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if self.starting:
            self._patience = asyncio.get_running_loop().call_later(_ANSWER_S, self._out_of_patience)

    def _out_of_patience(self) -> None:
        self._patience = None
        if not self.lost:
            self.silent = True
            structlog.get_logger().warning("runner.silent", instance=self.hello.instance, waiting=self.starting)

    def drain(self) -> None:
        """The runner ends after its last command."""
        self.draining = True
        self.send({"op": "drain"})

    def send(self, message: dict[str, Any]) -> None:
        """Queues a message; on a lost connection nothing happens (what it was about is settled by adoption)."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(msgspec.json.encode(message) + b"\n")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines and not self._hello.done():
            self._take_hello(lines.pop(0))
        if lines:
            self._on_lines(self, lines)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        if not self._hello.done():
            self._hello.set_exception(Unreachable("a runner closed the connection", "see the runner's log"))
            self._hello.exception()  # nobody may be waiting for it any more
        self.lost = True
        if self._patience is not None:
            self._patience.cancel()
        self.listed.set()
        self.rescanned.set()
        self._on_lost(self)

    def _take_hello(self, line: bytes) -> None:
        answer = msgspec.json.decode(line)
        facts = answer.get("hello")
        if facts is None or facts.get("protocol") != RUNNER_PROTOCOL:
            self._hello.set_exception(VersionMismatch(f"a runner speaks another protocol: {answer}", "end it by hand"))
            self.close()
            return
        self._hello.set_result(
            Hello(
                instance=facts["instance"],
                version=facts["version"],
                pid=facts["pid"],
                boot_id=facts["boot_id"],
                kill_by=facts["kill_by"],
                draining=facts["draining"],
            )
        )
