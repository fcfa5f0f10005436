"""Callers that hang up in the middle of a request, a thousand times, while runs go on."""

import contextlib
import json
import random
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kit.daemon import RealDaemon, real_daemon

ROUNDS = 1_000


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def hang_up(daemon: RealDaemon, method: str, path: str, body: dict[str, Any], after_s: float) -> bytes:
    """Sends a request and closes after so long; what had been answered by then."""
    data = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: jobd\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(5)
        caller.connect(daemon.socket)
        caller.sendall(head + data)
        time.sleep(after_s)
        caller.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            return caller.recv(100)
    return b""


@pytest.mark.case("F094")
@pytest.mark.long
def test_a_thousand_callers_that_hang_up_leave_nothing_half_done(daemon: RealDaemon) -> None:
    chance = random.Random(7)
    daemon.add("busy", ["/bin/true"], schedule={"every": 1}, overlap="allow", misfire="skip")
    bad = daemon.finished(daemon.run("exit 3"))
    answered = []
    for index in range(ROUNDS):
        kind = index % 5
        after_s = chance.uniform(0, 0.02)
        if kind <= 1:
            draft = {"name": f"job-{index}", "target": {"shell": "true"}, "schedule": {"cron": "0 3 * * *"}}
            if hang_up(daemon, "POST", "/v1/jobs", draft, after_s).startswith(b"HTTP/1.1 201"):
                answered.append(f"job-{index}")
        elif kind == 2:
            hang_up(daemon, "POST", "/v1/jobs/busy/runs", {}, after_s)
        elif kind == 3:
            hang_up(daemon, "POST", "/v1/dead/replay", {"ids": [bad["id"]]}, after_s)
        else:
            hang_up(daemon, "POST", f"/v1/runs/{bad['id']}/kill", {}, after_s)
        if index % 100 == 99:
            path = daemon.home / "state" / "jobctl.db"
            with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as other:
                other.execute("PRAGMA wal_autocheckpoint = 0")
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")

    jobs = {job["name"]: job for job in daemon.client.jobs()}
    made = [name for name in jobs if name.startswith("job-")]
    assert set(answered) <= set(made)
    assert len(answered) > ROUNDS / 20
    assert all(jobs[name]["next_run_at"] for name in made)
    assert daemon.client.ready()["status"] == "ok"
    assert not daemon.client.status()["warnings"]
    assert "Traceback" not in daemon.log()
    assert not [finding for finding in daemon.client.doctor(deep=True) if finding["level"] == "bad"]
