"""The daemon watches itself: real processes whose services fail in every way that there is."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.transport import Request, UnixTransport
from jobctl.errors import Unavailable, Unreachable
from kit.daemon import RealDaemon
from kit.gate import Gates

pytestmark = pytest.mark.long

SERVICES = ("materialise", "dispatch", "collect", "rescue", "retain", "tell", "upkeep")
#: The real limit is 30 s; the daemons of these tests have no patience.
STALLED_MS = 500
HEALED_S = 6.0

#: A daemon as it is, but for what SIGUSR1 does to its services: each fails once, in the way of its first argument.
BROKEN = f"""
import asyncio, signal, sys, threading, time
from jobctl_daemon import app, facts, health
from jobctl_daemon.__main__ import main

health.STALLED_MS = facts.STALLED_MS = {STALLED_MS}
kind = sys.argv[1]


class Odd(BaseException):
    pass


def deep():
    deep()


async def fault():
    if kind == "RuntimeError": raise RuntimeError("on purpose")
    if kind == "CancelledError": raise asyncio.CancelledError("on purpose")
    if kind == "BaseException": raise Odd("on purpose")
    if kind == "RecursionError": deep()
    if kind == "SystemExit": raise SystemExit(3)
    if kind == "hang": await asyncio.get_running_loop().create_future()
    if kind == "block": time.sleep(0.5)
    return None  # and that is no pass


class Broken(app.Daemon):
    async def _begin(self):
        await super()._begin()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.break_)

    def break_(self):
        if kind == "cancelled":
            for task in list(self._kept._tasks.values()): task.cancel()
        elif kind == "writer stuck":
            self._store._writer._thread.post(lambda connection: threading.Event().wait())
        elif kind == "reader stuck":
            self._store._reader.post(lambda connection: threading.Event().wait())
        elif kind == "main":
            asyncio.ensure_future(self.main_fails())
        else:
            for service in self._services(): self.break_once(service)

    def break_once(self, service):
        async def once():
            del service.run_once
            return await fault()

        service.run_once = once
        service.wake.set()

    async def main_fails(self):
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task() and task.get_coro().__name__ == "run": task.cancel()


app.Daemon = Broken
raise SystemExit(main(sys.argv[2:]))
"""


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Callable[..., RealDaemon]]:
    """Starts such a daemon."""
    made: list[RealDaemon] = []

    def start(kind: str, **environ: str) -> RealDaemon:
        daemon = RealDaemon(tmp_path / "home")
        daemon.program = ["-c", BROKEN, kind]
        daemon.environ |= environ
        made.append(daemon)
        return daemon.start()

    yield start
    for daemon in made:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill9()  # what hangs does not stop
        daemon.environ.pop("NOTIFY_SOCKET", None)
        daemon.close()


def breaks(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGUSR1)


def soon(answer: Callable[[], Any], within_s: float = HEALED_S) -> Any:
    """The first answer that holds."""
    until = time.monotonic() + within_s
    while not (found := answer()):
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.02)
    return found


def unready(daemon: RealDaemon) -> tuple[str, float]:
    """Why it is not ready, and how long that answer took."""
    began = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        daemon.client.ready()
    return caught.value.message, time.monotonic() - began


@pytest.mark.case("F146")
@pytest.mark.parametrize(
    "kind",
    [
        "RuntimeError",
        "CancelledError",
        "BaseException",
        "RecursionError",
        "SystemExit",
        "returns",
        "cancelled",
        "block",
    ],
)
def test_every_service_goes_on_within_seconds_after(
    kind: str, broken: Callable[..., RealDaemon], tmp_path: Path
) -> None:
    daemon = broken(kind)
    gates = Gates(tmp_path / "gates")
    running = daemon.until_says(daemon.run(gates.command("one")), b"begin")
    before = {name: service["beats"] for name, service in daemon.client.status()["services"].items()}
    breaks(daemon)

    def healed() -> bool:
        try:
            services = daemon.client.status()["services"]
        except Unreachable:  # while its loop is blocked
            return False
        again = 1 if kind == "cancelled" else 2
        return all(
            services[name]["beats"] >= before[name] + again and services[name]["error"] is None for name in SERVICES
        )

    began = time.monotonic()
    soon(healed)
    assert time.monotonic() - began < HEALED_S
    daemon.client.ready()
    assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"
    gates.open("one")
    assert daemon.finished(running)["exit_code"] == 0
    assert gates.starts() == ["one"]
    said = daemon.log()
    word = {"cancelled": "task.died", "block": "loop.blocked"}.get(kind, "service.failed")
    assert said.count(f"event={word}") >= (1 if kind == "block" else len(SERVICES))
    assert daemon.stop() == 0


@pytest.mark.case("F146")
def test_services_that_hang_are_named_and_the_service_manager_hears_nothing_more(
    broken: Callable[..., RealDaemon], tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.settimeout(5)
        daemon = broken("hang", NOTIFY_SOCKET=str(tmp_path / "n"), WATCHDOG_USEC="400000")
        while manager.recv(4096) != b"WATCHDOG=1":
            pass
        breaks(daemon)
        soon(lambda: _inside_a_pass(daemon) >= set(SERVICES))
        why, took_s = unready(daemon)
        assert "has been inside one pass for" in why
        assert took_s < 2
        checked = daemon.jobctl("status", "--check")
        assert checked.returncode == 1
        for name in SERVICES:
            assert re.search(rf"^{name} has been inside one pass for \d+ s", checked.stdout, re.MULTILINE)
            assert re.search(rf"trouble +{name} has been inside", daemon.jobctl("status").stdout)
        _drained(manager)
        manager.settimeout(1)
        with pytest.raises(TimeoutError):
            manager.recv(4096)
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGABRT)  # as systemd's watchdog does
        assert daemon.process.wait(10) == -signal.SIGABRT
        assert "most recent call first" in daemon.log()


def _inside_a_pass(daemon: RealDaemon) -> set[str]:
    services = daemon.client.status()["services"]
    return {name for name, one in services.items() if str(one["stalled"]).startswith("has been inside one pass")}


def _drained(manager: socket.socket) -> None:
    manager.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            manager.recv(4096)


@pytest.mark.parametrize("thread", ["writer", "reader"])
def test_a_thread_of_the_store_that_hangs_is_named_within_two_seconds(
    thread: str, broken: Callable[..., RealDaemon]
) -> None:
    daemon = broken(f"{thread} stuck")
    breaks(daemon)
    if thread == "writer":
        why, took_s = unready(daemon)
        assert took_s < 2.5
        assert "store writer" in why
        time.sleep(2 * STALLED_MS / 1000)
        status = daemon.client.status()
        assert status["services"]["store writer"]["stalled"].startswith("has not answered for")
        assert any("store writer has not answered" in warning for warning in status["warnings"])
    else:
        why, took_s = unready(daemon)
        assert "store reader" in why
        assert took_s < 2.5
        began = time.monotonic()
        with pytest.raises(Unavailable, match="store reader"):
            daemon.client.status()
        assert time.monotonic() - began < 6
        told = daemon.jobctl("status")
        assert told.returncode == 4
        assert "store reader" in told.stderr


def test_a_main_task_that_ends_ends_the_process_with_a_line(broken: Callable[..., RealDaemon]) -> None:
    daemon = broken("main")
    breaks(daemon)
    assert daemon.process is not None
    assert daemon.process.wait(10) == 70
    assert "jobd: it failed: CancelledError" in daemon.log()


# ── what is around it ──────────────────────────────────────────────
HOLDS = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE'); "
HOLDS += "print('held', flush=True); sys.stdin.read()"


def test_a_database_that_another_program_holds_is_told_within_two_seconds_and_goes_by_itself(
    broken: Callable[..., RealDaemon],
) -> None:
    daemon = broken("none")
    database = str(daemon.home / "state" / "jobctl.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        why, took_s = unready(daemon)
        assert took_s < 2.5
        assert "holds the database" in why
        checked = daemon.jobctl("status", "--check")
        assert checked.returncode == 1
        assert "holds the database" in checked.stdout
        other.communicate(timeout=10)
    soon(lambda: daemon.jobctl("status", "--check").returncode == 0)
    assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"


def test_a_disk_that_takes_nothing_is_told_within_two_seconds_and_goes_by_itself(
    broken: Callable[..., RealDaemon],
) -> None:
    daemon = broken("none")
    assert daemon.process is not None
    _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, hard))
    why, took_s = unready(daemon)
    assert took_s < 2.5
    assert "disk" in why or "written" in why
    assert daemon.client.status()["state"] == "running"
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    soon(lambda: daemon.jobctl("status", "--check").returncode == 0)


@pytest.mark.case("F150")
def test_without_descriptors_it_does_not_spin_and_answers_again_by_itself(broken: Callable[..., RealDaemon]) -> None:
    daemon = broken("none")
    assert daemon.process is not None
    pid = daemon.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))  # what is open stays, nothing more is
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(daemon.socket)
        caller.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: jobd\r\n\r\n")
        soon(lambda: "cannot be taken" in daemon.log())
        spent, lines = _cpu_s(pid), daemon.log().count("\n")
        time.sleep(3)
        assert _cpu_s(pid) - spent < 0.15
        assert daemon.log().count("\n") - lines < 3
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        caller.settimeout(10)
        assert caller.recv(4096).startswith(b"HTTP/1.1 200")
    soon(lambda: "event=service.recovered service=api" in daemon.log())
    assert daemon.client.ready() == {"status": "ok"}


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_log_that_nobody_reads_holds_nobody_up(tmp_path: Path) -> None:
    """Standard error is a pipe, as a service manager's, and whoever should read it does not."""
    daemon = RealDaemon(tmp_path / "home").settings('log_level = "debug"\n')
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 65_536)
        os.set_blocking(writer, True)
        daemon.home.mkdir(exist_ok=True)
        daemon.process = subprocess.Popen(
            [sys.executable, "-m", "jobctl_daemon", "--foreground"],
            env=daemon.environ,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            start_new_session=True,
        )
        soon(lambda: _answers(daemon), 15)
        daemon.runners()
        for _ in range(3):
            daemon.process.send_signal(signal.SIGHUP)
            assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"
        assert daemon.stop() == 0
    finally:
        os.close(reader)
        os.close(writer)
        daemon.close()


def _answers(daemon: RealDaemon) -> bool:
    with contextlib.suppress(Exception):
        UnixTransport(daemon.socket)(Request("GET", "/v1/health/live")).read()
        return True
    return False


@pytest.mark.case("F066")
def test_a_daemon_that_is_held_up_in_every_way_starts_no_long_command_again(
    broken: Callable[..., RealDaemon], tmp_path: Path
) -> None:
    daemon = broken("block")
    assert daemon.process is not None
    gates, names = Gates(tmp_path / "gates"), [f"long-{number}" for number in range(5)]
    for name in names:
        shell, option, script = gates.command(name, "exit 3" if name == "long-0" else "exit 0")
        daemon.add(name, [shell, option, script], retry={"max": 0, "lost": 3})
    runs = {name: daemon.until_says(daemon.triggered(name), b"begin") for name in names}
    breaks(daemon)
    database = str(daemon.home / "state" / "jobctl.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        gates.open("long-0")
        time.sleep(7)  # longer than the store waits for a lock
        other.communicate(timeout=10)
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    daemon.process.send_signal(signal.SIGCONT)
    for name in names[1:]:
        gates.open(name)
    ended = {name: daemon.finished(run) for name, run in runs.items()}
    assert [ended[name]["exit_code"] for name in names] == [3, 0, 0, 0, 0]
    assert [ended[name]["attempt"] for name in names] == [1] * 5
    assert sorted(gates.starts()) == names
    assert len(daemon.client.attempts(runs["long-1"]["id"])) == 1


#: Its runners die a moment after they are connected.
MORTAL = """
import asyncio, os, signal, sys
from jobctl_daemon.__main__ import main
from jobctl_daemon.execution.pool import RunnerPool

connect = RunnerPool.connect


async def connected(self, path, build):
    link = await connect(self, path, build)
    with open(os.environ["JOBCTL_HOME"] + "/connected", "a") as file: file.write("x")
    asyncio.get_running_loop().call_later(0.05, os.kill, link.hello.pid, signal.SIGKILL)
    return link


RunnerPool.connect = connected
raise SystemExit(main(sys.argv[1:]))
"""


def test_runners_that_die_as_soon_as_they_are_started_are_not_started_without_end(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "home")
    daemon.program = ["-c", MORTAL]
    try:
        daemon.launch()
        assert daemon.process is not None
        soon(lambda: _answers(daemon), 15)
        started = daemon.home / "connected"
        soon(lambda: started.stat().st_size >= 22, 30)  # so many are no chance
        spent, before = _cpu_s(daemon.process.pid), started.stat().st_size
        time.sleep(5)
        assert started.stat().st_size - before <= 9
        assert _cpu_s(daemon.process.pid) - spent < 0.5
        assert daemon.log().count("event=runner.started") < 25
        daemon.kill9()
        daemon.program = ["-m", "jobctl_daemon"]
        daemon.start()
        assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"
    finally:
        daemon.close()
