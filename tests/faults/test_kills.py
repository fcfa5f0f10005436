"""Random kills of the daemon and its runners under load; doubles and losses are counted from outside.

Every command writes its key and fence when it starts. Sleeps are part of the rig: they put the kills anywhere.
"""

import collections
import contextlib
import os
import random
import signal
import time
from pathlib import Path

from jobctl.errors import JobctlError
from kit.daemon import RealDaemon, real_daemon

ROUNDS = int(os.environ.get("JOBCTL_FAULT_ROUNDS", "12"))
SEED = int(os.environ.get("JOBCTL_FAULT_SEED", "1"))


class Storm:
    """Load and kills, decided by a seed."""

    def __init__(self, daemon: RealDaemon, marks: Path, seed: int) -> None:
        self.daemon = daemon
        self.marks = marks
        self.chance = random.Random(seed)
        self.asked: list[int] = []

    def command(self, seconds: float) -> str:
        return f"echo $JOBCTL_RUN_KEY $JOBCTL_FENCE >> {self.marks}; sleep {seconds}"

    def round(self) -> None:
        """Some work, then somebody dies."""
        time.sleep(self.chance.uniform(0.1, 0.8))
        runners: list[int] = []
        with contextlib.suppress(JobctlError):
            runners = self.daemon.runners()
            for _ in range(self.chance.randrange(12)):
                self.asked.append(self.daemon.run(self.command(self.chance.choice([0.05, 0.5, 1.5])))["id"])
        self._strike(self.chance.choice(["jobd", "jobd", "runner", "both", "all", "stopped"]), runners)
        assert self.daemon.process is not None
        if self.daemon.process.poll() is not None:
            time.sleep(self.chance.choice([0, 0.3, 1.0]))
            self.daemon.start()

    def _strike(self, whom: str, runners: list[int]) -> None:
        if whom in ("jobd", "all"):
            self.daemon.kill9()
        if whom in ("both", "all"):
            for pid in runners:
                _signal(pid, signal.SIGKILL)
        elif whom == "runner" and runners:
            _signal(self.chance.choice(runners), signal.SIGKILL)
        elif whom == "stopped" and runners:
            first, *others = runners
            _signal(first, signal.SIGSTOP)
            for pid in others:
                _signal(pid, signal.SIGKILL)
            time.sleep(self.chance.uniform(0, 0.5))
            _signal(first, self.chance.choice([signal.SIGCONT, signal.SIGKILL]))


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def test_nothing_runs_twice_and_nothing_is_lost_whoever_is_killed(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.touch()
    with real_daemon(tmp_path / "home") as daemon:
        storm = Storm(daemon, marks, SEED)
        for name, seconds, overlap in (("short", 0.1, "skip"), ("long", 1.2, "allow"), ("gated", 1.7, "skip")):
            daemon.add(name, storm.command(seconds), schedule={"every": 1}, overlap=overlap, misfire="all")
        for _ in range(ROUNDS):
            storm.round()
        for name in ("short", "long", "gated"):
            daemon.client.delete_job(name)
        runs = [daemon.finished(run, 60) for run in list(daemon.client.runs())]
        status = daemon.client.status()
        daemon.runners()

    starts = collections.Counter(line.split()[0] for line in marks.read_text().splitlines())
    assert [key for key, count in starts.items() if count > 1] == []
    assert {run["id"] for run in runs} >= set(storm.asked)
    assert [run for run in runs if run["state"] == "succeeded" and starts[run["key"]] != 1] == []
    assert {run["class"] for run in runs if run["state"] == "failed"} <= {"lost"}
    assert (status["running"], status["ready"], status["scheduled"]) == (0, 0, 0)
