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

    def __init__(self, daemon: RealDaemon, folder: Path, seed: int) -> None:
        self.daemon = daemon
        self.marks = folder / "marks"
        self.marks.touch()
        self.locks = folder / "locks"
        self.locks.mkdir()
        self.chance = random.Random(seed)
        self.asked: list[int] = []

    def command(self, seconds: float) -> str:
        """Writes a line when it starts, and another when the same run is at work elsewhere."""
        facts = f"$JOBCTL_RUN_KEY $JOBCTL_FENCE >> {self.marks}"
        alone = f"exec 9>>{self.locks}/$JOBCTL_RUN_ID; flock -n 9 || echo clash {facts}"
        return f"echo start {facts}; {alone}; sleep {seconds}"

    def lines(self, what: str) -> list[list[str]]:
        """The key and the fence of each such line, in their order."""
        lines = [line.split() for line in self.marks.read_text().splitlines()]
        return [rest for word, *rest in lines if word == what]

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
    once = {"retry": {"max": 0, "lost": 0}, "on_failure": "record"}
    again = {"retry": {"max": 0, "lost": 9, "backoff": 0.2, "backoff_max": 1}}
    with real_daemon(tmp_path / "home") as daemon:
        storm = Storm(daemon, tmp_path, SEED)
        for name, seconds, overlap, retry in (
            ("short", 0.1, "skip", once),
            ("long", 1.2, "allow", once),
            ("gated", 1.7, "skip", once),
            ("again", 0.9, "allow", again),
        ):
            daemon.add(name, storm.command(seconds), schedule={"every": 1}, overlap=overlap, misfire="all", **retry)
        for _ in range(ROUNDS):
            storm.round()
        for name in ("short", "long", "gated"):
            daemon.client.delete_job(name)
        daemon.client.edit_job("again", {"schedule": None})
        runs = [daemon.finished(run, 60) for run in list(daemon.client.runs())]
        status = daemon.client.status()
        daemon.runners()

    starts = collections.Counter(key for key, _ in storm.lines("start"))
    fences = {key: [int(fence) for each, fence in storm.lines("start") if each == key] for key in starts}
    of_again = [run for run in runs if run["job"] == "again"]
    keys_again = {run["key"] for run in of_again}
    assert [key for key, count in starts.items() if count > 1 and key not in keys_again] == []
    assert storm.lines("clash") == []
    assert [key for key, some in fences.items() if some != sorted(set(some))] == []
    assert {run["id"] for run in runs} >= set(storm.asked)
    assert [run for run in runs if run["state"] == "succeeded" and not starts[run["key"]]] == []
    assert [run for run in of_again if starts[run["key"]] > run["attempt"]] == []
    assert {run["class"] for run in runs if run["state"] == "failed"} <= {"lost"}
    assert {run["state"] for run in of_again} <= {"succeeded", "superseded"}
    assert (status["running"], status["ready"], status["scheduled"], status["dead"]["total"]) == (0, 0, 0, 0)
