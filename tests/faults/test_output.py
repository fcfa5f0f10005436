"""Output that is too much, has no room, or loses its file: bounded, told, and never the daemon's trouble."""

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.daemon import Json, RealDaemon, real_daemon
from kit.gate import Gates

MB = 1_000_000
CAP = 10 * MB
WRITTEN = 2_000 * MB
#: The longest time between two looks at a log that was quiet, and as much again for a machine that is busy.
LOOK_S = 0.5


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def log_of(daemon: RealDaemon, run: Json) -> Path:
    return daemon.home / "state" / "runs" / str(run["id"] // 1000) / f"{run['id']}-{run['fence']}.log"


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@contextlib.contextmanager
def measured(path: Path) -> Iterator[list[int]]:
    """The most that the file took on disk while the block lasted, in bytes, as the one number in a list."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.002):
            with contextlib.suppress(OSError):
                most[0] = max(most[0], os.stat(path).st_blocks * 512)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


@pytest.mark.case("F030")
def test_two_gigabytes_take_little_more_than_the_cap_and_cost_the_daemon_nothing(
    daemon: RealDaemon, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if shutil.disk_usage(tmp_path).free < 2 * WRITTEN:
        pytest.skip("there is too little room on this disk")
    gates = Gates(tmp_path / "gates")
    assert daemon.process is not None
    jobd, runners = daemon.process.pid, daemon.runners()
    last = f"head -c {WRITTEN} /dev/zero; echo last; exit 5"
    run = daemon.until_says(daemon.run(gates.command("one", last)), b"begin")
    path = log_of(daemon, run)
    before = [(cpu_s(pid), memory_kb(pid)) for pid in (jobd, *runners)]
    with measured(path) as most:
        gates.open("one")
        began = time.monotonic()
        ended = daemon.finished(run, 60)
        pace = WRITTEN / (time.monotonic() - began)
    after = [(cpu_s(pid), memory_kb(pid)) for pid in (jobd, *runners)]
    (attempt,) = daemon.client.attempts(run["id"])
    tail = daemon.client.log(run["id"], offset=attempt["log_size"] - 5).read()
    spent = [round(late[0] - early[0], 2) for early, late in zip(before, after, strict=True)]
    grown = [late[1] - early[1] for early, late in zip(before, after, strict=True)]
    record_property(
        "counts", f"2 GB of output: at most {most[0] / MB:.0f} MB on disk, CPU {spent} s, memory +{grown} kB"
    )

    assert ended["exit_code"] == 5
    assert attempt["log_size"] == WRITTEN + len(b"begin\nend\nlast\n")
    assert tail == b"last\n"
    assert path.stat().st_size < CAP + 100_000
    assert most[0] < CAP + LOOK_S * pace
    assert spent[0] < 1
    assert sum(spent[1:]) < 4
    assert max(grown) < 8_000


@pytest.fixture
def small(daemon: RealDaemon) -> Iterator[Path]:
    """A filesystem of one megabyte for logs, with nothing else on it."""
    logs = daemon.home / "state" / "runs"
    logs.mkdir(mode=0o700, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(logs)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no filesystem can be mounted here")
    try:
        yield logs
    finally:
        daemon.close()
        subprocess.run(["umount", "-l", str(logs)], check=True)


@pytest.mark.case("F035")
def test_without_room_for_logs_commands_go_on_and_it_is_told(daemon: RealDaemon, small: Path) -> None:
    loud = daemon.finished(daemon.run("head -c 5000000 /dev/zero 2>/dev/null; exit 3"))
    quiet = [daemon.finished(daemon.run(["/bin/true"])) for _ in range(3)]
    (attempt,) = daemon.client.attempts(loud["id"])
    warnings = daemon.client.status()["warnings"]
    log_of(daemon, loud).unlink()
    after = daemon.finished(daemon.run(["/bin/echo", "room again"]))
    (attempt_after,) = daemon.client.attempts(after["id"])

    assert (loud["state"], loud["exit_code"]) == ("failed", 3)
    assert "log_incomplete(ENOSPC)" in attempt["detail"]
    assert [run["state"] for run in quiet] == ["succeeded"] * 3
    assert [words for words in warnings if "no room for the output" in words]
    assert (after["state"], attempt_after["detail"]) == ("succeeded", None)
    assert daemon.output(after) == b"room again\n"
    assert not [words for words in daemon.client.status()["warnings"] if "no room for the output" in words]


@pytest.mark.case("F028")
@pytest.mark.parametrize("ways", ["rm $log", "rm $log; echo mine >$log"])
def test_a_command_that_takes_its_log_away_keeps_its_own_end(daemon: RealDaemon, tmp_path: Path, ways: str) -> None:
    gates = Gates(tmp_path / "gates")
    run = daemon.until_says(
        daemon.run(gates.command("one", f"log=$(readlink /proc/$$/fd/1); {ways}; exit 6")), b"begin"
    )
    gates.open("one")
    ended = daemon.finished(run)
    (attempt,) = daemon.client.attempts(run["id"])

    assert (ended["state"], ended["exit_code"]) == ("failed", 6)
    assert "its file was removed or replaced" in attempt["detail"]


def test_what_is_written_to_a_log_that_is_gone_is_capped_by_an_end(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    script = "rm $(readlink /proc/$$/fd/1); yes; exit 0"
    run = daemon.until_says(daemon.run(gates.command("one", script)), b"begin")
    gates.open("one")
    ended = daemon.finished(run)

    assert (ended["state"], ended["class"]) == ("failed", "policy")
    assert "it was removed" in ended["reason"]
