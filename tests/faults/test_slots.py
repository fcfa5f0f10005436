"""After every kind of end, and kills in between, as much can run at once as before: slots are counted, not kept.

JOBCTL_SLOT_ROUNDS=10 JOBCTL_SLOT_RUNS=200 make it 2,000 runs and ten kills of the daemon.
"""

import collections
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import JobctlError
from kit.daemon import ENDED, Json, RealDaemon, kill
from kit.gate import Gates

SLOTS = 4
ROUNDS = int(os.environ.get("JOBCTL_SLOT_ROUNDS", "3"))
EACH = int(os.environ.get("JOBCTL_SLOT_RUNS", "24"))
#: Every so many runs one is killed as soon as it has been asked for: before, in or after its start.
KILLED_EACH = 7
ENDINGS = (
    "exit 0",
    "exit 3",
    "kill -9 $$",
    ["/no/such/program"],
    "sleep 300 & exit 0",
    "exec tail -f /dev/null",
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(tmp_path / "home").settings(f"slots = {SLOTS}\n")
    try:
        yield made.start()
    finally:
        made.close()


def mixed(daemon: RealDaemon) -> list[Json]:
    """Runs that end in every way there is."""
    runs = []
    for index in range(EACH):
        run = daemon.run(ENDINGS[index % len(ENDINGS)], timeout=0.3, grace=1)
        if index % KILLED_EACH == 0:
            with contextlib.suppress(JobctlError):  # it has ended by itself
                daemon.client.kill_run(run["id"])
        runs.append(run)
    return runs


@pytest.mark.long
@pytest.mark.case("F073")
def test_no_slot_is_lost_whatever_ends_and_whoever_is_killed(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    runs: list[Json] = []
    left: set[int] = set()
    most = held = 0
    for number in range(ROUNDS):
        runs += mixed(daemon)
        half = runs[number * EACH + EACH // 2 - 1]
        while daemon.client.run(half["id"])["state"] not in ENDED:
            status = daemon.client.status()
            most = max(most, status["running"])
            held = max(held, sum(runner["running"] for runner in status["runners"]))
        daemon.restart()
    ended = [daemon.finished(run, 60) for run in runs]
    for run in ended:
        for attempt in daemon.client.attempts(run["id"]):
            left |= set(attempt["left_behind"])
    for pid in left:
        kill(pid)
    classes = collections.Counter(run["class"] for run in ended)
    before = daemon.client.status()
    at_gates = [daemon.run(gates.command(f"{index}")) for index in range(SLOTS)]
    at_gates = [daemon.until_says(run, b"begin") for run in at_gates]
    fifth = daemon.run(["/bin/echo", "my turn"])
    status = daemon.client.status()
    for index in range(SLOTS):
        gates.open(f"{index}")
    after = [daemon.finished(run)["state"] for run in (*at_gates, fifth)]

    assert most <= SLOTS
    assert held <= SLOTS
    assert classes.keys() <= {None, "exit_code", "signal", "spawn_error", "timed_out", "cancelled"}
    assert any(run["state"] == "cancelled" for run in ended)
    assert sum(classes.values()) == ROUNDS * EACH
    assert (before["running"], before["ready"], before["scheduled"]) == (0, 0, 0)
    assert (status["running"], status["ready"] + status["scheduled"]) == (SLOTS, 1)
    assert sum(runner["running"] for runner in status["runners"]) == SLOTS
    assert after == ["succeeded"] * (SLOTS + 1)
