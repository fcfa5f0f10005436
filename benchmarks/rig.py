"""What the benchmarks share: a daemon of their own in a folder of their own, and the operating system's accounting."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("jobd", timeout=120)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(120)
        self.sock.connect(self._path)


class Rig:
    """A daemon in a temporary folder; `close` ends everything it started."""

    def __init__(self, config: str = "") -> None:
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="jobctl-bench-"))
        (self.home / "config").mkdir()
        (self.home / "config" / "jobd.toml").write_text(config)
        self.socket = str(self.home / "run" / "jobd.sock")
        self.program = ["-m", "jobctl_daemon"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Starts jobd; returns the seconds until it answered that it is ready."""
        began = time.perf_counter()
        environ = {**os.environ, "JOBCTL_HOME": str(self.home)}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        log = (self.home / "log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, *self.program, "--foreground"], env=environ, stdout=log, stderr=log
        )
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/v1/health/ready")[0] == 200:
                    return time.perf_counter() - began
            if self.process.poll() is not None:
                raise SystemExit((self.home / "log").read_text())
            time.sleep(0.005)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request; the status and the decoded answer."""
        connection = _Connection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, json.loads(data) if data else None
        finally:
            connection.close()

    def add(self, drafts: list[dict[str, Any]]) -> None:
        """Stores jobs, a thousand in one transaction."""
        for first in range(0, len(drafts), 1000):
            status, answer = self.request("POST", "/v1/jobs/import", {"jobs": drafts[first : first + 1000]})
            if status != 201:
                raise SystemExit(f"import: {status} {answer}")

    def status(self) -> Any:
        return self.request("GET", "/v1/status")[1]

    def pids(self) -> list[int]:
        """jobd and its runners."""
        assert self.process is not None
        return [self.process.pid, *(runner["pid"] for runner in self.status()["runners"])]

    def wait(self, done: Callable[[Any], bool], limit_s: float = 300, every_s: float = 0.05) -> None:
        """Until `done` says so of the status."""
        end = time.perf_counter() + limit_s
        while not done(self.status()):
            if time.perf_counter() > end:
                raise SystemExit(f"not done after {limit_s} s: {self.status()}")
            time.sleep(every_s)

    def close(self) -> None:
        runners = []
        with contextlib.suppress(OSError, http.client.HTTPException):
            for run in self.request("GET", "/v1/runs?state=running&limit=500")[1]["items"]:
                self.request("POST", f"/v1/runs/{run['id']}/kill")  # a runner ends with its last command only
            runners = [runner["pid"] for runner in self.status()["runners"]]
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
        for pid in runners:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + 10
            while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < end:
                time.sleep(0.02)
        shutil.rmtree(self.home, ignore_errors=True)


@contextlib.contextmanager
def rig(config: str = "") -> Iterator[Rig]:
    """A started daemon."""
    made = Rig(config)
    try:
        made.start()
        yield made
    finally:
        made.close()


def cpu_s(pid: int, children: bool = True) -> float:
    """CPU seconds of a process, with those of the children it has waited for (proc(5), stat)."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return sum(int(field) for field in fields[11 : 15 if children else 13]) / TICKS


def rss_mb(pid: int) -> float:
    """Resident memory, MB."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE / 1e6


def quantile(values: list[float], share: float) -> float:
    """The value below which `share` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def bare_loop(argv: list[str], count: int, at_once: int) -> tuple[float, float]:
    """Starts `count` processes with at most `at_once` in flight and waits for all: (wall s, CPU s in all)."""
    before = os.times()
    began = time.perf_counter()
    alive = 0
    for _ in range(count):
        if alive == at_once:
            os.wait()
            alive -= 1
        os.posix_spawn(argv[0], argv, os.environ)
        alive += 1
    for _ in range(alive):
        os.wait()
    after = os.times()
    wall = time.perf_counter() - began
    return wall, sum(after[:4]) - sum(before[:4])
