"""`jobctl backup` over real processes, while jobs finish all the time."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import CLI, RealDaemon, real_daemon
from kit.invariants import invariants

EVERY = {"schedule": {"timezone": "UTC", "every": "1s"}}
#: About so many jobs finish in a second.
JOBS = 20
BACKUPS = 8


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("b") / "h") as started:
        yield started


@pytest.fixture
def busy(daemon: RealDaemon) -> Iterator[RealDaemon]:
    """Twenty jobs that run each second."""
    for number in range(JOBS):
        daemon.add(f"often{number}", "true", note="x" * 2000, **EVERY)
    daemon.until(lambda: sum(1 for _ in daemon.client.runs(limit=2 * JOBS, state="succeeded")) >= JOBS)
    yield daemon
    for number in range(JOBS):
        daemon.client.delete_job(f"often{number}")


def finished(daemon: RealDaemon) -> set[int]:
    return {run["id"] for run in daemon.client.runs(state="succeeded")}


def checked(path: Path) -> set[int]:
    """The finished runs of a copy that is sound."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        invariants(connection)
        return {run_id for (run_id,) in connection.execute("SELECT id FROM history")}


class Asking(threading.Thread):
    """Asks the daemon all the time and remembers the longest wait, in s."""

    def __init__(self, daemon: RealDaemon) -> None:
        super().__init__()
        self._daemon = daemon
        self._over = threading.Event()
        self.longest_s = 0.0
        self.asked = 0

    def run(self) -> None:
        while not self._over.is_set():
            began_s = time.monotonic()
            self._daemon.client.status()
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
            self.asked += 1
            self._over.wait(0.01)

    def stop(self) -> None:
        self._over.set()
        self.join(10)


@pytest.mark.case("F098")
def test_copies_that_are_made_while_jobs_finish_hold_all_that_had_finished(busy: RealDaemon, tmp_path: Path) -> None:
    asking = Asking(busy)
    asking.start()
    try:
        for number in range(BACKUPS):
            path = tmp_path / f"{number}.db"
            before = finished(busy)
            done = busy.jobctl("backup", str(path), "--json")
            assert done.returncode == 0, done.stderr
            assert before <= checked(path)
            assert path.stat().st_mode & 0o777 == 0o600
    finally:
        asking.stop()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{number}.db" for number in range(BACKUPS)]
    assert [name for name in os.listdir(busy.home / "state") if name.startswith("copy-")] == []
    assert asking.asked > BACKUPS
    assert asking.longest_s < 0.5, f"{asking.longest_s:.3f} s"


@pytest.mark.long
@pytest.mark.case("F098")
@pytest.mark.parametrize("victim", ["client", "daemon"])
def test_a_copy_that_is_killed_leaves_no_file(busy: RealDaemon, tmp_path: Path, victim: str) -> None:
    state = busy.home / "state"
    for delay_s in (0.2, 0.27, 0.34):
        process = subprocess.Popen(
            [*CLI, "backup", str(tmp_path / "out.db")], env=busy.environ,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(delay_s)
        if victim == "client":
            process.kill()
            process.wait()
        else:
            busy.kill9()
            process.wait(20)
            busy.start()
        for path in tmp_path.iterdir():  # it was quicker, and then it is whole
            assert path.name == "out.db"
            checked(path)
            path.unlink()
        busy.client.status()
    busy.until(lambda: not [name for name in os.listdir(state) if name.startswith("copy-")])


def test_a_name_that_is_taken_is_refused_and_force_replaces_it_in_one_step(daemon: RealDaemon, tmp_path: Path) -> None:
    path = tmp_path / "out.db"
    path.write_bytes(b"mine")
    refused = daemon.jobctl("backup", str(path))
    assert (refused.returncode, path.read_bytes()) == (5, b"mine")
    assert "--force" in refused.stderr
    assert daemon.jobctl("backup", str(path), "--force").returncode == 0
    checked(path)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    assert daemon.jobctl("backup", str(link)).returncode == 5
    assert not (tmp_path / "nowhere").exists()


def test_the_state_folder_is_no_place_for_a_copy(daemon: RealDaemon, tmp_path: Path) -> None:
    state = daemon.home / "state"
    (tmp_path / "side").symlink_to(state)
    before = sorted(path.name for path in state.iterdir())
    for name in ("jobctl.db", "new.db", "runs/new.db"):
        for folder in (state, tmp_path / "side"):
            done = daemon.jobctl("backup", str(folder / name), "--force")
            assert done.returncode == 2, done
    assert sorted(path.name for path in state.iterdir()) == before


def test_a_folder_gets_a_name_by_host_and_time_and_keeps_the_newest(daemon: RealDaemon, tmp_path: Path) -> None:
    host = daemon.client.status()["host"]
    for hour in range(5):
        (tmp_path / f"jobctl-{host}-20250101T0{hour}0000Z.db").write_bytes(b"old")
    (tmp_path / f"jobctl-{host}-notes.txt").write_bytes(b"")
    (tmp_path / "jobctl-other-20250101T000000Z.db").write_bytes(b"")
    done = daemon.jobctl("backup", str(tmp_path), "--keep", "3", "--json")
    found = json.loads(done.stdout)
    assert found["file"].startswith(f"{tmp_path}/jobctl-{host}-2")
    assert found["bytes"] == os.stat(found["file"]).st_size
    assert [Path(name).name[-11:-3] for name in found["removed"]] == ["T000000Z", "T010000Z", "T020000Z"]
    assert len(list(tmp_path.iterdir())) == 5
    assert daemon.jobctl("backup", str(tmp_path / "x.db"), "--keep", "3").returncode == 2


@pytest.mark.case("F092")
def test_without_a_daemon_nothing_is_written(daemon: RealDaemon, tmp_path: Path) -> None:
    assert daemon.process is not None
    daemon.stop()
    done = daemon.jobctl("backup", str(tmp_path / "out.db"))
    assert (done.returncode, list(tmp_path.iterdir())) == (4, [])
    assert "jobctl daemon start" in done.stderr
    daemon.start()
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        done = daemon.jobctl("backup", str(tmp_path / "out.db"))
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert (done.returncode, list(tmp_path.iterdir())) == (4, [])
    assert f"kill -CONT {daemon.process.pid}" in done.stderr
