"""When the host has no process left, starts wait and nothing is used up; one user's limit is that user's trouble."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from jobctl.errors import Unavailable
from kit.daemon import RealDaemon

PIDS = Path("/sys/fs/cgroup/pids")
#: Whom nobody else of the host uses.
USER = "games"
RUNS = 300
#: Takes every process that its user may have, says so, and lets go of them when its gate is opened.
GREEDY = """
import os, signal, sys
mine = []
while True:
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        signal.pause()
    mine.append(pid)
print("full", flush=True)
open(sys.argv[1]).read()
for pid in mine:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""


@contextmanager
def only(processes: list[int], more: int) -> Iterator[Path]:
    """These and so many more in a group of their own; the file takes another limit."""
    group = PIDS / f"jobctl-case-{os.getpid()}"
    group.mkdir()
    try:
        for pid in processes:
            (group / "cgroup.procs").write_text(str(pid))
        current = int((group / "pids.current").read_text())
        (group / "pids.max").write_text(str(current + more))
        yield group / "pids.max"
    finally:
        (group / "pids.max").write_text("max")
        for pid in (group / "cgroup.procs").read_text().split():
            (PIDS / "cgroup.procs").write_text(pid)
        group.rmdir()


def taken(own: RealDaemon, command: list[str], **fields: Any) -> dict[str, Any]:
    """A run, asked for until the daemon has a thread to look at it: threads count against the same limit."""
    while True:
        with suppress(Unavailable):
            return own.run(command, **fields)


@pytest.mark.long
@pytest.mark.case("F129")
@pytest.mark.skipif(not os.access(PIDS, os.W_OK) or os.geteuid() != 0, reason="no pids controller to write to")
def test_three_hundred_runs_wait_for_processes_and_use_up_no_attempt(own: RealDaemon) -> None:
    own.add("on-time", ["/bin/true"], schedule={"every": 1}, overlap="allow", misfire="all")
    assert own.process is not None
    with only([own.process.pid, *own.runners()], 5) as limit:
        runs = [taken(own, ["/bin/sleep", "0.2"], retry={"max": 2, "backoff": 0.1}) for _ in range(RUNS)]
        while not any("cannot be started" in warning for warning in own.client.status()["warnings"]):
            pass
        said = own.jobctl("status").stdout
        limit.write_text("max")
        ended = [own.finished(run) for run in runs]
        attempts = [len(own.client.attempts(run["id"])) for run in ended]
        own.until(lambda: not any("cannot be started" in warning for warning in own.client.status()["warnings"]))

    assert "EAGAIN" in said
    assert {(run["state"], run["attempt"]) for run in ended} == {("succeeded", 1)}
    assert attempts == [1] * RUNS
    own.client.pause_job("on-time")
    assert {run["state"] for run in own.runs_of("on-time") if run["started_at"]} <= {"succeeded", "running"}


@pytest.mark.case("F129")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts commands as somebody else")
def test_a_user_without_a_free_process_holds_up_nobody_else(own: RealDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    gate.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o001 == 0:  # made for this run of the tests
            folder.chmod(0o711)
    for pid in own.runners():
        resource.prlimit(pid, resource.RLIMIT_NPROC, (8, 8))  # root itself is above it
    greedy = own.run(["/usr/bin/python3", "-I", "-S", "-c", GREEDY, str(gate)], user=USER)
    own.until_says(greedy, b"full")
    waiting = [own.run(["/bin/sleep", "300"], user=USER, retry={"max": 2}) for _ in range(4)]
    own.until(lambda: any("cannot be started" in warning for warning in own.client.status()["warnings"]))
    mine = [own.finished(own.run(["/bin/true"])) for _ in range(5)]
    held = [run for run in (own.client.run(run["id"]) for run in waiting) if run["state"] == "ready"]
    with gate.open("w"):
        pass
    ended = own.finished(greedy)
    for run in waiting:
        own.state(run, "running")
        own.client.kill_run(run["id"])

    assert {run["state"] for run in mine} == {"succeeded"}
    assert held
    assert {run["attempt"] for run in held} == {0}
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
    assert [len(own.client.attempts(own.finished(run)["id"])) for run in waiting] == [1] * 4
