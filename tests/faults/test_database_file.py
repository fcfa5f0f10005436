"""The database's file under a real daemon: damaged, of another version, somebody else's, moved, locked, read."""

import contextlib
import hashlib
import itertools
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jobctl.errors import JobctlError, Unavailable
from jobctl_daemon.store.sqlite.migrate import shipped
from kit.daemon import Json, RealDaemon
from kit.gate import Gates

pytestmark = pytest.mark.long

DAMAGED, VERSION, PERMISSION = 9, 8, 6
PAGE = 4096
#: What jobd promises to notice within a minute; these tests allow less.
NOTICED_S = 25.0


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(tmp_path / "home")
    kept = tmp_path / "kept"
    try:
        yield made.start()
    finally:
        for name in ("jobctl.db", "jobctl.db-wal", "jobctl.db-shm", "jobctl.db-open"):
            if (kept / name).exists():
                shutil.copy2(kept / name, database(made).parent / name)
        made.close()


def database(daemon: RealDaemon) -> Path:
    return daemon.home / "state" / "jobctl.db"


def keep(daemon: RealDaemon, tmp_path: Path) -> None:
    """What a stopped daemon had; put back at the end, so that the kit can end what it started."""
    (tmp_path / "kept").mkdir()
    for path in database(daemon).parent.glob("jobctl.db*"):
        shutil.copy2(path, tmp_path / "kept" / path.name)


def hashes(daemon: RealDaemon) -> dict[str, str]:
    files = sorted(database(daemon).parent.glob("jobctl.db*"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def eventually(condition: Callable[[], object], within_s: float = NOTICED_S) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def warnings(daemon: RealDaemon) -> str:
    return " ".join(daemon.client.status()["warnings"])


# ── damage ──────────────────────────────────────────────
def garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all " * 2000)


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)


def emptied(path: Path) -> None:
    os.truncate(path, 0)
    Path(f"{path}-wal").write_bytes(b"\1" * 5000)


def first_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (PAGE - 100))


@pytest.mark.parametrize("damage", [garbage, half, emptied, first_page])
def test_a_damaged_file_is_refused_with_the_way_back_and_left_as_it_is(
    daemon: RealDaemon, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    daemon.stop()
    keep(daemon, tmp_path)
    damage(database(daemon))
    before = hashes(daemon)

    refused = daemon.refused()

    assert refused.returncode == DAMAGED
    assert str(database(daemon)) in refused.stderr
    assert "jobctl restore" in refused.stderr
    assert hashes(daemon) == before
    daemon.process = None
    for path in database(daemon).parent.glob("jobctl.db*"):
        path.unlink()


def test_damage_that_is_found_while_it_runs_stops_the_daemon_and_no_command(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    run = daemon.until_says(daemon.run(gates.command("a")), b"begin")
    for index in range(300):
        daemon.add(f"job-{index:03}", ["/bin/true"], schedule={"every": 3600}, note="x" * 500)
    daemon.stop()
    keep(daemon, tmp_path)
    spoil(database(daemon), "schedule_versions")
    process = daemon.launch()
    eventually(lambda: show_all(daemon) or process.poll() is not None)

    assert process.wait(10) == DAMAGED
    words = [line for line in daemon.log().splitlines() if line.startswith("jobd: ")]
    assert len(words) == 1
    assert "damaged" in words[0]
    assert str(database(daemon)) in words[0]
    assert "jobctl restore" in daemon.log()
    assert "Traceback" not in daemon.log()
    assert database(daemon).exists()
    os.kill(gates.pid("a"), 0)
    for path in database(daemon).parent.glob("jobctl.db*"):
        path.unlink()
    for path in (tmp_path / "kept").iterdir():
        shutil.copy2(path, database(daemon).parent / path.name)
    shutil.rmtree(tmp_path / "kept")
    daemon.start()
    gates.open("a")
    assert daemon.finished(run)["state"] == "succeeded"


def test_what_was_damaged_under_a_living_daemon_is_left_as_it_is_with_its_log(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    """A last connection that closes writes the log back into the file, and removes it."""
    for index in range(60):
        daemon.add(f"job-{index:03}", ["/bin/true"], schedule={"every": 3600}, note="x" * 3000)
    daemon.stop()
    keep(daemon, tmp_path)
    process = daemon.start().process
    assert process is not None
    with database(daemon).open("r+b") as file:
        file.seek(2 * PAGE)
        file.write(os.urandom(11 * PAGE))
    eventually(lambda: show_all(daemon) or "database.damaged" in daemon.log())
    found = left(daemon)

    assert process.wait(10) == DAMAGED
    assert left(daemon) == found
    assert found["jobctl.db-wal"]
    assert len([line for line in daemon.log().splitlines() if line.startswith("jobd: ")]) == 1
    assert "Traceback" not in daemon.log()
    refused = daemon.refused()
    assert refused.returncode == DAMAGED, refused.stderr
    assert left(daemon) == found
    for path in database(daemon).parent.glob("jobctl.db*"):
        path.unlink()


def left(daemon: RealDaemon) -> dict[str, bytes]:
    """The database and what was written ahead; the index of that is memory that all connections share."""
    return {path.name: path.read_bytes() for path in (database(daemon), Path(f"{database(daemon)}-wal"))}


def show_all(daemon: RealDaemon) -> None:
    """Asks for every job, whether or not anybody answers."""
    with contextlib.suppress(JobctlError):
        for job in daemon.client.jobs():
            daemon.client.job(job["name"])


def spoil(path: Path, table: str) -> None:
    """Overwrites every page of a table but page 1, behind SQLite's back."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    assert root > 1
    with path.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xa5" * PAGE)


def test_a_database_that_vanished_after_a_crash_is_not_begun_anew(daemon: RealDaemon, tmp_path: Path) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    daemon.kill9()
    keep(daemon, tmp_path)
    database(daemon).unlink()

    refused = daemon.refused()

    assert refused.returncode == DAMAGED
    assert "missing" in refused.stderr
    assert not database(daemon).exists()


def test_a_log_that_is_missing_after_a_crash_is_told_in_status(daemon: RealDaemon) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    daemon.kill9()
    with closing(sqlite3.connect(database(daemon))) as connection:  # writes the log back and removes it
        connection.execute("SELECT * FROM jobs").fetchall()
    assert not Path(f"{database(daemon)}-wal").exists()
    daemon.start()

    assert "jobctl.db-wal" in warnings(daemon)
    assert daemon.client.job("job")["name"] == "job"
    daemon.stop()
    daemon.start()
    assert "jobctl.db-wal" not in warnings(daemon)


# ── another version ──────────────────────────────────────────────
NEWER = [
    f"INSERT INTO migrations VALUES ({len(shipped()) + 1}, 'later', 'x', '9.9')",
    "ALTER TABLE jobs ADD COLUMN later TEXT",
    "CREATE TABLE later (x INTEGER)",
]


@pytest.mark.case("F133")
def test_a_newer_version_is_refused_before_any_write(daemon: RealDaemon, tmp_path: Path) -> None:
    """Every other malformed version: tests/unit/store/test_migrate.py."""
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    daemon.kill9()
    keep(daemon, tmp_path)
    with closing(sqlite3.connect(database(daemon), isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        for statement in NEWER:
            connection.execute(statement)
        for path in database(daemon).parent.glob("jobctl.db*"):
            shutil.copy2(path, tmp_path / path.name)
    for path in tmp_path.glob("jobctl.db*"):
        shutil.copy2(path, database(daemon).parent / path.name)
    before = hashes(daemon)

    refused = daemon.refused()

    assert refused.returncode == VERSION, refused.stderr
    assert str(database(daemon)) in refused.stderr
    assert f"schema {len(shipped()) + 1}" in refused.stderr
    assert f"knows {len(shipped())}" in refused.stderr
    assert hashes(daemon) == before
    assert "jobctl.db-wal" in before
    for path in database(daemon).parent.glob("jobctl.db*"):
        path.unlink()


# ── somebody else's ──────────────────────────────────────────────
@pytest.mark.case("F100")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", ["jobctl.db", "jobctl.db-wal", "jobctl.db-shm", "jobd.lock", "."])
def test_what_root_left_behind_is_told_with_its_repair_and_nothing_is_run(daemon: RealDaemon, name: str) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    daemon.kill9()
    theirs = database(daemon).parent / name
    os.chown(theirs, 65534, 65534)

    refused = daemon.refused()

    assert refused.returncode == PERMISSION
    assert str(theirs) in refused.stderr
    assert "uid 65534" in refused.stderr
    repair = refused.stderr.splitlines()[-1].partition(": ")[2]
    subprocess.run(repair, shell=True, check=True)
    daemon.start()
    assert daemon.client.job("job")


# ── while it runs ──────────────────────────────────────────────
def test_a_state_folder_that_is_moved_away_is_noticed_and_taken_back(daemon: RealDaemon, tmp_path: Path) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 1})
    state = database(daemon).parent
    daemon.until(lambda: daemon.runs_of("job"))
    state.rename(tmp_path / "elsewhere")
    eventually(lambda: "moved, removed or replaced" in warnings(daemon))
    with pytest.raises(Unavailable, match="replaced"):
        daemon.run(["/bin/true"])
    ran = len(daemon.runs_of("job"))
    time.sleep(3)

    assert len(daemon.runs_of("job")) == ran
    assert not state.exists(), [*state.rglob("*")]
    (tmp_path / "elsewhere").rename(state)
    eventually(lambda: not warnings(daemon))
    daemon.until(lambda: len(daemon.runs_of("job")) > ran)
    assert daemon.log().count("disk.short") == 1


def test_a_database_that_is_replaced_by_another_one_is_noticed(daemon: RealDaemon, tmp_path: Path) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    other = tmp_path / "other.db"
    other.write_bytes(database(daemon).read_bytes())
    mine = tmp_path / "mine.db"
    database(daemon).rename(mine)
    other.rename(database(daemon))
    with pytest.raises(Unavailable, match="replaced"):
        daemon.run(["/bin/true"])
    mine.rename(database(daemon))
    eventually(lambda: not warnings(daemon))
    assert daemon.finished(daemon.run(["/bin/true"]))["state"] == "succeeded"


@pytest.mark.case("F085")
def test_another_writer_is_named_and_everything_goes_on_when_it_ends(daemon: RealDaemon) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 1})
    daemon.until(lambda: daemon.runs_of("job"))
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(database(daemon))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        began = time.monotonic()
        refusals = []
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                daemon.run(["/bin/true"])
            refusals.append(caught.value)
        took = time.monotonic() - began
        shown = warnings(daemon)
        holder.stdin.close()
    ran = daemon.finished(daemon.run(["/bin/true"]))

    assert took < 30
    assert {error.details["why"] for error in refusals} == {"locked"}
    assert all(f"(pid {holder.pid})" in error.message for error in refusals)
    assert f"(pid {holder.pid})" in shown
    assert ran["state"] == "succeeded"
    assert len(daemon.log().splitlines()) < 30


@pytest.mark.case("F087")
def test_a_reader_that_never_ends_is_named_and_the_log_shrinks_by_itself_when_it_does(daemon: RealDaemon) -> None:
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('BEGIN'); c.execute('SELECT count(*) FROM jobs').fetchall(); print('reads', flush=True); "
        "sys.stdin.read()"
    )
    log = Path(f"{database(daemon)}-wal")
    drafts: list[Json] = [{"target": {"shell": "true"}, "note": "x" * 900} for _ in range(500)]
    with subprocess.Popen(
        [sys.executable, "-c", script, str(database(daemon))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reads\n"
        index = 0
        while log.stat().st_size < 20 << 20:
            daemon.client.import_jobs([{**draft, "name": f"job-{index}-{at}"} for at, draft in enumerate(drafts)])
            index += 1
        eventually(lambda: f"(pid {reader.pid})" in warnings(daemon), 60)
        shown = warnings(daemon)
        reader.stdin.close()
    eventually(lambda: log.stat().st_size < 8 << 20, 60)
    eventually(lambda: not warnings(daemon), 5)
    before = looks(daemon), written(daemon)
    time.sleep(5)
    after = looks(daemon), written(daemon)

    assert " MB and cannot be emptied" in shown
    assert "at least" in shown
    assert after == before  # nobody looks after what is well
    assert daemon.log().count("log.blocked") == 1


def test_our_own_clients_never_keep_the_log_from_being_emptied(daemon: RealDaemon) -> None:
    """Five of them follow events, runs and a log, and read nothing of it: as if they were stopped."""
    log = Path(f"{database(daemon)}-wal")
    gates = Gates(daemon.home / "gates")
    run = daemon.until_says(daemon.run(gates.command("a")), b"begin")
    drafts: list[Json] = [{"target": {"shell": "true"}, "note": "x" * 900} for _ in range(500)]
    largest = written = 0
    with contextlib.ExitStack() as silent:
        paths = ("/v1/events?follow=1&snapshot=1", "/v1/events?follow=1&after=0", "/v1/runs?limit=1000",
                 f"/v1/runs/{run['id']}/log?follow=1", f"/v1/runs/{run['id']}?wait=60")  # fmt: skip
        for path in paths:
            caller = silent.enter_context(socket.socket(socket.AF_UNIX))
            caller.connect(daemon.socket)
            caller.sendall(f"GET {path} HTTP/1.1\r\nHost: jobd\r\n\r\n".encode())
        for batch in itertools.count():
            before = log.stat().st_size
            daemon.client.import_jobs([{**draft, "name": f"job-{batch}-{at}"} for at, draft in enumerate(drafts)])
            after = log.stat().st_size
            written += after - before if after > before else after
            largest = max(largest, after)
            if written >= 40 << 20:
                break
        gates.open("a")
    assert largest < 24 << 20
    assert not warnings(daemon)


def looks(daemon: RealDaemon) -> int:
    """How often it has looked after the disk and the log."""
    passes: int = daemon.client.status()["services"]["upkeep"]["beats"]
    return passes


def written(daemon: RealDaemon) -> dict[Path, int]:
    """When each file beside the database was written last."""
    return {path: path.stat().st_mtime_ns for path in database(daemon).parent.iterdir()}
