"""The API in process, on a real socket over a real SQLite store; execution and health are stand-ins."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobctl.client.http1 import Reader
from jobctl.errors import Forbidden
from jobctl.model import Execution as Work
from jobctl.model import JobSpec, Policies, ScheduleSpec
from jobctl.paths import Places
from jobctl.states import FailureClass, RunState
from jobctl_daemon.api.callers import Peer, Welcome
from jobctl_daemon.api.context import ClockReport, HealthReport, HostFacts, Lag, Services, Settings, StopMode
from jobctl_daemon.api.server import Server
from jobctl_daemon.auditlog import AuditLog
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Admission, Caller, Claim, Finish
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock

Json = dict[str, Any]
NOW_MS = 1_800_000_000_000
BODY: Json = {"target": {"command": ["/bin/echo", "hello"]}, "name": "greet"}


@dataclass
class Stops:
    """Execution that only remembers what it was asked."""

    asked: list[tuple[int, int, str, int]] = field(default_factory=list)

    async def stop(self, run_id: int, fence: int, mode: StopMode, grace_ms: int) -> None:
        self.asked.append((run_id, fence, mode, grace_ms))

    async def look(self) -> None:
        pass

    def held(self) -> set[str]:
        return set()

    def runners(self) -> list[Json]:
        return [{"instance": "1", "pid": 7, "version": "0", "running": 0, "kill_by": "group", "draining": False}]


@dataclass
class Chosen:
    """Whoever connects is who the test says; None: nobody that is served."""

    caller_now: Caller | None
    rank: Welcome = Welcome.OWN

    def welcome(self, uid: int | None) -> Welcome:
        return self.rank

    async def caller(self, peer: Peer | None) -> Caller:
        if self.caller_now is None:
            raise Forbidden("this daemon does not serve you", "start your own daemon: `jobctl daemon start`")
        return self.caller_now


@dataclass
class Fine:
    """Health that is told what to say."""

    stopping: bool = False
    unready: str | None = None
    clock: ClockReport = field(default_factory=ClockReport)
    untried: str | None = None
    """Why a write does not go through."""
    beats: dict[str, list[str | None]] = field(default_factory=dict)

    def beat(self, name: str, error: str | None) -> None:
        self.beats.setdefault(name, []).append(error)

    async def tried(self) -> str | None:
        return self.untried

    async def standbys(self) -> list[int]:
        return []

    def snapshot(self) -> HealthReport:
        lag = Lag(count=0, p50_ms=None, p99_ms=None, max_ms=None)
        return HealthReport(
            stopping=self.stopping,
            unready=self.unready,
            services={},
            start_lag=lag,
            loop_lag=lag,
            warnings=["a warning"],
            returns_after_reboot=True,
            returns_after_reboot_why="a unit",
            clock=self.clock,
        )


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class World:
    """The parts, and ways to ask the server."""

    def __init__(self, folder: Path, *, system: bool = False, real: bool = False, **settings: Any) -> None:
        """`real`: who calls is what the kernel says; else whom `who` names."""
        self.clock = ManualClock(NOW_MS)
        self.store = SqliteStore(folder / "jobctl.db")
        self.logs = LogFiles(str(folder / "runs"))
        self.execution = Stops()
        self.health = Fine()
        self.places = Places(str(folder), str(folder), str(folder / "run" / "jobd.sock"), None, system=system)
        self.stopped = 0
        self.changes = 0
        self._open: list[asyncio.StreamWriter] = []
        self.services = self._services(settings)
        self.owner = Caller(uid=os.getuid(), name="me")
        self.who = Chosen(self.owner)
        self.server = Server(self.services) if real else Server(self.services, lambda _: self.who)

    def _services(self, settings: Json) -> Services:
        return Services(
            store=self.store,
            clock=self.clock,
            places=self.places,
            settings=Settings(slots=4, **settings),
            host=HostFacts("Europe/Berlin", "/etc/localtime", "2026b", "host", "me", os.getuid(), "/usr/bin:/bin"),
            execution=self.execution,
            logs=self.logs,
            health=self.health,
            stop=self._stop,
            changed=self._changed,
            epoch=1,
            pid=os.getpid(),
            started_ms=NOW_MS - 5000,
            started_boot_ms=self.clock.boot_ms() - 5000,
            audit=AuditLog(self.clock, path=None),
        )

    def _stop(self) -> None:
        self.stopped += 1

    def _changed(self) -> None:
        self.changes += 1

    # ── asking ─────────────────────────────────────────────────
    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request on a connection of its own. A body that is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(data)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return parsed(await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + data))

    async def raw(self, data: bytes) -> bytes:
        """Bytes out, all bytes back until the server closes."""
        reader, _ = await self.connect(data)
        async with asyncio.timeout(10):
            return await reader.read()

    async def connect(self, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which `data` has been sent; closed at the latest with the world."""
        reader, writer = await asyncio.open_unix_connection(self.places.socket)
        self._open.append(writer)
        writer.write(data)
        return reader, writer

    async def settled(self) -> None:
        """What was sent before has reached the server and its verb."""
        for _ in range(3):
            assert (await self.ask("GET", "/v1/jobs")).status == 200

    async def hang_up(self) -> None:
        """Closes what tests left open."""
        for writer in self._open:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._open), return_exceptions=True)

    async def add(self, **fields: Any) -> Json:
        answer = await self.ask("POST", "/v1/jobs", {**BODY, **fields})
        assert answer.status == 201, answer
        job: Json = answer.json
        return job

    # ── what services and runners would do ─────────────────────────────────────────────────
    async def claimed(self, name: str = "greet") -> Claim:
        """A run of a new job that has been claimed."""
        spec = JobSpec(
            name=name,
            schedule=ScheduleSpec(timezone="UTC", words="by hand"),
            execution=Work(command=["true"]),
            policies=Policies(),
        )
        job = (await self.store.create_job(self.owner, spec, None, NOW_MS, None)).job
        return await self.begun(job.id)

    async def begun(self, job_id: int) -> Claim:
        """A run of a job that has been asked for and claimed now."""
        now_ms = self.clock.now_ms()
        run = (await self.store.trigger(self.owner, job_id, now_ms, now_ms, None)).run
        return await self.claim(run.id)

    async def claim(self, run_id: int) -> Claim:
        """A run that waits, claimed now."""
        now_ms = self.clock.now_ms()
        pending = await self.store.pending(now_ms, 10)
        await self.store.admit([Admission(run_id=one.run_id) for one in pending], now_ms)
        (claim,) = [one for one in await self.store.claim(now_ms, 100, "node", "boot") if one.run_id == run_id]
        return claim

    async def end(self, claim: Claim, **facts: Any) -> None:
        """The attempt has ended well."""
        wanted: Json = {"failure_class": None, "reason": None, "started_ms": NOW_MS, "exit_code": 0, **facts}
        finish = Finish(
            run_id=claim.run_id,
            fence=claim.fence,
            state=RunState.SUCCEEDED,
            outcome="ok",
            ended_ms=NOW_MS + 1,
            **wanted,
        )
        (verdict,) = await self.store.finish([finish], NOW_MS + 1)
        assert verdict.answer == "ok"

    async def die(self, claim: Claim, error: str = "disk full", **facts: Any) -> None:
        """The attempt has failed for good."""
        now_ms = self.clock.now_ms()
        wanted: Json = {
            "state": RunState.DEAD,
            "outcome": "exit_code",
            "failure_class": FailureClass.EXIT_CODE,
            "reason": "exit 3",
            "exit_code": 3,
            "fingerprint": f"exit_code:3:{error}",
            **facts,
        }
        finish = Finish(
            run_id=claim.run_id, fence=claim.fence, started_ms=now_ms, ended_ms=now_ms, error=error, **wanted
        )
        (verdict,) = await self.store.finish([finish], now_ms)
        assert verdict.answer == "ok"

    async def dead(self, name: str, errors: Sequence[str] = ("disk full",)) -> list[int]:
        """Dead letters of a new job, one for each error, a second apart; their ids, oldest first."""
        job = await self.add(name=name, overlap="allow")
        ids = []
        for error in errors:
            claim = await self.begun(job["id"])
            await self.die(claim, error)
            self.clock.tick(1000)
            ids.append(claim.run_id)
        return ids

    def log_path(self, claim: Claim) -> Path:
        return Path(self.logs.create_dir(claim.run_id, claim.fence))


def parsed(data: bytes) -> Answer:
    """An answer from its bytes, read by the client's own reader."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        reader = Reader(ours)
        status, headers = reader.head()
        return Answer(status, headers, b"".join(reader.body(status, headers)))


@asynccontextmanager
async def world(folder: Path, *, system: bool = False, real: bool = False, **settings: Any) -> AsyncIterator[World]:
    """A world whose server answers."""
    made = World(folder, system=system, real=real, **settings)
    await made.store.open()
    assert await made.store.take_epoch("node", NOW_MS) == made.services.epoch
    try:
        await made.server.start()
        try:
            yield made
        finally:
            await made.hang_up()
            await made.server.stop(1.0)
    finally:
        await made.store.close()
