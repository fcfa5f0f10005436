"""One connection: aiohttp's protocol, with the limits it lacks and our problem documents in place of its pages."""

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp.http_exceptions import LineTooLong
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse

from jobctl.errors import JobctlError
from jobctl_daemon.api.callers import peer_uid
from jobctl_daemon.api.limits import ARRIVE_S, HEAD_BYTES_MAX, HEADERS_MAX, IDLE_S, LINGER_S, STALL_S
from jobctl_daemon.api.problems import HEADERS, Refused, document, problem, surprise

if TYPE_CHECKING:
    from aiohttp.web_server import Server

_LINE_BYTES_MAX = 8190


class Gate(Protocol):
    """Counts the connections."""

    def enter(self, connection: "Connection") -> None:
        """It is here; if there is no room for it, it is refused."""
        ...

    def leave(self, connection: "Connection") -> None:
        """It is gone."""
        ...


class Connection(RequestHandler):
    """Knows since when its head is arriving, and since when its reader takes nothing."""

    __slots__ = ("_begun_s", "_closing_s", "_gate", "_head_bytes", "_stalled_s", "oversized", "refused", "uid", "wire")

    def __init__(self, server: "Server", gate: "Gate", loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=IDLE_S,
            tcp_keepalive=False,
            access_log=None,  # type: ignore[arg-type]  # None switches it off
            max_line_size=_LINE_BYTES_MAX,
            max_field_size=_LINE_BYTES_MAX,
            max_headers=HEADERS_MAX,
            lingering_time=LINGER_S,
            auto_decompress=False,  # a compressed body is a bomb at worst and no gain on a socket of this host
        )
        self._gate = gate
        self._begun_s: float | None = None
        self._stalled_s: float | None = None
        self._closing_s: float | None = None
        self._head_bytes = 0
        self.oversized = False
        """The head of the request that came last is over the limit; the desk refuses it."""
        self.refused = False
        """It only gets to read why; then it is gone."""
        self.uid: int | None = None
        self.wire: asyncio.Transport | None = None
        """The transport also after aiohttp has let go of it: its last bytes may still wait for their reader."""

    @property
    def idle(self) -> bool:
        """Nothing is being asked or answered."""
        return self._waiter is not None and not self._messages

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.wire = self.transport
        self.uid = peer_uid(transport)
        self._gate.enter(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._gate.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        in_head = self.idle
        super().data_received(data)
        if in_head:
            self._note_head(len(data))

    def _note_head(self, received: int) -> None:
        self._head_bytes += received
        if self._messages:
            self.oversized = self._head_bytes > HEAD_BYTES_MAX and self._announced() > HEAD_BYTES_MAX
            self._begun_s, self._head_bytes = None, 0
        elif self._head_bytes > HEAD_BYTES_MAX:
            self.refuse(head_too_large())
        elif self._begun_s is None:
            self._begun_s = self._loop.time()

    def _announced(self) -> int:
        """The bytes of the head that has just been read; what came with it may be its body."""
        headers = getattr(self._messages[0][0], "raw_headers", ())
        return sum(len(name) + len(value) + 4 for name, value in headers)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled_s = self._loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled_s = None

    def overdue(self, now_s: float) -> None:
        """Ends the connection when one of its times is up."""
        if self.wire is None:
            return
        if self.wire.is_closing():
            self._closing_s = self._closing_s or now_s
            if now_s - self._closing_s >= STALL_S:
                self.wire.abort()
        elif self._stalled_s is not None and now_s - self._stalled_s >= STALL_S:
            self.wire.abort()
        elif self._begun_s is not None and now_s - self._begun_s >= ARRIVE_S:
            self.refuse(Refused(408, f"the request's head did not arrive within {ARRIVE_S:g} s", "send it at once"))

    def refuse(self, error: JobctlError) -> None:
        """Answers without waiting for the rest of a request. The refused one gets a moment to read it: closing while
        it still sends would take the answer from it."""
        self._begun_s = None
        self.refused = True
        if self.transport is not None and not self._close:
            self.transport.write(raw_problem(error))
            self.transport.write_eof()
            self._loop.call_later(LINGER_S, self.transport.abort)
        self.close()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> StreamResponse:
        """aiohttp calls this for bytes that are no HTTP, and for what escaped a verb."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; only breaking it off tells the reader")
        response = problem(_parse_error(exc, message) if status < 500 else surprise(exc or TimeoutError(), "http"))
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """aiohttp's own complaints end up where ours do."""
        surprise(kw.get("exc_info") or RuntimeError(str(args)), "connection")


def _parse_error(exc: BaseException | None, message: str | None) -> Refused:
    if isinstance(exc, LineTooLong) or (message or "").startswith("Too many headers"):
        return head_too_large()
    first = (message or "").partition("\n")[0].rstrip(": ")[:100]
    return Refused(400, f"this is not an HTTP request: {first or 'it cannot be read'}", "speak HTTP/1.1")


def head_too_large() -> Refused:
    return Refused(431, f"the request's headers have over {HEAD_BYTES_MAX // 1024} KiB", "send fewer or shorter ones")


def raw_problem(error: JobctlError) -> bytes:
    """A whole answer for a connection that is not in a state for aiohttp to answer on."""
    status = error.status if isinstance(error, Refused) else error.http_status
    body = document(error, status)
    lines = [f"HTTP/1.1 {status} Refused", "Content-Type: application/problem+json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in HEADERS]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("ascii") + body
