"""A database of every schema so far, made by the program of its time, and a file of jobs of every version of its
format, under today's program (tests/data/schemas, tests/data/jobfiles)."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from jobctl.jobfiles.keys import VERSION
from jobctl.jobfiles.read import read
from jobctl_daemon.store.sqlite.migrate import shipped
from kit.daemon import RealDaemon, real_daemon
from kit.invariants import invariants

KEPT = Path(__file__).parents[1] / "data" / "schemas"
FILES = KEPT.parent / "jobfiles"
#: Every step is followed by another one, but for the newest: that is today's program.
OLD = [step.number for step in shipped()[:-1]]


def unpacked(number: int, path: Path) -> Path:
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    path.write_bytes(gzip.decompress((KEPT / f"{number:04}.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


def checked(path: Path) -> None:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        invariants(connection, limits=False)
    finally:
        connection.close()


def test_every_schema_has_its_database() -> None:
    there = sorted(int(path.name[:4]) for path in KEPT.glob("*.db.gz"))
    assert set(OLD) <= set(there)
    assert there == list(range(1, len(there) + 1))


@pytest.mark.parametrize("number", sorted(int(path.name[:4]) for path in KEPT.glob("*.db.gz")))
def test_an_old_database_is_brought_to_today_and_its_jobs_run(tmp_path: Path, number: int) -> None:
    home = tmp_path / "h"
    database = unpacked(number, home / "state" / "jobctl.db")
    before = counted(database)
    with real_daemon(home) as daemon:
        jobs = {job["name"]: job["state"] for job in daemon.client.jobs()}
        assert jobs.keys() >= {"hourly", "nightly", "often", "paused", "later", "fails", "long", "overlapping"}
        assert (jobs["paused"], jobs["often"]) == ("paused", "paused")
        run = daemon.finished(daemon.triggered("fails"))
        assert (run["state"], run["exit_code"]) == ("dead" if number > 1 else "failed", 3)
        assert daemon.output(run) == b"no such table\n"
        assert daemon.until(lambda: lost(daemon))
        ended = [run for run in daemon.client.runs(state="failed,dead") if run["class"] == "exit_code"]
        assert "fails" in {run["job"] for run in ended}
        assert daemon.client.job("later")["next_run_at"] == "2126-01-01T00:00:00Z"
        daemon.stop()
        checked(database)
        after = counted(database)
        assert all(after[table] >= count for table, count in before.items() if table != "runs")
        daemon.start()
    kept = home / "state" / f"jobctl-schema-{number:04}.db"
    assert kept.exists() is (number < len(shipped()))


def lost(daemon: RealDaemon) -> bool:
    """What ran when the database was left is over: another boot, or no runner that knows it."""
    return all(run["node"] != "host" for run in daemon.client.runs(state="running"))


def counted(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = ("jobs", "history", "occurrences", "attempts", "schedule_versions", "runs")
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    finally:
        connection.close()


def test_every_version_of_files_of_jobs_has_its_file() -> None:
    there = sorted(path.name for path in FILES.glob("version-*.toml"))
    assert there == [f"version-{number}.toml" for number in range(1, VERSION + 1)]


@pytest.mark.parametrize("number", range(1, VERSION + 1))
def test_an_old_file_of_jobs_means_what_it_meant(number: int) -> None:
    """What each job asks for, down to the last key, was written down when the version was today's."""
    path = FILES / f"version-{number}.toml"
    file = read(path.name, path.read_bytes())
    assert file.problems == ()
    meant = json.loads(path.with_suffix(".json").read_text())
    found = [{"name": job.name, "draft": job.draft, "times": [*job.times]} for job in file.jobs]
    assert json.loads(json.dumps(found, default=str)) == meant


@pytest.mark.parametrize("number", [0, VERSION + 1, 99])
def test_a_file_of_jobs_of_another_version_is_refused_by_name_and_nothing_of_it_is_taken(number: int) -> None:
    text = (FILES / f"version-{VERSION}.toml").read_text().replace(f"version = {VERSION}", f"version = {number}")
    file = read("later.toml", text.encode())
    assert [(one.line, one.reason) for one in file.problems] == [
        (2, f"this file says version {number}, and this program reads version {VERSION}")
    ]
    assert "take a newer jobctl" in file.problems[0].hint
