"""The machine goes down with commands at work: they are told so, how they ended is kept, and they run again."""

import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.build import build_id
from kit.daemon import Json, RealDaemon
from kit.gate import Gates

LOST_ONCE = {"retry": {"max": 0, "lost": 1, "backoff": 0.1}}


class Manager:
    """A service manager that says what state the machine is in."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._state = folder / "state"
        program = folder / "systemctl"
        program.write_text(f'#!/bin/sh\ntest "$*" = is-system-running && exec cat {self._state}\nexit 1\n')
        program.chmod(0o755)
        self.says("running")

    def says(self, state: str) -> None:
        self._state.write_text(f"{state}\n")


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


@pytest.fixture
def manager(tmp_path: Path) -> Manager:
    return Manager(tmp_path / "manager")


@pytest.fixture
def daemon(tmp_path: Path, manager: Manager) -> Iterator[RealDaemon]:
    """With one runner, which was started by this manager."""
    made = RealDaemon(tmp_path / "home").settings("runners = 1\n")
    state = tmp_path / "home" / "state"
    state.mkdir(mode=0o700)
    build = build_id()
    command = [sys.executable, "-I", "-m", "jobctl_daemon.runner", "--state", str(state)]
    subprocess.run(
        [*command, "--instance", f"{build}-1", "--program-version", build, "--idle-exit", "60"],
        env={"PATH": f"{manager.folder}:{os.defpath}"},
        check=True,
    )
    try:
        yield made.start()
    finally:
        manager.says("running")
        made.close()


def tell_to_end(pid: int) -> None:
    """TERM; returns when it has ended."""
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        assert select.select([handle], [], [], 20)[0]
    finally:
        os.close(handle)


def started_anew(daemon: RealDaemon) -> None:
    """As after a boot: what is written down is of another one."""
    with sqlite3.connect(daemon.home / "state" / "jobctl.db") as database:
        assert database.execute("UPDATE runs SET boot_id = 'before' WHERE state = 'running'").rowcount
    database.close()
    records = [*(daemon.home / "state" / "runner" / "records").glob("*-*.*")]
    assert records
    for record in records:
        record.write_text(json.dumps(json.loads(record.read_text()) | {"boot_id": "before"}))


def attempts(daemon: RealDaemon, run: Json) -> list[Json]:
    return sorted(daemon.client.attempts(run["id"]), key=lambda one: one["attempt"])


@pytest.mark.parametrize("ending", ["exit 0", "kill -15 $$"])
def test_commands_are_ended_when_the_machine_goes_down_and_run_again_after_the_boot(
    daemon: RealDaemon, manager: Manager, tmp_path: Path, ending: str
) -> None:
    """A command that tidies up and ends well has been told to: it is interrupted all the same."""
    os.mkfifo(tmp_path / "fifo")
    trap = f"trap 'echo tidying; trap - TERM; {ending}' TERM"
    daemon.add(
        "long",
        f"test $JOBCTL_ATTEMPT = 1 || exit 0; {trap}; echo begin; read x <>{tmp_path}/fifo",
        **LOST_ONCE,
    )
    run = daemon.until_says(daemon.triggered("long"), b"begin")
    (runner,) = daemon.runners()
    manager.says("stopping")
    daemon.stop()
    tell_to_end(runner)
    daemon.start()
    ended = daemon.finished(run)
    first, second = attempts(daemon, run)

    assert (first["class"], second["class"]) == ("interrupted", None)
    assert (first["exit_code"], first["signal"]) == ((0, None) if ending == "exit 0" else (None, 15))
    assert (ended["state"], ended["key"]) == ("succeeded", run["key"])
    assert second["fence"] > first["fence"]
    assert daemon.client.log(run["id"], attempt=1).read() == b"begin\ntidying\n"


def test_a_runner_that_is_told_to_end_while_the_machine_stays_up_leaves_its_commands_alone(
    daemon: RealDaemon, gates: Gates
) -> None:
    run = daemon.until_says(daemon.run(gates.command("one", "exit 3")), b"begin")
    (runner,) = daemon.runners()
    os.kill(runner, signal.SIGTERM)
    later = daemon.finished(daemon.run(["/bin/true"]))
    during = daemon.client.run(run["id"])["state"]
    gates.open("one")

    assert (later["state"], during) == ("succeeded", "running")
    assert daemon.finished(run)["exit_code"] == 3


@pytest.mark.case("F065")
def test_what_everybody_was_told_at_once_is_judged_by_the_next_boot(daemon: RealDaemon, gates: Gates) -> None:
    """Where no manager says why, TERM comes to daemon, runner and commands alike."""
    daemon.add("long", f"test $JOBCTL_ATTEMPT = 1 || exit 0; {gates.command('one')[2]}", **LOST_ONCE)
    run = daemon.until_says(daemon.triggered("long"), b"begin")
    (runner,) = daemon.runners()
    daemon.stop()
    tell_to_end(gates.pid("one"))
    tell_to_end(runner)
    started_anew(daemon)
    daemon.start()
    ended = daemon.finished(run)
    first, _ = attempts(daemon, run)

    assert (first["class"], first["signal"]) == ("interrupted", 15)
    assert ended["state"] == "succeeded"


def test_in_the_same_boot_a_command_that_was_told_to_end_while_no_daemon_ran_has_failed(
    daemon: RealDaemon, gates: Gates
) -> None:
    run = daemon.until_says(daemon.run(gates.command("one")), b"begin")
    daemon.stop()
    tell_to_end(gates.pid("one"))
    daemon.start()

    assert daemon.finished(run)["class"] == "signal"


@pytest.mark.long
def test_without_a_budget_for_losses_an_interrupted_run_is_dead(
    daemon: RealDaemon, manager: Manager, gates: Gates
) -> None:
    daemon.add("once", gates.command("one"), retry={"max": 5, "lost": 0})
    run = daemon.until_says(daemon.triggered("once"), b"begin")
    (runner,) = daemon.runners()
    manager.says("stopping")
    daemon.stop()
    tell_to_end(runner)
    daemon.start()
    ended = daemon.finished(run)

    assert (ended["state"], ended["class"]) == ("dead", "interrupted")


class Contained(RealDaemon):
    """The first process of a container, as far as processes go."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.within = lambda command: [*words, *command]

    def runners(self) -> list[int]:
        """None: their numbers are others' out here, and they go with their first process."""
        return []

    def is_stopped(self) -> None:
        """As a container is: TERM to its first process; all is over when that has ended."""
        assert self.process is not None
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGTERM)
        self.process.wait(20)

    def close(self) -> None:
        self.kill9()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a world of processes")
@pytest.mark.parametrize("ending", ["exit 0", "kill -15 $$"])
def test_a_container_that_is_stopped_interrupts_its_commands_and_they_run_again_in_the_next(
    tmp_path: Path, ending: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    trap = f"trap 'echo tidying; trap - TERM; {ending}' TERM"
    script = f"test $JOBCTL_ATTEMPT = 1 || exit 0; {trap}; echo begin; read x <>{tmp_path}/fifo"
    daemon = Contained(tmp_path / "h")
    try:
        daemon.start()
        daemon.add("long", script, **LOST_ONCE)
        run = daemon.until_says(daemon.triggered("long"), b"begin")
        daemon.is_stopped()
        daemon.start()
        ended = daemon.finished(run)
        first, second = attempts(daemon, run)
        printed = daemon.client.log(run["id"], attempt=1).read()
    finally:
        daemon.close()

    assert (first["class"], second["class"]) == ("interrupted", None)
    assert (first["exit_code"], first["signal"]) == ((0, None) if ending == "exit 0" else (None, 15))
    assert (ended["state"], ended["key"]) == ("succeeded", run["key"])
    assert printed == b"begin\ntidying\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a world of processes")
def test_a_container_that_is_killed_leaves_every_run_lost_and_none_running(tmp_path: Path, gates: Gates) -> None:
    daemon = Contained(tmp_path / "h")
    try:
        daemon.start()
        runs = []
        for name in ("a", "b", "c"):
            daemon.add(name, f"test $JOBCTL_ATTEMPT = 1 || exit 0; {gates.command(name)[2]}", **LOST_ONCE)
            runs.append(daemon.until_says(daemon.triggered(name), b"begin"))
        daemon.kill9()
        daemon.start()
        ended = [daemon.finished(run) for run in runs]
        classes = [[one["class"] for one in attempts(daemon, run)] for run in runs]
        running = daemon.client.status()["running"]
    finally:
        daemon.close()

    assert [run["state"] for run in ended] == ["succeeded"] * 3
    assert classes == [["lost", None]] * 3
    assert running == 0
