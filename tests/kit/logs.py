"""Logs without a daemon: their bytes are served by a transport that answers as docs/api.md says."""

import json
import threading
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl.errors import Unreachable
from kit.scripted import OURS


class LogServer:
    """One log of one run, which may grow, end, and go away for a while."""

    def __init__(self, data: bytes = b"", *, over: bool = True) -> None:
        self.data = data
        self.over = over
        self.asked: list[tuple[int, int | None, bool]] = []
        self._changed = threading.Condition()
        self._cut = 0
        self.away = False

    def client(self) -> Client:
        return Client(self)

    def grow(self, more: bytes, *, over: bool = False) -> None:
        with self._changed:
            self.data += more
            self.over = over
            self._changed.notify_all()

    def go_away(self) -> None:
        """Connections break, and nobody answers."""
        with self._changed:
            self.away = True
            self._cut += 1
            self._changed.notify_all()

    def come_back(self) -> None:
        with self._changed:
            self.away = False

    def __call__(self, request: Request) -> Response:
        if self.away:
            raise Unreachable("cannot reach the daemon")
        split = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        if not split.path.endswith("/log"):
            return Response(200, OURS, iter([json.dumps({"id": 1, "state": "running"}).encode()]))
        offset, follow = int(query.get("offset", 0)), "follow" in query
        limit = int(query["limit"]) if "limit" in query else None
        self.asked.append((offset, limit, follow))
        headers = {
            "jobctl-log-offset": str(offset),
            "jobctl-log-size": str(len(self.data)),
            "jobctl-log-attempt": "1",
            "jobctl-log-complete": str(int(self.over)),
        }
        return Response(200, OURS | headers, self._body(offset, limit, follow, self._cut))

    def _body(self, offset: int, limit: int | None, follow: bool, cut: int) -> Iterator[bytes]:
        left = 1 << 60 if limit is None else limit
        while left > 0:
            with self._changed:
                if follow:
                    self._changed.wait_for(lambda at=offset: len(self.data) > at or self.over or self._cut > cut, 30)
                if self._cut > cut:
                    raise OSError("the connection broke")
                piece = self.data[offset : offset + min(left, 65_536)]
            if not piece:
                return
            yield piece
            offset, left = offset + len(piece), left - len(piece)


Posted = Callable[[Callable[[], None]], None]
