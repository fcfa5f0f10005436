"""kill -9 of jobd, of a runner, and of both, with commands at work."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.gate import Gates
from kit.release import wait_until


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def _gone(pid: int) -> None:
    """Waits until the process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], 10)[0]
    os.close(handle)


@pytest.mark.case("F025", "F028")
def test_ten_commands_have_exact_results_after_the_daemon_was_killed(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    endings = ["exit 0", "exit 3", "kill -9 $$", *["exit 0"] * 3, *["exit 7"] * 2, "kill -15 $$", "exit 0"]
    runs = [daemon.run(gates.command(str(number), ending)) for number, ending in enumerate(endings)]
    runs = [daemon.until_says(run, b"begin") for run in runs]
    follower = subprocess.Popen(
        [sys.executable, "-m", "jobctl", "log", "-f", "--socket", daemon.socket, str(runs[5]["id"])],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"begin\n"
    pids = [gates.pid(name) for name in map(str, range(10))]

    daemon.kill9()
    for number in range(3):
        gates.open(str(number))
        _gone(pids[number])
    daemon.start()
    for number in range(3, 10):
        gates.open(str(number))
    ended = [daemon.finished(run) for run in runs]

    assert [run["exit_code"] for run in ended] == [0, 3, None, 0, 0, 0, 7, 7, None, 0]
    assert [run["signal"] for run in ended] == [None, None, 9, *[None] * 5, 15, None]
    assert [daemon.output(run) for run in ended] == [b"begin\nend\n"] * 10
    assert sorted(gates.starts()) == sorted(map(str, range(10)))
    assert follower.stdout.read() == b"end\n"
    follower.stdout.close()
    follower.wait(20)


@pytest.mark.case("F057")
def test_a_survivor_still_holds_the_overlap_gate(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    daemon.add("gated", gates.command("one"), overlap="skip")
    run = daemon.until_says(daemon.client.trigger("gated", {}), b"begin")

    daemon.kill9()
    daemon.start()
    answer = subprocess.run(
        [sys.executable, "-m", "jobctl", "run", "--socket", daemon.socket, "gated"],
        capture_output=True,
        check=False,
    )
    gates.open("one")

    assert answer.returncode == 5
    assert daemon.finished(run)["state"] == "succeeded"


def test_a_command_whose_runner_died_is_watched_to_its_end_and_lost(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in ("a", "b")]
    for pid in daemon.runners():
        os.kill(pid, signal.SIGKILL)
        _gone(pid)
    later = daemon.finished(daemon.run(["/bin/echo", "later"]))
    assert [daemon.client.run(run["id"])["state"] for run in runs] == ["running"] * 2
    for name in ("a", "b"):
        gates.open(name)
    ended = [daemon.finished(run) for run in runs]
    daemon.runners()

    assert later["state"] == "succeeded"
    assert [run["class"] for run in ended] == ["lost", "lost"]
    assert [daemon.output(run) for run in ended] == [b"begin\nend\n"] * 2
    assert sorted(gates.starts()) == ["a", "b"]


def test_runners_that_die_one_after_another_while_one_is_stopped_start_nothing_twice(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    gates = Gates(tmp_path / "gates")
    names = [str(number) for number in range(8)]
    runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in names]
    first, second = daemon.runners()
    os.kill(first, signal.SIGSTOP)
    os.kill(second, signal.SIGKILL)
    _gone(second)
    assert daemon.client.status()["running"] == 8  # the look for what it left is under way
    os.kill(first, signal.SIGKILL)
    _gone(first)
    for name in names:
        gates.open(name)
    ended = [daemon.finished(run) for run in runs]
    daemon.runners()

    assert sorted(gates.starts()) == names
    assert {run["class"] for run in ended} == {"lost"}


def test_claims_that_cannot_be_handed_over_are_given_back_and_run_when_they_can(daemon: RealDaemon) -> None:
    logs = daemon.home / "state" / "runs"
    assert not logs.exists()
    logs.write_text("in the way")
    runs = [daemon.run(["/bin/echo", "there"]) for _ in range(3)]
    while not any("cannot be started" in warning for warning in daemon.client.status()["warnings"]):
        pass
    logs.unlink()
    ended = [daemon.finished(run) for run in runs]

    assert [(run["state"], run["attempt"]) for run in ended] == [("succeeded", 1)] * 3
    assert [daemon.output(run) for run in ended] == [b"there\n"] * 3
    assert not any("cannot be started" in warning for warning in daemon.client.status()["warnings"])


def test_when_daemon_and_runners_die_together_nothing_runs_twice(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in ("a", "b")]
    pids = [gates.pid("a"), gates.pid("b")]
    runners = daemon.runners()
    daemon.kill9()
    for pid in runners:
        os.kill(pid, signal.SIGKILL)
        _gone(pid)
    gates.open("a")
    _gone(pids[0])
    daemon.start()
    gates.open("b")
    ended = [daemon.finished(run) for run in runs]

    assert [run["class"] for run in ended] == ["lost", "lost"]
    assert sorted(gates.starts()) == ["a", "b"]


@pytest.mark.case("F025")
def test_term_stops_the_daemon_and_leaves_commands_alone(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    run = daemon.until_says(daemon.run(gates.command("one", "exit 4")), b"begin")

    assert daemon.stop() == 0
    assert not Path(daemon.socket).exists()
    gates.open("one")
    daemon.start()

    assert daemon.finished(run)["exit_code"] == 4


def test_a_second_daemon_is_refused_and_told_who_holds_the_folder(daemon: RealDaemon) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "jobctl_daemon", "--foreground"],
        env=daemon.environ,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert daemon.process is not None

    assert second.returncode == 5
    assert str(daemon.process.pid) in second.stderr


def test_hup_reads_the_settings_again_and_a_broken_file_changes_nothing(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    config = daemon.home / "config"
    config.mkdir(exist_ok=True)
    (config / "jobd.toml").write_text("slots = 3\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.client.status()["slots"] == 3)
    (config / "jobd.toml").write_text("slots = 'many'\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("slots" in warning for warning in daemon.client.status()["warnings"]))
    assert daemon.client.status()["slots"] == 3
    assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"
