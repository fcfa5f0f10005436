"""One client: lines in, lines out, and never a wait for it."""

from __future__ import annotations

import socket

from .loop import READ, WRITE, Loop, Timer
from .protocol import Lines, Malformed, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_READ_BYTES = 256 << 10
_MOST_PENDING_BYTES = 64 << 20
_STALL_S = 30.0


class Connection:
    """Collects what is to be said during a turn and says it at once at its end."""

    def __init__(
        self,
        sock: socket.socket,
        loop: Loop,
        handle: Callable[[Connection, dict[str, Any]], None],
        closed: Callable[[Connection], None],
    ) -> None:
        sock.setblocking(False)
        self.watching = False
        self._socket: socket.socket | None = sock
        self._descriptor = sock.fileno()
        self._loop = loop
        self._handle = handle
        self._closed = closed
        self._lines = Lines()
        self._out: list[bytes] = []
        self._rest = b""
        self._stall: Timer | None = None
        self._last_words = False
        loop.add(self._descriptor, READ, self._ready)

    def say(self, line: bytes) -> None:
        """Put a line on the way."""
        self._out.append(line)

    def hang_up(self, error: str) -> None:
        """Say what was wrong, as far as it goes out at once, and close."""
        self.say(message("error", error))
        self._last_words = True

    def flush(self) -> None:
        """Send what has come together; a client that does not read is left."""
        if self._socket is None or not (self._out or self._rest or self._last_words):
            return
        if not self._rest or self._last_words:
            self._send()
        elif len(self._rest) + sum(map(len, self._out)) > _MOST_PENDING_BYTES:
            self.close()
        if self._last_words:
            self.close()

    def close(self) -> None:
        """Forget the client; its commands go on."""
        if self._socket is None:
            return
        if self._stall is not None:
            self._stall.cancel()
        self._loop.remove(self._descriptor)
        self._socket.close()
        self._socket = None
        self._closed(self)

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self._send()
        if events & ~WRITE:
            self._receive()

    def _receive(self) -> None:
        if self._socket is None:
            return
        try:
            data = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        try:
            for received in self._lines.feed(data):
                self._handle(self, received)
                if self._last_words:
                    return
        except Malformed as error:
            self.hang_up(str(error))

    def _send(self) -> None:
        if self._socket is None:
            return
        data = self._rest + b"".join(self._out)
        self._out.clear()
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.close()
            return
        had_rest, self._rest = bool(self._rest), data[sent:]
        if bool(self._rest) != had_rest:
            self._loop.change(self._descriptor, READ | WRITE if self._rest else READ)
        self._expect_progress(sent > 0)

    def _expect_progress(self, some: bool) -> None:
        if self._stall is not None and (some or not self._rest):
            self._stall.cancel()
            self._stall = None
        if self._rest and self._stall is None:
            self._stall = self._loop.after(_STALL_S, self.close)
