"""A daemon that answers what it was told to, by the path of the request: what a screen shows of it is the same
everywhere and at any time."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl.clock import SystemClock
from jobctl.reading.times import milliseconds, rfc3339

Json = dict[str, Any]
Answer = Json | list[Any] | bytes | Callable[[Request], Response]

#: What every answer of a daemon has.
OURS = {"jobctl-protocol": "1"}
#: Sunday, at night.
NOW = "2026-11-29T02:12:41Z"


class StillWall(SystemClock):
    """What is shown does not move; what waits does not wait for ever."""

    def __init__(self, now: str = NOW) -> None:
        self.at_ms = milliseconds(now)

    def now_ms(self) -> int:
        return self.at_ms


class Scripted:
    """A transport. `answers` are by path, without the query; a list is a page of it."""

    def __init__(self, answers: Mapping[str, Answer], status: Json | None = None, now: str = NOW) -> None:
        self.answers = dict(answers)
        self.clock = StillWall(now)
        self.status = {**STATUS, **(status or {})}
        self.asked: list[Request] = []
        self._over = threading.Event()

    def client(self) -> Client:
        return Client(self)

    def close(self) -> None:
        """Whoever follows something is told that it is over."""
        self._over.set()

    def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        path, _, query = request.path.partition("?")
        if path == "/v1/status":
            return answered({**self.status, "now": rfc3339(self.clock.now_ms())})
        if path == "/v1/events":
            return Response(200, OURS, self._events(follow="follow=1" in query))
        found = self.answers.get(path)
        if found is None:
            return problem(404, "not_found", f"nothing was said of {path}")
        if callable(found):
            return found(request)
        if isinstance(found, bytes):
            return log(found, query)
        return answered({"schema": 1, "items": found, "next": None} if isinstance(found, list) else found)

    def _events(self, *, follow: bool) -> Iterator[bytes]:
        yield b": nothing\n\n"
        if follow:
            self._over.wait()


class Held:
    """A way to a daemon that can be told to keep its answers for a while; how the daemon is, and what happens there, is
    always told."""

    def __init__(self, way: Callable[[Request], Response]) -> None:
        self._way = way
        self._free = threading.Event()
        self._free.set()
        self._lock = threading.Lock()
        self.waiting = 0
        """Requests that have no answer yet."""

    def hold(self) -> None:
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def __call__(self, request: Request) -> Response:
        if request.path.partition("?")[0] in ("/v1/status", "/v1/events"):
            return self._way(request)
        self._count(1)
        try:
            assert self._free.wait(60), "nobody let the answers go"
            return self._way(request)
        finally:
            self._count(-1)

    def _count(self, by: int) -> None:
        with self._lock:
            self.waiting += by


def answered(document: Any, status: int = 200) -> Response:
    return Response(status, OURS, iter([json.dumps(document).encode()]))


def problem(status: int, code: str, words: str, **more: Any) -> Response:
    return answered({"status": status, "code": code, "title": words, "detail": words, "hint": "", **more}, status)


def log(data: bytes, query: str = "", *, attempt: int = 1, complete: bool = True) -> Response:
    """As the daemon sends a log, or a part of it."""
    asked = dict(pair.split("=") for pair in query.split("&") if pair)
    offset = int(asked.get("offset", 0))
    begin = max(0, len(data) + offset) if offset < 0 else min(offset, len(data))
    end = begin + int(asked["limit"]) if "limit" in asked else len(data)
    headers = OURS | {
        "jobctl-log-offset": str(begin), "jobctl-log-size": str(len(data)),
        "jobctl-log-attempt": asked.get("attempt", str(attempt)), "jobctl-log-complete": str(int(complete)),
    }  # fmt: skip
    return Response(200, headers, iter([data[begin:end]]))


STATUS: Json = {
    "schema": 1, "version": "0.1", "protocol": 1, "pid": 812, "state": "running", "started_at": "2026-11-20T02:12:41Z",
    "uptime_s": 777_600, "timezone": "UTC", "host": "prod-db1", "user": "root", "system": True, "home": None,
    "state_dir": "/var/lib/jobctl", "slots": 8, "running": 3, "ready": 1, "retrying": 1, "scheduled": 14,
    "jobs": {"total": 14, "paused": 1, "failed": 2, "parked": 0, "late": 1}, "dead": {"total": 4, "newest_at": None},
    "skipping": 0, "quarantined": 0, "untold": 0, "paused": None, "last_event": 88_120, "services": {}, "warnings": [],
    "timezone_from": "/etc/localtime", "tzdata": "2026a", "socket": "/run/jobctl/jobd.sock", "oldest_due_s": None,
    "database_bytes": None, "engine": {"name": "SQLite 3.53.0", "note": None}, "start_lag": {"count": 0},
    "loop_lag": {"count": 0}, "standbys": [], "runners": [], "tables": [], "syslog": None, "caller": None,
    "returns_after_reboot": True, "returns_after_reboot_why": "",
    "clock": {"synchronised": True, "generation": 0, "last_step": None, "last_down": None},
}  # fmt: skip
