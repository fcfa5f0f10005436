"""The command line and its daemon: started when it is needed, stopped without harm, missed and found again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.gate import Gates

PROGRAM = "from jobctl.cli.main import main; main()"
Done = subprocess.CompletedProcess[str]


def jobctl(home: Path, *argv: str) -> Done:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv],
        env=os.environ | {"JOBCTL_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def test_it_starts_with_the_first_job_and_stops_when_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    refused = jobctl(home, "add", "x", "--no-start", "--", "true")
    assert refused.returncode == 4
    idle = jobctl(home, "daemon", "stop")
    assert (idle.returncode, idle.stdout) == (0, "it is not running\n")
    assert jobctl(home, "ls").returncode == 4
    assert jobctl(home, "daemon", "status", "--json").returncode == 4
    assert not home.exists()
    try:
        added = jobctl(home, "add", "x", "-q", "--", "/bin/true")
        assert (added.returncode, added.stdout) == (0, "1\n"), added.stderr
        assert added.stderr.startswith("started a daemon, pid ")
        assert len(added.stderr.splitlines()) == 1
        assert jobctl(home, "add", "y", "--", "/bin/true").stderr == ""
        assert jobctl(home, "daemon", "start").stderr == "it runs already\n"
        status = json.loads(jobctl(home, "daemon", "status", "--json").stdout)
        assert status["state"] == "running"
        assert status["pid"] != os.getpid()
    finally:
        stopped = jobctl(home, "daemon", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n"), stopped.stderr
    assert jobctl(home, "daemon", "status").stdout == "stopped\n"


@pytest.mark.long
def test_a_standby_is_started_beside_it_and_takes_over(daemon: RealDaemon) -> None:
    first = daemon.client.status()["pid"]
    done = daemon.jobctl("daemon", "start", "--standby", "--json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    (standby,) = status["standbys"]
    assert (status["pid"], done.stderr) == (first, f"pid {standby} stands by, and takes over when this one is gone\n")
    stopped = daemon.jobctl("daemon", "stop")
    assert f"pid {standby}, which stood by, has taken over" in stopped.stderr
    assert daemon.client.status()["pid"] == standby
    assert daemon.jobctl("daemon", "stop").returncode == 0


@pytest.mark.parametrize(
    ("how", "watching"),
    [
        ("kill -9", "--follow"),
        ("stop", "--wait"),
        pytest.param("stop", "--follow", marks=pytest.mark.long),
        pytest.param("kill -9", "--wait", marks=pytest.mark.long),
    ],
)
def test_watching_goes_on_over_a_restart(daemon: RealDaemon, tmp_path: Path, how: str, watching: str) -> None:
    gates = Gates(tmp_path / "gates")
    command = gates.command("one", ending="exit 9")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", watching, "--", *command],
        env=daemon.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        try:
            said = watcher.stderr.readline()
            assert said.startswith(b"run 1 of ")
            if watching == "--follow":
                assert watcher.stdout.readline() == b"begin\n"
            else:
                daemon.until_says({"id": 1}, b"begin")
            if how == "stop":
                daemon.stop()
            else:
                daemon.kill9()
            assert b"waiting for the daemon" in watcher.stderr.readline()
            gates.open("one")
            daemon.start()
            out, err = watcher.communicate(timeout=30)
        except BaseException:
            watcher.kill()
            raise
    assert watcher.returncode == 9
    assert out == (b"end\n" if watching == "--follow" else b"")
    assert b"the daemon is back" in err
    assert b"exit 9" in err


def test_stop_leaves_commands_alone_and_says_how_many(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    started = daemon.until_says(daemon.run(gates.command("one")), b"begin")
    stopped = jobctl(daemon.home, "daemon", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped; 1 running command goes on\n")
    daemon.stop()  # it has ended already: this collects its exit code
    gates.open("one")
    daemon.start()
    assert daemon.finished(started)["exit_code"] == 0


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--wait", "--", "/bin/sh", "-c", "exit 7"], 7),
        (["--wait", "--", "/bin/sh", "-c", "kill -9 $$"], 137),
        (["--wait", "--timeout", "100ms", "--grace", "100ms", "--", "/bin/sh", "-c", "exec tail -f /dev/null"], 124),
        (["--wait", "--", "/nonexistent/program"], 127),
        (["--follow", "--shell", "echo hi; exit 3"], 3),
    ],
)
def test_the_codes_of_commands(daemon: RealDaemon, argv: list[str], code: int) -> None:
    done = jobctl(daemon.home, "run", *argv)
    assert done.returncode == code, done.stderr


def test_a_command_here_sees_this_folder_and_this_path(daemon: RealDaemon, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", "-f", "--shell", "pwd; echo $PATH; echo $A"],
        env=daemon.environ | {"PATH": "/my/bin:/usr/bin:/bin", "A": "not handed on"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{tmp_path}\n/my/bin:/usr/bin:/bin\n\n"


def test_hostile_output_reaches_a_pipe_whole(daemon: RealDaemon) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", "-f", "--", "/usr/bin/printf", r"\033]52;c;aGk=\007\377\n"],
        env=daemon.environ,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"\x1b]52;c;aGk=\x07\xff\n"


def test_of_many_first_jobs_at_once_all_are_added_whoever_starts_the_daemon(tmp_path: Path) -> None:
    home = tmp_path / "home"
    watched = RealDaemon(home)
    try:
        adds = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "add", f"job-{number}", "-q", "--", "/bin/true"],
                env=os.environ | {"JOBCTL_HOME": str(home)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for number in range(4)
        ]
        assert [add.wait(30) for add in adds] == [0] * 4
        assert len(list(watched.client.jobs())) == 4
        watched.runners()
    finally:
        jobctl(home, "daemon", "stop")
        watched.close()
