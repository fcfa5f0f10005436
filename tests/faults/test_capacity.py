"""After every kind of end, and kills in between, as much can run at once as before: slots are counted, not kept."""

import collections
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import ENDED, Json, RealDaemon, kill
from kit.gate import Gates

SLOTS = 4
ROUNDS = 3
EACH = 24
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


def test_no_slot_is_lost_whatever_ends_and_whoever_is_killed(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    runs: list[Json] = []
    left: set[int] = set()
    most = 0
    for number in range(ROUNDS):
        runs += [daemon.run(ENDINGS[index % len(ENDINGS)], timeout=0.3, grace=1) for index in range(EACH)]
        while len([run for run in daemon.client.runs() if run["state"] in ENDED]) < number * EACH + EACH // 2:
            most = max(most, daemon.client.status()["running"])
        daemon.restart()
    ended = [daemon.finished(run) for run in runs]
    for run in ended:
        for attempt in daemon.client.attempts(run["id"]):
            left |= set(attempt["left_behind"])
    for pid in left:
        kill(pid)
    classes = collections.Counter(run["class"] for run in ended)
    before = daemon.client.status()
    held = [daemon.run(gates.command(f"{index}")) for index in range(SLOTS)]
    held = [daemon.until_says(run, b"begin") for run in held]
    fifth = daemon.run(["/bin/echo", "my turn"])
    status = daemon.client.status()
    for index in range(SLOTS):
        gates.open(f"{index}")
    after = [daemon.finished(run)["state"] for run in (*held, fifth)]

    assert most <= SLOTS
    assert classes.keys() <= {None, "exit_code", "signal", "spawn_error", "timed_out"}
    assert sum(classes.values()) == ROUNDS * EACH
    assert (before["running"], before["ready"], before["scheduled"]) == (0, 0, 0)
    assert (status["running"], status["ready"] + status["scheduled"]) == (SLOTS, 1)
    assert sum(runner["running"] for runner in status["runners"]) == SLOTS
    assert after == ["succeeded"] * (SLOTS + 1)
