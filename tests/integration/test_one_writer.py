"""A whole life of the daemon, in this process, of which every statement on every connection is written down: one
connection writes and checkpoints, its transactions begin as writers, and nothing else of it leaves the process."""

import asyncio
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from jobctl.clock import SystemClock
from jobctl.paths import daemon_places
from jobctl_daemon import settings
from jobctl_daemon.app import Daemon, Setup
from jobctl_daemon.store.sqlite import opening
from kit.daemon import kill

_WRITES = re.compile(
    r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|VACUUM|REINDEX|WITH.*\b(INSERT|UPDATE|DELETE)\b)", re.S
)
_BEGINS = re.compile(r"\s*BEGIN\b\s*(\w*)")
_ENDS = re.compile(r"\s*(COMMIT|ROLLBACK|END)\s*$")


@dataclass
class Watched:
    """A connection, and what it did."""

    uri: str
    query_only: bool
    autocheckpoint: int
    isolation_level: str | None
    threads: set[str] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)

    def hear(self, statement: str) -> None:
        self.threads.add(threading.current_thread().name)
        self.statements.append(statement)

    @property
    def writes(self) -> list[str]:
        return [statement for statement in self.statements if _WRITES.match(statement)]

    @property
    def checkpoints(self) -> list[str]:
        return [statement for statement in self.statements if "wal_checkpoint" in statement]

    def outside_of_writers(self) -> list[str]:
        """Writes that were not in a transaction that began as a writer's."""
        began, found = "", []
        for statement in self.statements:
            if begin := _BEGINS.match(statement):
                began = begin[1] or "DEFERRED"
            elif _ENDS.match(statement):
                began = ""
            elif _WRITES.match(statement) and began != "IMMEDIATE":
                found.append(statement)
        return found


class Connections:
    """Every connection that is opened in this folder while the test runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._real = opening._connect
        self.all: list[Watched] = []

    def connect(self, uri: str, *pragmas: str) -> sqlite3.Connection:
        connection = self._real(uri, *pragmas)
        watched = Watched(
            uri,
            bool(connection.execute("PRAGMA query_only").fetchone()[0]),
            connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0],
            connection.isolation_level,
        )
        if self._folder in uri:
            self.all.append(watched)
        connection.set_trace_callback(watched.hear)
        return connection


@pytest.fixture
def connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connections:
    made = Connections(tmp_path)
    monkeypatch.setattr(opening, "_connect", made.connect)
    return made


@pytest.fixture
def runners() -> Iterator[list[int]]:
    pids: list[int] = []
    yield pids
    for pid in pids:
        kill(pid)


def a_day(client: Client, runners: list[int], seen: dict[str, Any]) -> None:
    """A bit of everything that people do."""
    runners += [runner["pid"] for runner in client.status()["runners"]]
    client.create_job({"name": "often", "target": {"shell": "true"}, "schedule": {"every": 1}, "overlap": "allow"})
    client.import_jobs([{"name": f"job-{index}", "target": {"shell": "true"}} for index in range(50)])
    bad = client.create_run({"target": {"shell": "exit 3"}})
    client.run(bad["id"], wait_s=20)
    client.replay({"ids": [bad["id"]]})
    client.run(bad["id"], wait_s=20)
    client.discard({"ids": [bad["id"]]})
    shown = client.create_run({"target": {"shell": "ls -l /proc/self/fd /proc/$PPID/fd"}})
    client.run(shown["id"], wait_s=20)
    seen["command"] = client.log(shown["id"]).read().decode()
    seen["runners"] = [
        os.readlink(f"/proc/{pid}/fd/{entry}") for pid in runners for entry in os.listdir(f"/proc/{pid}/fd")
    ]
    seen["inherited"] = list(inheritable())
    client.edit_job("often", {"schedule": {"every": 2}})
    client.pause_job("often")
    client.resume_job("often", catch_up=True)
    client.skip_next("often")
    client.set_queue("slow", 1)
    client.pause_daemon()
    client.resume_daemon()
    for index in range(40):
        client.run(client.trigger(f"job-{index}", {})["id"], wait_s=20)
    client.backup().read()
    client.doctor(deep=True)
    client.delete_job("often")
    client.ready()
    client.stop_daemon()


def inheritable() -> Iterator[str]:
    """The database's files that an exec would leave open."""
    for entry in os.listdir("/proc/self/fd"):
        try:
            place = os.readlink(f"/proc/self/fd/{entry}")
            flags = next(
                line for line in Path(f"/proc/self/fdinfo/{entry}").read_text().splitlines() if "flags" in line
            )
        except OSError:
            continue
        if "jobctl.db" in place and not int(flags.split()[1], 8) & os.O_CLOEXEC:
            yield place


@pytest.mark.case("F085", "F088", "F091")
async def test_one_connection_does_all_writing_and_all_checkpoints(
    tmp_path: Path, connections: Connections, runners: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = daemon_places({"JOBCTL_HOME": str(tmp_path)}, os.geteuid())
    os.makedirs(places.state_dir, mode=0o700)
    monkeypatch.setattr("jobctl_daemon.store.sqlite.writer.WAL_BYTES", 100_000)
    ready = asyncio.Event()
    daemon = Daemon(Setup(places, places.config_file, settings.Settings(), SystemClock(), os.geteuid(), ready.set))
    client = Client(UnixTransport(places.socket))
    seen: dict[str, Any] = {}

    async def people() -> None:
        await ready.wait()
        try:
            await asyncio.to_thread(a_day, client, runners, seen)
        finally:
            daemon._stop.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(daemon.run())
        tasks.create_task(people())

    of_database = [one for one in connections.all if "/jobctl.db?" in one.uri]
    writers = [one for one in of_database if one.writes]
    assert len(writers) == 1
    (writer,) = writers
    assert len(writer.writes) > 500
    assert writer.outside_of_writers() == []
    assert len(writer.threads) == 1
    assert [one for one in of_database if one.checkpoints] == [writer]
    assert len(writer.checkpoints) > 3
    assert {one.autocheckpoint for one in of_database if "immutable" not in one.uri} == {0}
    assert {one.isolation_level for one in connections.all} == {None}
    assert all(one.query_only or "mode=ro" in one.uri for one in of_database if one is not writer)
    assert len(of_database) > 3
    assert "jobctl.db" not in seen["command"]
    assert not [place for place in seen["runners"] if "jobctl.db" in place]
    assert seen["inherited"] == []
    assert not [name for name in os.listdir(places.state_dir) if name.startswith("jobctl.db-")]
