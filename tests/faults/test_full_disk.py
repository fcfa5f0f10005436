"""The disk of the state folder fills up under a real daemon: nothing is lost, and all goes on when there is room."""

import itertools
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.client.transport import Request, UnixTransport
from jobctl.errors import Unavailable
from jobctl.reading.times import milliseconds
from kit.daemon import RealDaemon, kill
from kit.gate import Gates
from kit.small_disk import SmallDisk, small_disk

JOBS = 20
#: The daemon looks every five seconds whether there is room again.
RECOVERED_S = 15.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    (tmp_path / "home").mkdir()
    with small_disk(tmp_path / "home" / "state") as made:
        yield made


@pytest.fixture
def daemon(disk: SmallDisk, tmp_path: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(tmp_path / "home")
    try:
        yield made.start()
    finally:
        disk.empty()
        made.close()


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


def reserve_of(daemon: RealDaemon) -> Path:
    return daemon.home / "state" / "reserve"


def troubles(daemon: RealDaemon) -> list[str]:
    return [text for text in daemon.client.status()["warnings"] if "disk" in text]


def recovered(daemon: RealDaemon) -> None:
    """Waits until the daemon has found out that there is room."""
    deadline = time.monotonic() + RECOVERED_S
    while troubles(daemon) or "disk.recovered" not in daemon.log():
        assert time.monotonic() < deadline, (daemon.client.status(), daemon.log())
        time.sleep(0.1)


def test_twenty_jobs_finish_on_a_full_disk_new_work_is_refused_and_all_goes_on(
    daemon: RealDaemon, disk: SmallDisk, gates: Gates
) -> None:
    daemon.add("secondly", ["/bin/true"], schedule={"every": 1}, overlap="allow")
    started = [daemon.until_says(daemon.run(gates.command(f"{index}")), b"begin") for index in range(JOBS)]
    before = reserve_of(daemon).stat()
    disk.fill()

    refusals = []
    for attempt in (
        lambda: daemon.add("late", ["/bin/true"]),
        lambda: daemon.run(["/bin/true"]),
        lambda: daemon.triggered("secondly"),
        lambda: daemon.client.import_jobs([{"name": "i", "target": {"shell": "true"}}]),
    ):
        with pytest.raises(Unavailable) as caught:
            attempt()
        refusals.append(caught.value)
    shown = daemon.jobctl("run", "secondly")
    ready = UnixTransport(daemon.socket)(Request("GET", "/v1/health/ready"))
    unready = ready.json()
    said = troubles(daemon)
    for index in range(JOBS):
        gates.open(f"{index}")
    ended = [daemon.finished(run) for run in started]
    time.sleep(4)  # times of the secondly job pass
    assert disk.free() < 1 << 20
    disk.empty()
    recovered(daemon)
    after = daemon.finished(daemon.triggered("secondly"))

    assert before.st_blocks * 512 >= before.st_size > 1 << 20
    assert {error.details["why"] for error in refusals} == {"full"}
    assert all("is full" in error.message and "free" in error.hint for error in refusals)
    assert (shown.returncode, "is full" in shown.stderr, "free" in shown.stderr) == (4, True, True)
    assert (ready.status, "is full" in unready["title"]) == (503, True)
    assert len(said) == 1
    assert [run["state"] for run in ended] == ["succeeded"] * JOBS
    assert after["state"] == "succeeded"
    assert reserve_of(daemon).stat().st_blocks * 512 >= before.st_size
    daemon.client.pause_job("secondly")
    rows = daemon.ledger("secondly")
    missed = [row for row in rows if row["run_id"] is None and row["reason"] == "misfire"]
    assert missed, rows
    assert sum(row["count"] for row in missed) >= 2
    covered = sorted((milliseconds(row["from"]), milliseconds(row["to"])) for row in rows if row["reason"] != "paused")
    assert all(0 < after[0] - before[1] <= 2_000 for before, after in itertools.pairwise(covered)), rows
    assert len(re.findall(r"disk\.short", daemon.log())) == 1
    assert "Traceback" not in daemon.log()


@pytest.mark.long
def test_a_daemon_that_was_killed_on_a_full_disk_starts_and_records_what_ended(
    daemon: RealDaemon, disk: SmallDisk, gates: Gates
) -> None:
    started = [daemon.until_says(daemon.run(gates.command(f"{index}")), b"begin") for index in range(JOBS)]
    daemon.kill9()
    disk.fill()
    for index in range(JOBS):
        gates.open(f"{index}")
    daemon.start()
    ended = [daemon.finished(run) for run in started]

    assert [run["state"] for run in ended] == ["succeeded"] * JOBS
    assert troubles(daemon)
    daemon.stop()
    disk.fill()
    daemon.start()
    assert [daemon.client.run(run["id"])["state"] for run in started] == ["succeeded"] * JOBS


@pytest.mark.long
def test_without_a_reserve_a_full_disk_is_told_in_one_line_and_keeps_the_file_as_it_was(
    daemon: RealDaemon, disk: SmallDisk
) -> None:
    daemon.finished(daemon.run(["/bin/true"]))
    daemon.stop()
    reserve_of(daemon).unlink()
    disk.fill()
    refused = daemon.refused()

    assert refused.returncode == 4
    words = [line for line in refused.stderr.splitlines() if line.startswith("jobd:")]
    assert len(words) == 1
    assert "was not started" in words[0]
    assert "is full" in words[0]
    assert str(disk.place) in words[0]
    assert "free" in refused.stderr
    assert "then start jobd again" in refused.stderr
    assert "by itself" not in refused.stderr
    assert "Traceback" not in refused.stderr
    disk.empty()
    daemon.start()
    assert len(list(daemon.client.runs())) == 1


@pytest.mark.parametrize("removed", [["jobd.lock", "jobd.lock.json"], ["jobctl.db", "jobd.lock", "jobd.lock.json"]])
def test_a_start_that_cannot_even_write_its_lock_file_names_the_folder_and_what_to_do(
    daemon: RealDaemon, disk: SmallDisk, removed: list[str]
) -> None:
    daemon.stop()
    for name in ("reserve", *removed):
        (disk.place / name).unlink()
    disk.fill()
    refused = subprocess.run(
        [sys.executable, "-m", "jobctl_daemon"],
        env=daemon.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip

    assert refused.returncode == 4, refused.stderr
    assert len([line for line in refused.stderr.splitlines() if line.startswith("jobd:")]) == 1, refused.stderr
    assert f"it was not started: the disk of {disk.place} is full" in refused.stderr
    assert "then start jobd again" in refused.stderr
    disk.empty()
    daemon.start()


def test_results_are_kept_while_somebody_takes_every_block_that_comes_free(
    daemon: RealDaemon, disk: SmallDisk, gates: Gates
) -> None:
    started = [daemon.until_says(daemon.run(gates.command(f"{index}")), b"begin") for index in range(JOBS)]
    disk.fill()
    enough = threading.Event()

    def greedy() -> None:
        while not enough.is_set():
            disk.fill()

    taker = threading.Thread(target=greedy)
    taker.start()
    try:
        for index in range(JOBS):
            gates.open(f"{index}")
        ended = [daemon.finished(run) for run in started]
    finally:
        enough.set()
        taker.join()
    assert [run["state"] for run in ended] == ["succeeded"] * JOBS
    assert troubles(daemon)
    disk.empty()
    recovered(daemon)
    assert reserve_of(daemon).stat().st_size > 1 << 20


def test_a_read_only_disk_is_told_at_the_start(daemon: RealDaemon, disk: SmallDisk) -> None:
    run = daemon.finished(daemon.run(["/bin/true"]))
    runners = daemon.runners()
    daemon.stop()
    for pid in runners:
        kill(pid)
    disk.remount("ro")
    refused = daemon.launch()
    assert refused.wait(10) == 4
    assert "read-only" in daemon.log()
    disk.remount("rw")
    daemon.start()
    assert daemon.client.run(run["id"])["state"] == "succeeded"
