"""A command that has become thousands of processes ends in time, and the runner serves its other commands meanwhile."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unit.runner.harness import ENV, Client, Runner, ended, marked, pidfd

pytestmark = pytest.mark.long

AT_ONCE = 2000
# Sleepers that ignore TERM, half of them in sessions of their own; who dies is replaced, up to a number that is fixed.
MANY = f"""
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
forked = 0
def fork():
    global forked
    forked += 1
    if os.fork() == 0:
        if forked % 2:
            os.setsid()
        signal.alarm(120)
        signal.pause()
        os._exit(0)
signal.alarm(120)
while forked < {AT_ONCE}:
    fork()
print("all there", flush=True)
while forked < {AT_ONCE} + 500:
    os.wait()
    fork()
signal.pause()
"""


@pytest.fixture(params=[True, False], ids=["cgroups", "no cgroups"])
def runner(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Runner]:
    runner = Runner(tmp_path, cgroups=request.param)
    yield runner
    runner.close()


def begin_many(runner: Runner, client: Client, **values: Any) -> tuple[str, int] | None:
    """Start the command; return its id and pid once all its processes are there, None when it was ended before."""
    argv = [sys.executable, "-I", "-S", "-c", MANY]
    order = runner.order(argv, env={**ENV, "MARK": str(runner.state)}, **values)
    client.say("start", **order)
    pid = client.wait("started", order["id"])["pid"]
    with pidfd(pid) as leader:
        while b"all there" not in runner.log(order["id"]):
            if ended(leader, patience_s=0.02):
                return None
    return order["id"], pid


def test_timeout_and_grace_end_thousands_of_processes_in_time(runner: Runner) -> None:
    client = runner.start()
    for timeout_ms in (4000, 12_000, 36_000):  # a busy machine takes longer to make them all
        begun = begin_many(runner, client, timeout_ms=timeout_ms, grace_ms=1000)
        if begun is not None:
            break
        client.wait("ended", patience_s=30)
    assert begun is not None
    result = client.wait("ended", begun[0], patience_s=60)
    assert (result["cause"], result["signal"], result["left_behind"]) == ("timed_out", signal.SIGKILL, [])
    assert [name for _, name in result["signals"]] == ["TERM", "KILL"]
    term, kill = (at - result["started_at"] for at, _ in result["signals"])
    assert timeout_ms <= term < timeout_ms + 2000
    assert 1000 <= kill - term < 3000
    assert timeout_ms + 1000 <= result["duration_ms"] < timeout_ms + 5000
    assert marked(str(runner.state)) == []


def test_other_commands_end_in_time_while_thousands_of_processes_are_told_to(runner: Runner) -> None:
    client = runner.start()
    begun = begin_many(runner, client)
    assert begun is not None
    many, _ = begun
    client.say("kill", id=many, mode="cancel", grace_ms=3000)
    client.wait("killing")
    result = runner.run(client, ["/bin/sleep", "0.5"], timeout_ms=2500)
    assert (result["cause"], result["exit_code"]) == (None, 0)
    assert result["duration_ms"] < 2500
    # The others had their turn before the many were gone.
    assert not any("ended" in message and message["ended"]["id"] == many for message in client.heard)
    assert client.wait("ended", many)["cause"] == "cancelled"
    assert marked(str(runner.state)) == []


def test_a_kill_ends_thousands_of_processes_at_once(runner: Runner) -> None:
    client = runner.start()
    begun = begin_many(runner, client)
    assert begun is not None
    many, pid = begun
    with pidfd(pid) as leader:
        client.say("kill", id=many, mode="kill")
        assert ended(leader, patience_s=3)
    result = client.wait("ended", many)
    assert (result["cause"], result["left_behind"]) == ("killed", [])
    assert marked(str(runner.state)) == []
