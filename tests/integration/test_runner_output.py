"""A log never grows much over its cap, and keeps its head and its tail."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.runner.harness import Client, Runner

MEGABYTE = 1_000_000
# Lines of a thousand bytes that carry their own number, as far as 200 MB.
NUMBERS = [sys.executable, "-I", "-S", "-c", "for i in range(200000): print(f'{i:0999d}')"]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def client(runner: Runner) -> Client:
    return runner.start()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_200_megabytes_keep_head_and_tail(runner: Runner, client: Client) -> None:
    before = cpu_s(runner.pid)
    result = runner.run(client, NUMBERS)
    assert cpu_s(runner.pid) - before < 0.2
    start, end, size = result["log_dropped_from"], result["log_dropped_to"], result["log_size"]
    assert size == 200 * MEGABYTE
    assert start % 4096 == end % 4096 == 0
    assert 4.9 * MEGABYTE < start <= 5 * MEGABYTE
    assert 5 * MEGABYTE <= size - end < 5.1 * MEGABYTE
    log = runner.log(result["id"])
    assert len(log) == size - (end - start)
    whole = b"".join(b"%0999d\n" % number for number in range(200_000))
    assert log == whole[:start] + whole[end:]
    assert not result["log_truncated"]
    beside = {result["id"], f"{result['id']}.times"}  # when it grew, if it took longer than a second
    assert {path.name for path in runner.logs.iterdir()} | beside == beside


def test_while_it_runs_the_middle_is_a_hole(runner: Runner, client: Client) -> None:
    script = "head -c 30000000 /dev/zero | tr '\\0' x; read line <fifo"
    os.mkfifo(runner.state / "fifo")
    attempt_id = runner.begin(client, ["/bin/sh", "-c", script], cwd=str(runner.state), log_max=2 * MEGABYTE)
    path = runner.logs / attempt_id
    while path.stat().st_size < 30 * MEGABYTE or path.stat().st_blocks * 512 > 2.1 * MEGABYTE:
        pass
    with path.open("rb") as file:
        hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE)
        data = os.lseek(file.fileno(), hole, os.SEEK_DATA)
    assert 0 < hole <= MEGABYTE < 30 * MEGABYTE - data < 1.1 * MEGABYTE
    # A successor goes on where the dead runner was.
    runner.kill()
    again = runner.start()
    (runner.state / "fifo").write_text("go\n")
    result = again.wait("ended", attempt_id)
    assert (result["log_dropped_from"], result["log_size"]) == (hole, 30 * MEGABYTE)
    assert result["log_dropped_to"] >= data
    assert path.stat().st_size == 30 * MEGABYTE - (result["log_dropped_to"] - hole)


def test_a_log_within_its_cap_is_left_alone(runner: Runner, client: Client) -> None:
    result = runner.run(client, ["/bin/sh", "-c", "head -c 2000000 /dev/zero"], log_max=2 * MEGABYTE)
    assert (result["log_size"], result["log_dropped_from"], result["log_dropped_to"]) == (2 * MEGABYTE, None, None)


def test_a_log_its_own_command_truncates_is_flagged(runner: Runner, client: Client) -> None:
    # Two gates: a second reader of one could meet the end of what was written for the first.
    first, second = runner.state / "first", runner.state / "second"
    os.mkfifo(first)
    os.mkfifo(second)
    script = f"head -c 100000 /dev/zero; read line <{first}; : >$0; read line <{second}; echo z"
    order = runner.order(["/bin/sh", "-c", script])
    order["argv"].append(order["log"])
    client.say("start", **order)
    for wanted, gate in ((100000, first), (0, second)):
        listed_size(client, order["id"], wanted)
        gate.write_text("go\n")
    result = client.wait("ended", order["id"])
    assert (result["log_truncated"], result["log_size"]) == (True, 2)


def test_output_of_a_survivor_stays_capped(runner: Runner, client: Client) -> None:
    # The leader goes at once; its child writes far more than the cap and then waits.
    os.mkfifo(runner.state / "fifo")
    script = "(head -c 20000000 /dev/zero | tr '\\0' x; read line <fifo) & exit 0"
    result = runner.run(client, ["/bin/sh", "-c", script], cwd=str(runner.state), log_max=2 * MEGABYTE)
    assert result["left_behind"]
    path = runner.logs / result["id"]
    while path.stat().st_size < 20 * MEGABYTE or path.stat().st_blocks * 512 > 2.1 * MEGABYTE:
        pass
    (runner.state / "fifo").write_text("go\n")


def listed_size(client: Client, attempt_id: str, wanted: int) -> None:
    """Ask until the runner lists this log size: then it has seen it."""
    while True:
        client.say("list")
        sizes = {item["id"]: item["log_size"] for item in client.wait("list")}
        if sizes.get(attempt_id) == wanted:
            return
