"""HTTP/1.1 on a stream socket: what the daemon's API needs of it and no more.

`http.client` would do the same, but drags in `email` and `ssl`: a third of the time that `jobctl ls` may take
(docs/decisions/0006). One request per connection, `Connection: close`; bodies by length, in chunks, or to the end.
"""

from collections.abc import Iterator, Mapping
from socket import socket

_READ_BYTES = 65_536
_HEAD_BYTES_MAX = 65_536


class Broken(Exception):
    """The peer closed in the middle, or what it sent is not HTTP."""


def request_bytes(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """The whole request. `target` is percent-encoded already."""
    lines = [f"{method} {target} HTTP/1.1", "Host: jobd", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


class Reader:
    """Reads one answer from a socket: first `head()`, then `body()`."""

    def __init__(self, sock: socket) -> None:
        self._socket = sock
        self._buffer = b""

    def head(self) -> tuple[int, dict[str, str]]:
        """The status and the headers, names in lower case."""
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > _HEAD_BYTES_MAX:
                raise Broken("the answer's headers do not end")
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        version, _, status = first.partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdigit():
            raise Broken("the answer is not HTTP")
        pairs = (line.partition(":") for line in rest)
        return int(status[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def body(self, status: int, headers: Mapping[str, str]) -> Iterator[bytes]:
        """The body as it arrives, in pieces that are never empty."""
        if status in {204, 304}:
            return iter(())
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        if "content-length" in headers:
            return self._exactly(int(headers["content-length"]))
        return self._to_the_end()

    def _more(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise Broken("the connection was closed in the middle of the answer")
        self._buffer += data

    def _exactly(self, count: int) -> Iterator[bytes]:
        while count > 0:
            if not self._buffer:
                self._more()
            piece, self._buffer = self._buffer[:count], self._buffer[count:]
            count -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while True:
            size = int(self._line().split(b";")[0], 16)
            if size == 0:
                while self._line():
                    pass
                return
            yield from self._exactly(size)
            self._line()

    def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            if len(self._buffer) > _HEAD_BYTES_MAX:
                raise Broken("a chunk's size line does not end")
            self._more()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def _to_the_end(self) -> Iterator[bytes]:
        if self._buffer:
            yield self._buffer
        while data := self._socket.recv(_READ_BYTES):
            yield data
