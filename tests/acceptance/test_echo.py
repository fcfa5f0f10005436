"""What commands print, on standard output of jobd: whole lines, nothing lost to a crash, and nobody waits for it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon

pytestmark = pytest.mark.long

LINE = re.compile(rb"(\w[\w-]*)\[(\d+)\]: (.*)")


class Loud(RealDaemon):
    """Its standard output goes to a file of its own, or to a pipe."""

    def __init__(self, home: Path, *options: str) -> None:
        super().__init__(home)
        self.options = options
        self.out = home / "out"
        self.descriptor: int | None = None
        self.prefix: list[str] = []

    def beside(self, *options: str) -> "subprocess.Popen[bytes]":
        self.home.mkdir(exist_ok=True)
        descriptor = os.open(self.out, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            with (self.home / "jobd.out").open("ab") as log:
                return subprocess.Popen(
                    [*self.prefix, sys.executable, *self.program, "--foreground", *self.options, *options],
                    env=self.environ,
                    stdin=subprocess.DEVNULL,
                    stdout=descriptor if self.descriptor is None else self.descriptor,
                    stderr=log,
                    start_new_session=True,
                )
        finally:
            os.close(descriptor)

    def said(self) -> list[bytes]:
        return self.out.read_bytes().splitlines()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Loud]:
    made = Loud(tmp_path / "home", "--echo")
    try:
        yield made
    finally:
        made.close()


def test_lines_of_several_commands_never_mix_and_a_killed_daemon_leaves_none_out(daemon: Loud, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    script = f"for i in $(seq 3000); do echo $JOBCTL_JOB-$i; done; read x <{gate}; echo $JOBCTL_JOB-over; printf end"
    daemon.start()
    runs = [daemon.run(script, name=name) for name in ("alpha", "beta", "gamma")]
    for run in runs:
        daemon.until_says(run, b"-3000")
    daemon.kill9()
    with gate.open("w") as opened:  # they end while there is no daemon
        for _ in runs:
            opened.write("go\n")
            opened.flush()
    daemon.start()
    for run in runs:
        daemon.finished(run)
    assert daemon.stop() == 0

    said = daemon.said()
    matches = [LINE.fullmatch(line) for line in said]
    assert all(matches), [line for line, match in zip(said, matches, strict=True) if not match][:3]
    seen = Counter((match[1], match[3]) for match in matches if match)
    for name in (b"alpha", b"beta", b"gamma"):
        wanted = {name + b"-%d" % number for number in range(1, 3001)} | {name + b"-over", b"end"}
        assert {text for job, text in seen if job == name} == wanted


def test_a_pipe_that_nobody_reads_stops_nobody_and_what_is_left_out_is_counted(daemon: Loud) -> None:
    reading, writing = os.pipe()
    daemon.descriptor = writing
    try:
        daemon.start()
        flood = daemon.run("yes 0123456789 | head -c 9500000", name="flood", log_max=20_000_000)
        assert daemon.finished(flood)["state"] == "succeeded"
        runs = [daemon.run(["echo", "late"], name=f"later-{number}") for number in range(20)]
        assert {daemon.finished(run)["state"] for run in runs} == {"succeeded"}
        assert daemon.client.status()["state"] == "running"

        os.set_blocking(reading, True)
        os.close(writing)
        daemon.process.send_signal(signal.SIGTERM)  # type: ignore[union-attr]  # it was started
        said = b""
        while data := os.read(reading, 1 << 20):
            said += data
        assert daemon.process.wait(20) == 0  # type: ignore[union-attr]
    finally:
        os.close(reading)
        daemon.descriptor = None
    lines = said.splitlines()
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches)
    left_out = [int(found[1]) for line in lines if (found := re.search(rb"\[jobctl: (\d+) bytes are left out", line))]
    shown = sum(len(match[3]) + 1 for match in matches if match and match[3] == b"0123456789")
    assert left_out
    # A line in which something was left out is counted in parts.
    assert abs(sum(left_out) + shown - 9_500_000) < 100


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a world of processes")
@pytest.mark.case("F120")
def test_the_first_process_of_a_container_echoes_by_itself_and_passes_on_what_it_is_told_to(tmp_path: Path) -> None:
    daemon = Loud(tmp_path / "home").settings('pass_env = ["DATABASE_URL"]\n')
    daemon.prefix = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    daemon.environ |= {"DATABASE_URL": "postgres://db/app", "JOBCTL_ADMIN_TOKEN": "secret", "LD_LIBRARY_PATH": "/x"}
    daemon.runners = list  # type: ignore[method-assign, assignment]  # their numbers are others' out here
    os.mkfifo(tmp_path / "fifo")
    try:
        daemon.start()
        status = daemon.client.status()
        run = daemon.finished(daemon.run(["/usr/bin/env"], name="shows"))
        stays = f"echo begin; trap 'echo bye; exit' TERM; read x <>{tmp_path}/fifo"
        last = daemon.until_says(daemon.run(stays, name="stays"), b"begin")
        (child,) = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()  # type: ignore[union-attr]
        os.kill(int(child), signal.SIGTERM)
        daemon.process.wait(20)  # type: ignore[union-attr]
    finally:
        daemon.kill9()
    assert status["returns_after_reboot_why"] == "with its container, whose first process it is"
    said = daemon.said()
    assert f"shows[{run['id']}]: DATABASE_URL=postgres://db/app".encode() in said
    assert not [line for line in said if b"secret" in line or b"LD_LIBRARY_PATH" in line]
    # Which of two commands is passed on first is not promised.
    of_last = f"stays[{last['id']}]: ".encode()
    assert [line for line in said if line.startswith(of_last)] == [of_last + b"begin", of_last + b"bye"]


def test_json_is_an_object_a_line(daemon: Loud) -> None:
    daemon.options = ("--echo=json",)
    daemon.start()
    run = daemon.finished(daemon.run("echo one; echo two >&2", name="two"))
    daemon.stop()
    records = [json.loads(line) for line in daemon.said()]
    assert [(record["job"], record["run"], record["line"]) for record in records] == [
        ("two", run["id"], "one"),
        ("two", run["id"], "two"),
    ]


def test_a_variable_that_is_missing_keeps_the_daemon_from_starting(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "home").settings('pass_env = ["NOT_HERE"]\n')
    done = daemon.refused()
    assert done.returncode == 2
    assert "`pass_env` names NOT_HERE, which is not in the environment of jobd" in done.stderr


def test_in_the_background_there_is_nothing_to_echo_to(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "home")
    done = subprocess.run(
        [sys.executable, "-m", "jobctl_daemon", "--echo"],
        env=daemon.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--foreground --echo" in done.stderr
