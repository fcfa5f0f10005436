"""Starts that are made by a child of the runner: what hangs, what dies on the way, and what is refused."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from jobctl_daemon.runner.birth import SPAWN_S
from jobctl_daemon.runner.child import ALONE_S
from jobctl_daemon.runner.identity import stat
from unit.runner.harness import Client, Runner

_SHORT_S = 1.5


class HastyRunner(Runner):
    """Gives a start less time than half a minute."""

    def command(self, *more: str) -> list[str]:
        python, isolated, _, module, *options = super().command(*more)
        haste = f"import jobctl_daemon.runner.birth as b; b.SPAWN_S = {_SHORT_S}"
        run = f"from {module}.__main__ import main; import sys; sys.exit(main(sys.argv[1:]))"
        return [python, isolated, "-c", f"{haste}; {run}", *options]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = HastyRunner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def client(runner: Runner) -> Client:
    return runner.start()


@contextlib.contextmanager
def leased(path: Path) -> Iterator[Callable[[], None]]:
    """Every open of the file hangs meanwhile (fcntl(2): as long as /proc/sys/fs/lease-break-time says, mostly 45 s).

    What is given returns when one does: before that a child may still end by itself when its runner goes.
    """
    mine = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with path.open("r+b") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        try:
            yield lambda: _broken(file)
        finally:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            signal.signal(signal.SIGIO, mine)


def _broken(file: BinaryIO) -> None:
    """fcntl(2): while somebody waits for the lease to go, what is told is the kind that he would leave to us."""
    deadline = time.monotonic() + 10
    while fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK:
        assert time.monotonic() < deadline, "nobody comes to the file"


@pytest.fixture
def variables(tmp_path: Path) -> Path:
    path = tmp_path / "variables"
    path.write_text("A=1\n")
    return path


def begin(runner: Runner, client: Client, argv: list[str], **values: object) -> tuple[str, int]:
    """Id and pid of a start that is on its way."""
    order = runner.order(argv, **values)
    client.say("start", **order)
    return order["id"], client.wait("starting", order["id"])["pid"]


def test_one_that_does_not_come_to_its_exec_is_ended_and_told(runner: Runner, client: Client, variables: Path) -> None:
    with leased(variables):
        attempt, pid = begin(runner, client, ["/bin/true"], env_file=str(variables))
        (item,) = [item for item in client.ask("list", "list") or client.wait("list") if item["id"] == attempt]
        assert (item["state"], item["pid"]) == ("starting", pid)
        assert runner.run(client, ["/bin/true"])["exit_code"] == 0
        failed = client.wait("failed", attempt)
    assert (failed["errno"], failed["transient"], failed["pid"]) == ("ETIMEDOUT", False, None)
    assert failed["detail"] == (
        f"spawn_timeout: its start did not get beyond environment file {variables} in half a minute"
    )
    assert not Path(f"/proc/{pid}").exists()
    assert ALONE_S > SPAWN_S
    client.ask("ack", "acked", ids=[attempt])
    assert f"{attempt}.result" not in runner.records


@pytest.mark.parametrize("mode", ["cancel", "kill"])
def test_one_that_is_stopped_on_its_way_was_not_started(
    runner: Runner, client: Client, variables: Path, mode: str
) -> None:
    with leased(variables):
        attempt, pid = begin(runner, client, ["/bin/true"], env_file=str(variables))
        assert client.ask("kill", "killing", id=attempt, mode=mode) == {"id": attempt, "mode": mode}
        ended = client.wait("ended", attempt)
    cause = {"cancel": "cancelled", "kill": "killed"}[mode]
    assert (ended["cause"], ended["exit_code"], ended["pid"], ended["detail"]) == (cause, None, None, "was not started")
    assert not Path(f"/proc/{pid}").exists()


def test_one_that_somebody_kills_on_its_way_failed_for_good(runner: Runner, client: Client, variables: Path) -> None:
    with leased(variables):
        attempt, pid = begin(runner, client, ["/bin/true"], env_file=str(variables))
        os.kill(pid, signal.SIGKILL)
        failed = client.wait("failed", attempt)
    assert (failed["errno"], failed["transient"]) == ("ECANCELED", False)
    assert failed["detail"] == "it was ended by signal 9 before its exec"


def test_its_record_names_the_process_before_it_does_anything(runner: Runner, client: Client, variables: Path) -> None:
    with leased(variables) as somebody_waits:
        attempt, pid = begin(runner, client, ["/bin/sh", "-c", "echo $$ $A"], env_file=str(variables))
        somebody_waits()
        assert {f"{attempt}.intent", f"{attempt}.pid"} <= runner.records
        runner.kill()
        again = runner.start()
        items = {item["id"]: item for item in again.wait("list")}
        assert (items[attempt]["state"], items[attempt]["pid"], items[attempt]["adopted"]) == ("running", pid, True)
    # Nobody hears what it has to say, so it ends on its next step: it does not become a command that nobody asked for.
    ended = again.wait("ended", attempt)
    assert (ended["cause"], runner.log(attempt)) == ("lost", b"")


def test_an_unborn_orphan_that_goes_on_hanging_is_ended(runner: Runner, client: Client, variables: Path) -> None:
    with leased(variables) as somebody_waits:
        attempt, pid = begin(runner, client, ["/bin/echo", "ran"], env_file=str(variables))
        somebody_waits()
        runner.kill()
        again = runner.start()
        ended = again.wait("ended", attempt)
    assert (ended["cause"], runner.log(attempt)) == ("lost", b"")
    assert "spawn_timeout" in ended["detail"]
    found = stat(pid)
    assert found is None or found.dead


def test_a_quick_command_was_born_and_its_status_is_its_own(runner: Runner, client: Client, variables: Path) -> None:
    for code in (0, 7):
        result = runner.run(client, ["/bin/sh", "-c", f"exit {code}"], env_file=str(variables))
        assert (result["exit_code"], result["cause"], result["detail"]) == (code, None, None)
    result = runner.run(client, ["/bin/sh", "-c", "kill -9 $$"], env_file=str(variables))
    assert (result["signal"], result["cause"]) == (9, None)


def test_errors_are_as_on_the_other_way(runner: Runner, client: Client, variables: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    plain.chmod(0o600)
    script = tmp_path / "script"
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o700)
    expected = [
        (["/nonexistent/program"], {}, "ENOENT", "program /nonexistent/program: No such"),
        (["nosuchprogram"], {}, "ENOENT", "program nosuchprogram: No such"),
        ([str(plain)], {}, "EACCES", "program"),
        ([plain.name], {"env": {"PATH": f"/nonexistent:{tmp_path}:/bin"}}, "EACCES", "program"),
        ([str(script)], {}, "ENOENT", "interpreter"),
        (["/bin/true"], {"cwd": "/nonexistent"}, "ENOENT", "working directory /nonexistent"),
        (["/bin/true", "x" * (1 << 20)], {}, "E2BIG", "program"),
    ]
    for argv, values, errno, detail in expected:
        order = runner.order(argv, env_file=str(variables), **values)
        client.say("start", **order)
        failed = client.wait("failed", order["id"])
        assert (failed["errno"], failed["cause"], failed["transient"]) == (errno, "spawn_error", False), argv
        assert detail in failed["detail"]


@pytest.mark.parametrize("forked", [False, True])
def test_a_home_that_cannot_be_entered_is_replaced_where_the_job_names_none(
    runner: Runner, client: Client, variables: Path, forked: bool
) -> None:
    fields = {"env_file": str(variables)} if forked else {}
    result = runner.run(client, ["/bin/pwd"], cwd="/nonexistent", cwd_else="/", **fields)
    assert (result["exit_code"], runner.log(result["id"])) == (0, b"/\n")
    assert result["detail"] == "its home /nonexistent cannot be entered (No such file or directory), so it runs in /"


def test_what_others_can_change_is_refused_where_that_is_asked(runner: Runner, client: Client, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    trusted = {"uids": sorted({0, os.getuid()}), "gids": [0, os.getgid()]}
    result = runner.run(client, ["./script"], cwd=str(tmp_path), trusted=trusted)
    assert runner.log(result["id"]) == b"ran\n"
    script.chmod(0o777)
    order = runner.order(["./script"], cwd=str(tmp_path), trusted=trusted)
    client.say("start", **order)
    failed = client.wait("failed", order["id"])
    assert (failed["errno"], failed["transient"]) == ("EPERM", False)
    assert failed["detail"] == (
        f"strict_files: others can change what it runs: {script} can be written by everybody (mode 0777)"
    )


def test_a_burst_on_this_way_keeps_every_exit_code(runner: Runner, client: Client, variables: Path) -> None:
    orders = [runner.order(["/bin/sh", "-c", f"exit {number % 256}"], env_file=str(variables)) for number in range(120)]
    for order in orders:
        client.say("start", **order)
    for number, order in enumerate(orders):
        assert client.wait("ended", order["id"])["exit_code"] == number % 256
