"""A run that kills its daemon whenever it is started, and crashes that take everything with them."""

import contextlib
import signal
from pathlib import Path

import pytest

from jobctl.errors import JobctlError
from kit.daemon import RealDaemon
from kit.marks import Marks

#: A daemon that dies when it hands over a run of the job "poison", behind the claim's commit.
POISONED = """
import os, signal
from jobctl_daemon.__main__ import main
from jobctl_daemon.execution.pool import RunnerPool

start = RunnerPool.start

def poisoned(pool, message, *rest):
    if message["env"]["JOBCTL_JOB"] == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    start(pool, message, *rest)

RunnerPool.start = poisoned
raise SystemExit(main())
"""
RETURNS_MOST = 5


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


def crashes_of(daemon: RealDaemon) -> int:
    """Starts it again whenever it has killed itself; returns how often that was, once the poison is dead."""
    assert daemon.process is not None
    crashes = 0
    while daemon.process.wait(20) == -signal.SIGKILL:
        crashes += 1
        if crashes == RETURNS_MOST:
            daemon.start()
            return crashes
        daemon.launch()
    raise AssertionError(daemon.log())


@pytest.mark.long
@pytest.mark.case("F076")
def test_a_run_that_kills_its_daemon_is_ended_and_the_others_go_on(tmp_path: Path, marks: Marks) -> None:
    daemon = RealDaemon(tmp_path / "home")
    daemon.program = ["-c", POISONED]
    try:
        daemon.start()
        daemon.add("innocent", marks.line("innocent"), schedule={"every": 1}, overlap="allow", misfire="all")
        poison = daemon.add("poison", marks.line("poison"), retry={"max": 3, "lost": 3, "backoff": 0.1})
        with contextlib.suppress(JobctlError):  # it may die before it answers
            daemon.triggered("poison")
        crashes = crashes_of(daemon)
        (dead,) = daemon.client.dead(job="poison")
        done = len(marks.all("innocent"))
        daemon.until(lambda: len(marks.all("innocent")) >= done + 2)
        daemon.client.pause_job("innocent")
        innocent = [daemon.finished(run) for run in daemon.runs_of("innocent") if run["state"] != "scheduled"]
    finally:
        daemon.close()

    assert crashes == RETURNS_MOST
    assert (dead["job_id"], dead["class"], dead["attempt"]) == (poison["id"], "lost", 1)
    assert f"the daemon died {RETURNS_MOST} times while it started it" in dead["reason"]
    assert marks.all("poison") == []
    assert {run["state"] for run in innocent} == {"succeeded"}
    assert len({mark.key for mark in marks.all("innocent")}) == len(marks.all("innocent"))
