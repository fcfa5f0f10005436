"""A daemon that is stopped (SIGSTOP) and continued goes on where the world is by then, and nothing runs twice."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict
from kit.daemon import RealDaemon, kill, real_daemon
from kit.gate import Gates

ENDINGS = {"well": ("exit 0", "succeeded"), "badly": ("exit 7", "failed"), "later": ("exit 0", "succeeded")}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


@contextlib.contextmanager
def stopped(daemon: RealDaemon) -> Iterator[None]:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def gone(pid: int) -> None:
    """Waits for a process to end."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            assert select.select([handle], [], [], 20)[0]
        finally:
            os.close(handle)


@pytest.mark.case("F070")
def test_what_ended_while_the_daemon_stood_still_is_recorded_as_it_was(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    runs = {
        name: daemon.until_says(daemon.run(gates.command(name, ending)), b"begin")
        for name, (ending, _) in ENDINGS.items()
    }
    with stopped(daemon):
        for name in ("well", "badly"):
            gates.open(name)
            gone(gates.pid(name))
        second = subprocess.run(
            [sys.executable, "-m", "jobctl_daemon", "--foreground"],
            env=daemon.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=20,
        )
    ended = {name: daemon.finished(runs[name]) for name in ("well", "badly")}
    gates.open("later")
    ended["later"] = daemon.finished(runs["later"])

    assert second.returncode == Conflict.exit_code, second
    assert {name: run["state"] for name, run in ended.items()} == {name: state for name, (_, state) in ENDINGS.items()}
    assert ended["badly"]["exit_code"] == 7
    assert sorted(gates.starts()) == sorted(ENDINGS)


def test_a_daemon_that_stood_still_while_its_runners_died_adopts_what_lives(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    job = {"retry": {"max": 0, "lost": 1, "backoff": 0.1}}
    for name in ("ends", "lives"):
        shell, option, script = gates.command(name)
        daemon.add(name, [shell, option, f"test $JOBCTL_ATTEMPT = 1 || exit 0; {script}"], **job)
    runs = {name: daemon.until_says(daemon.triggered(name), b"begin") for name in ("ends", "lives")}
    runners = daemon.runners()
    with stopped(daemon):
        for pid in runners:
            kill(pid)
        gates.open("ends")
        gone(gates.pid("ends"))
    first = daemon.finished(runs["ends"])
    lives = daemon.client.run(runs["lives"]["id"])
    attempts = {"ends": daemon.client.attempts(first["id"]), "lives": daemon.client.attempts(lives["id"])}
    gates.open("lives")
    last = daemon.finished(lives)

    assert (first["state"], last["state"]) == ("succeeded", "succeeded")
    assert [each["class"] for each in attempts["ends"]] == ["lost", None]
    assert (lives["state"], len(attempts["lives"])) == ("running", 1)
    assert sorted(gates.starts()) == ["ends", "lives"]
