"""A second daemon is refused with who holds the lock. One that stands by waits without a look, and goes when told."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobctl import __version__
from jobctl.errors import Conflict, JobctlError
from jobctl_daemon.holder import waiting
from kit.daemon import RealDaemon, kill, real_daemon

pytestmark = pytest.mark.long

JOBS = 10_000
WITHIN_S = 1.0
JOBD = [sys.executable, "-m", "jobctl_daemon"]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def lock_file(daemon: RealDaemon) -> str:
    return str(daemon.home / "state" / "jobd.lock")


def stands_by(daemon: RealDaemon, **environ: str) -> "subprocess.Popen[bytes]":
    """Another daemon for the same folder; returns when it waits."""
    with (daemon.home / "jobd.out").open("ab") as log:
        process = subprocess.Popen(
            [*JOBD, "--foreground", "--standby"],
            env=daemon.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    while process.pid not in waiting(lock_file(daemon)):
        assert process.poll() is None, daemon.log()
    return process


def until_it_answers(daemon: RealDaemon, *pids: int) -> tuple[int, float]:
    """Which of the processes is the daemon, and how many seconds that took."""
    began = time.monotonic()
    while time.monotonic() < began + 20:
        with contextlib.suppress(JobctlError):
            daemon.client.ready()
            pid = daemon.client.status()["pid"]
            if pid in pids:
                return pid, time.monotonic() - began
    raise AssertionError(daemon.log())


def second(daemon: RealDaemon, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*JOBD, *options],
        env=daemon.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


def test_a_second_daemon_is_told_who_holds_the_lock_since_when_and_where(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    pid = daemon.process.pid
    for options in (["--foreground"], []):
        refused = second(daemon, *options)
        assert refused.returncode == Conflict.exit_code
        words = rf"pid {pid}, since 20\d\d-\d\d-\d\dT[\d:.]+Z, version {re.escape(__version__)}, socket "
        assert re.search(words + re.escape(daemon.socket), refused.stderr), refused.stderr
        assert len(refused.stderr.splitlines()) == 2
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        refused = second(daemon, "--foreground")
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert "it is stopped" in refused.stderr
    assert f"kill -CONT {pid}" in refused.stderr
    assert Path(lock_file(daemon)).read_text() == f"{pid}\n"


def test_a_restore_names_those_who_stand_by_for_they_would_take_over(daemon: RealDaemon, tmp_path: Path) -> None:
    assert daemon.jobctl("backup", str(tmp_path / "copy.db")).returncode == 0
    standby = stands_by(daemon)
    try:
        refused = daemon.jobctl("restore", str(tmp_path / "copy.db"))
    finally:
        standby.terminate()
        assert standby.wait(10) == 0
    assert refused.returncode == Conflict.exit_code
    assert f"kill {standby.pid}; then jobctl daemon stop" in " ".join(refused.stderr.split())


def test_after_a_clean_stop_and_after_a_kill_one_of_two_takes_over_each_time(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    one, two = stands_by(daemon), stands_by(daemon)
    try:
        assert daemon.client.status()["standbys"] == sorted([one.pid, two.pid])
        shown = daemon.jobctl("status").stdout
        assert all(re.search(rf"standby +pid {pid} takes over", shown) for pid in (one.pid, two.pid))

        stopped = daemon.jobctl("daemon", "stop")
        assert stopped.returncode == 0, stopped.stderr
        assert stopped.stdout == "stopped\n"
        assert daemon.process.wait(10) == 0
        next_pid, _ = until_it_answers(daemon, one.pid, two.pid)
        assert f"pid {next_pid}, which stood by, has taken over" in stopped.stderr
        holder, last = (one, two) if next_pid == one.pid else (two, one)
        assert daemon.client.status()["standbys"] == [last.pid]

        holder.kill()
        holder.wait(10)
        assert until_it_answers(daemon, last.pid)[0] == last.pid
        assert daemon.client.status()["standbys"] == []
        assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"
        epochs = [int(number) for number in re.findall(r"event=daemon\.ready.*? epoch=(\d+)", daemon.log())]
        assert epochs == [1, 2, 3]
        daemon.process = last
    finally:
        for process in (one, two):
            if process is not daemon.process and process.poll() is None:
                kill(process.pid)
                process.wait(10)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_that_waits_ends_when_it_is_told_and_uses_nothing_until_then(
    daemon: RealDaemon, tmp_path: Path, number: signal.Signals
) -> None:
    standby = stands_by(daemon)
    spent = _ticks(standby.pid)
    standby.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert _ticks(standby.pid) - spent <= 1
    standby.send_signal(number)
    assert standby.wait(5) == 0
    assert daemon.client.status()["standbys"] == []
    assert daemon.client.ready() == {"status": "ok"}


def test_a_service_manager_hears_that_it_stands_by_that_it_lives_and_that_it_is_ready(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.settimeout(10)
        standby = stands_by(daemon, NOTIFY_SOCKET=str(tmp_path / "n"), WATCHDOG_USEC="200000")
        assert manager.recv(4096).startswith(b"READY=1\nSTATUS=standing by, pid ")
        assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        daemon.kill9()
        daemon.process = standby
        while not (said := manager.recv(4096)).startswith(b"READY=1"):
            assert said == b"WATCHDOG=1"
        assert __version__.encode() in said
        assert until_it_answers(daemon, standby.pid)[0] == standby.pid
        assert manager.recv(4096) == b"WATCHDOG=1"
        assert daemon.stop() == 0


def test_in_the_background_its_starter_returns_when_it_waits(daemon: RealDaemon) -> None:
    done = second(daemon, "--standby")
    assert (done.returncode, done.stderr) == (0, "")
    (pid,) = daemon.client.status()["standbys"]
    daemon.stop()
    assert until_it_answers(daemon, pid)[0] == pid
    events = [json.loads(line)["event"] for line in (daemon.home / "state" / "jobd.log").read_text().splitlines()]
    assert events[:2] == ["daemon.standing_by", "daemon.takes_over"]
    assert "daemon.ready" in events
    assert daemon.jobctl("daemon", "stop").returncode == 0


def test_where_there_is_no_daemon_it_is_one_at_once(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "home")
    try:
        daemon.home.mkdir()
        assert second(daemon, "--standby").returncode == 0
        assert daemon.client.status()["state"] == "running"
        daemon.runners()
        assert daemon.jobctl("daemon", "stop").returncode == 0
    finally:
        daemon.start()
        daemon.close()


def test_with_ten_thousand_jobs_it_is_ready_within_a_second(
    daemon: RealDaemon, record_property: Callable[[str, object], None]
) -> None:
    target = {"command": ["/bin/true"]}
    jobs = [
        {"name": f"job-{number}", "target": target, "schedule": {"cron": f"{number % 60} {number // 60 % 24} * * *"}}
        for number in range(JOBS)
    ]
    for first in range(0, JOBS, 1_000):
        daemon.client.import_jobs(jobs[first : first + 1_000])
    took_s = []
    for _ in range(3):
        standby = stands_by(daemon)
        daemon.kill9()
        daemon.process = standby
        took_s.append(until_it_answers(daemon, standby.pid)[1])
    assert daemon.client.status()["jobs"]["total"] == JOBS
    words = ", ".join(f"{each:.2f} s" for each in took_s)
    record_property("counts", f"standby with {JOBS} jobs: ready to write {words} after the holder's death")
    assert min(took_s) < WITHIN_S


def _ticks(pid: int) -> int:
    """What it has used of the processor; a tick is a hundredth of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 100 // os.sysconf("SC_CLK_TCK")
