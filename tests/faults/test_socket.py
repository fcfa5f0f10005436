"""The socket of a real daemon: after crashes, at bad places, and with a hostile crowd at it."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from kit.daemon import CLI, RealDaemon, real_daemon

pytestmark = pytest.mark.long


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


@pytest.mark.case("F103")
def test_twenty_crashes_leave_nothing_in_the_way_of_the_next_start(daemon: RealDaemon) -> None:
    for _ in range(20):
        daemon.kill9()
        assert os.path.exists(daemon.socket)  # the file of the one that was killed
        began = time.monotonic()
        daemon.start()
        assert time.monotonic() - began < 5
    assert daemon.client.status()["state"] == "running"


@pytest.mark.case("F103")
def test_a_second_daemon_with_the_same_socket_is_refused_and_the_first_is_not_disturbed(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    second = RealDaemon(tmp_path / "second")
    second.environ["JOBCTL_SOCKET"] = daemon.socket
    done = second.refused()
    assert done.returncode == 5
    assert f"a program listens at {daemon.socket} already" in done.stderr
    assert daemon.finished(daemon.run(["true"]))["state"] == "succeeded"


@pytest.mark.case("F103")
def test_a_program_that_answers_with_garbage_keeps_its_socket_and_clients_say_what_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "other")
    daemon = RealDaemon(tmp_path / "home")
    daemon.environ["JOBCTL_SOCKET"] = path
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen(64)

        def garbage() -> None:
            with contextlib.suppress(OSError):
                while True:
                    channel, _ = other.accept()
                    with channel, contextlib.suppress(OSError):
                        channel.sendall(b"220 smtp.example.org ESMTP\r\n")

        thread = threading.Thread(target=garbage)
        thread.start()
        try:
            refused = daemon.refused()
            asked = daemon.jobctl("ls")
        finally:
            other.shutdown(socket.SHUT_RDWR)
            thread.join(10)
        assert refused.returncode == 5
        assert os.path.exists(path)
    assert asked.returncode == 4
    assert "Traceback" not in asked.stderr
    assert path in asked.stderr


def _path_of(size: int, letter: str, folder: Path) -> str:
    rest = size - len(os.fsencode(folder)) - 1
    name = letter * (rest // len(letter.encode()))
    return str(folder / (name + "y" * (rest - len(name.encode()))))


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose own name leaves room for the lengths."""
    folder = Path("/tmp") / f"jt{os.getpid()}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


@pytest.mark.case("F105")
@pytest.mark.parametrize(("size", "letter"), [(100, "x"), (107, "é")])
def test_a_socket_of_up_to_107_bytes_is_served_and_reached(tmp_path: Path, short: Path, size: int, letter: str) -> None:
    path = _path_of(size, letter, short)
    assert len(os.fsencode(path)) == size
    daemon = RealDaemon(tmp_path / "home")
    daemon.socket = path
    daemon.client = Client(UnixTransport(path))
    daemon.environ["JOBCTL_SOCKET"] = path
    try:
        daemon.start()
        assert daemon.jobctl("--socket", path, "status", "--json", JOBCTL_SOCKET="").returncode == 0
    finally:
        daemon.close()


@pytest.mark.case("F105")
@pytest.mark.parametrize(("size", "letter"), [(108, "é"), (200, "x")])
def test_a_longer_one_is_refused_with_its_length_by_daemon_and_clients(
    tmp_path: Path, short: Path, size: int, letter: str
) -> None:
    path = _path_of(size, letter, short)
    daemon = RealDaemon(tmp_path / "home")
    daemon.environ["JOBCTL_SOCKET"] = path
    done = daemon.refused()
    assert done.returncode == 2  # the unit does not try this code again
    for answer in (
        done,
        daemon.jobctl("ls"),
        daemon.jobctl("--socket", path, "ls", JOBCTL_SOCKET=""),
        daemon.jobctl("add", "--every", "1h", "--", "true"),
    ):
        assert answer.returncode == 2, answer
        assert f"the socket path has {size} bytes, the kernel takes 107" in answer.stderr
        assert "JOBCTL_" in answer.stderr


# ── a crowd ──────────────────────────────────────────────────────────────────

DEEP = b'{"target":' * 100_000
ENDLESS = b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-A: "


def _rss_mb(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def _connected(path: str) -> socket.socket:
    channel = socket.socket(socket.AF_UNIX)
    channel.settimeout(20)
    channel.connect(path)
    return channel


def _floods(path: str, most: int) -> int:
    """Bytes without a newline, as many as are taken."""
    sent = 0
    with _connected(path) as channel, contextlib.suppress(OSError):
        channel.sendall(ENDLESS)
        while sent < most:
            sent += channel.send(b"y" * (1 << 20))
    return sent


def _posts(path: str, body: bytes, announced: int | None = None) -> bytes:
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    with _connected(path) as channel, contextlib.suppress(ConnectionError):
        channel.sendall(head % (len(body) if announced is None else announced))
        with contextlib.suppress(OSError):
            channel.sendall(body)
        return channel.recv(4096)
    return b""


def _hangs_up(path: str, run: int) -> None:
    """In the middle of an answer."""
    with _connected(path) as channel:
        channel.sendall(b"GET /v1/runs/%d/log HTTP/1.1\r\nHost: x\r\n\r\n" % run)
        channel.recv(10)


@pytest.mark.case("F107")
def test_a_hostile_crowd_holds_up_neither_starts_nor_answers_nor_fills_the_memory(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    daemon.add("tick", ["true"], schedule={"every": 1})
    yes = daemon.run("yes", log_max=2_000_000)
    daemon.until_says(yes, b"y")
    daemon.jobctl("ls")
    before, began = _rss_mb(daemon.process.pid), time.time()
    slowest = 0.0
    with contextlib.ExitStack() as opened, ThreadPoolExecutor(8) as crowd:
        for _ in range(200):
            opened.enter_context(_connected(daemon.socket))
        reader = opened.enter_context(_connected(daemon.socket))
        reader.sendall(b"GET /v1/runs/%d/log?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n" % yes["id"])
        asked = [crowd.submit(_floods, daemon.socket, 2_000_000_000)]
        asked += [crowd.submit(_posts, daemon.socket, b"", 4_000_000_000)]
        asked += [crowd.submit(_posts, daemon.socket, body) for body in (DEEP, b'{"name":"\xff\xfe"}', b"\x00" * 999)]
        asked += [crowd.submit(_hangs_up, daemon.socket, yes["id"]) for _ in range(1000)]
        while time.time() - began < 6 or not all(one.done() for one in asked):
            at = time.monotonic()
            done = subprocess.run(
                [*CLI, "ls", "--json"], env=daemon.environ, capture_output=True, check=False, timeout=30
            )
            slowest = max(slowest, time.monotonic() - at)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["items"]
            assert time.time() - began < 60
        flooded, _, *refused = [one.result() for one in asked[:5]]
        grown = _rss_mb(daemon.process.pid) - before
    runs = [run for run in daemon.runs_of("tick") if run["started_at"]]
    late = daemon.client.status()["start_lag"]["max_ms"]

    assert isinstance(flooded, int)
    assert flooded < 50_000_000
    assert all(b"422" in answer.split(b"\r\n")[0] for answer in refused), refused
    assert grown < 50
    assert slowest < 3  # a start of Python is in it, on a machine that others load
    assert len(runs) >= 5
    assert late < 1_000, daemon.log()
    assert daemon.process.poll() is None
