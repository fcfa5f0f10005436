"""A daemon in which much happens: thousands of jobs, ten events a second, an hour of them as fast as they are taken."""

import json
import queue
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from jobctl.client.transport import Request, Response
from jobctl.reading.times import rfc3339
from kit.scripted import OURS, Scripted, answered

Json = dict[str, Any]

JOBS = 2_000
RUNS_KEPT = 500
_KINDS = ("run.scheduled", "run.ready", "run.running", "run.succeeded", "run.failed", "job.paused", "job.resumed")
_WORDS = {"run.scheduled": "queued", "run.ready": "queued", "run.running": "running", "run.failed": "failed",
          "job.paused": "paused"}  # fmt: skip


class Busy(Scripted):
    """`passes(n)` makes n events, and changes what they are about; `drops` breaks the stream."""

    def __init__(self) -> None:
        super().__init__({"/v1/queues": [], "/v1/dead": [], "/v1/dead/groups": []}, {"last_event": 0})
        self.event = 0
        self.followed = 0
        """How often somebody has begun to listen."""
        self._words = ["ok"] * JOBS
        self._kept: list[bytes] = []
        self._news: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def passes(self, events: int) -> int:
        """The number of the last one."""
        batch = bytearray()
        for _ in range(events):
            self.event += 1
            kind, job = _KINDS[self.event % len(_KINDS)], self.event * 7919 % JOBS
            self._words[job] = _WORDS.get(kind, "ok")
            run = self.event if kind.startswith("run.") else None
            told = {"id": self.event, "at": rfc3339(self.clock.now_ms()), "kind": kind, "job_id": job + 1,
                    "run_id": run, "data": {"name": f"job-{job}", "reason": f"exit {self.event % 9}"}}  # fmt: skip
            frame = b"id: %d\nevent: %s\ndata: %s\n\n" % (self.event, kind.encode(), json.dumps(told).encode())
            batch += frame
            self._kept.append(frame)
        del self._kept[:-5_000]
        self.status["last_event"] = self.event
        self._news.put(bytes(batch))
        return self.event

    def drops(self) -> None:
        """Whoever listens has to come again."""
        self._news.put(None)

    def close(self) -> None:
        super().close()
        self._news.put(None)

    def __call__(self, request: Request) -> Response:
        path, _, query = request.path.partition("?")
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        if path == "/v1/jobs/window":
            return answered(self._window(self._job, JOBS, asked))
        if path == "/v1/runs/window":
            newest = [self._run(self.event - number) for number in range(min(RUNS_KEPT, self.event))]
            return answered({**self._window(newest.__getitem__, len(newest), asked), "active": 0, "today": {}})
        if path == "/v1/events":
            after = int(asked.get("after", self.event))
            return Response(200, OURS, self._told(after, follow=asked.get("follow") == "1"))
        self.asked.clear()
        return super().__call__(request)

    def _told(self, after: int, *, follow: bool) -> Iterator[bytes]:
        yield b"".join(frame for frame in self._kept if int(frame[4 : frame.index(b"\n")]) > after)
        if follow:
            self.followed += 1
            while (news := self._news.get()) is not None:
                yield news

    def _window(self, row: Any, total: int, asked: dict[str, str]) -> Json:
        offset, limit = int(asked.get("offset", 0)), int(asked.get("limit", 100))
        if "around" in asked and int(asked["around"]) <= total:
            offset = (int(asked["around"]) - 1) // limit * limit
        items = [row(place) for place in range(offset, min(total, offset + limit))]
        return {"schema": 1, "event": self.event, "total": total, "offset": offset, "items": items}

    def _job(self, place: int) -> Json:
        word = self._words[place]
        active = {"id": place + 1, "state": "running", "started_at": rfc3339(self.clock.now_ms() - 5000),
                  "due_at": rfc3339(self.clock.now_ms()), "attempt": 1, "max_attempts": 1}  # fmt: skip
        last = {"id": place + 1, "state": "succeeded", "outcome": "ok", "class": None, "exit_code": 0, "signal": None,
                "finished_at": rfc3339(self.clock.now_ms() - 60_000), "duration": 2.0}  # fmt: skip
        return {
            "id": place + 1, "name": f"job-{place}", "owner": "root", "state": word, "rank": 3, "words": "every 5m",
            "expression": "every 5m", "timezone": "UTC", "paused_why": None, "suspended_by": None,
            "suspended_until": None, "quarantined": False, "next_run_at": rfc3339(self.clock.now_ms() + 120_000),
            "late_since": None, "active": active if word == "running" else None, "last": last, "recent": "......x..x",
            "error": f"line {self.event}" if word == "failed" else None, "dead": 0, "tags": [], "queue": "default",
            "priority": 0, "declared": None, "rev": 1, "p50": 2.0, "p95": 3.0, "skipping": 0,
        }  # fmt: skip

    def _run(self, number: int) -> Json:
        at = rfc3339(self.clock.now_ms() - number % 3600 * 1000)
        return {
            "id": number, "job_id": number % JOBS + 1, "job": f"job-{number % JOBS}", "owner": "root",
            "state": "succeeded", "trigger": "schedule", "scheduled_at": at, "due_at": at, "started_at": at,
            "finished_at": at, "attempt": 1, "max_attempts": 1, "outcome": "ok", "class": None, "reason": None,
            "exit_code": 0, "signal": None, "queue": "default", "priority": 0, "node": "prod-db1", "error": None,
            "p50": None, "p95": None, "waits_for": None,
        }  # fmt: skip
