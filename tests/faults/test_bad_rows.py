"""Rows that a disk, or a hand in the file, has spoilt: each harms itself alone, and can be seen, mended and removed."""

import itertools
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jobctl.reading.times import milliseconds
from kit.daemon import RealDaemon, real_daemon
from kit.marks import Marks

HEALTHY = ("one", "two", "three")
_DEFINITION = "UPDATE schedule_versions SET {column} = {value} WHERE job_id = :job"
_POLICY = "UPDATE jobs SET policies = json_set(policies, '$.{name}', {value}) WHERE id = :job"
_RUN = """INSERT INTO runs (job_id, owner_id, version, key, slot_ms, due_ms, trigger, priority, state, gate)
          SELECT {job}, owner_id, {version}, 'x:1', 1, 1, '{trigger}', 0, '{state}', {job} FROM jobs WHERE id = :job"""


def definition(column: str, value: str) -> str:
    return _DEFINITION.format(column=column, value=value)


def part(column: str, name: str, value: str) -> str:
    return definition(column, f"json_set({column}, '$.{name}', {value})")


def policy(name: str, value: str) -> str:
    return _POLICY.format(name=name, value=value)


def run(job: str = "id", version: str = "version", trigger: str = "manual", state: str = "ready") -> str:
    return _RUN.format(job=job, version=version, trigger=trigger, state=state)


#: What is spoilt, by the name of its job.
PARKED = {
    "expression": part("schedule", "cron", "'* * *'"),
    "zone": part("schedule", "timezone", "'Mars/Olympus'"),
    "schedule-text": definition("schedule", "'garbage'"),
    "schedule-shape": definition("schedule", "'[1, 2]'"),
    "command-text": definition("execution", """'{"command": ['"""),
    "environment": part("execution", "env", """json('{"A": 1}')"""),
    "policies-text": "UPDATE jobs SET policies = 'garbage' WHERE id = :job",
    "overlap": policy("overlap", "'weird'"),
    "version": "UPDATE jobs SET version = 99 WHERE id = :job",
}
OTHERS = {
    "command-nothing": definition("execution", "'{}'"),
    "user": part("execution", "user", "'nobody-of-that-name'"),
    "retries": policy("retries", "-1"),
    "far-cursor": "UPDATE cursors SET next_nominal = 9000000000000000 WHERE job_id = :job",
    "old-cursor": "UPDATE cursors SET next_nominal = -9000000000000000, handled_ms = -9000000000000001 "
    "WHERE job_id = :job",
    "run-state": run(state="weird"),
    "run-trigger": run(trigger="weird"),
    "run-job": run(job="999 + id"),
    "run-version": run(version="77"),
    "owner": "UPDATE jobs SET owner_id = 99 WHERE id = :job",
    "no-utf8": "UPDATE jobs SET paused_why = CAST(x'41ff42c0' AS TEXT) WHERE id = :job",
    "no-utf8-schedule": definition("schedule", "CAST(x'41ff42c0' AS TEXT)"),
    "no-utf8-run": run(trigger="' || CAST(x'41ff' AS TEXT) || '"),
    "policies-nothing": "UPDATE jobs SET policies = '' WHERE id = :job",
}
#: Texts and fractions where a number belongs, and nothing where something does: the schema itself refuses them.
REFUSED = (
    "UPDATE cursors SET next_nominal = '2026-03-12 03:11:13'",
    "UPDATE cursors SET next_nominal = 1e400",
    "UPDATE cursors SET handled_ms = NULL",
    "UPDATE jobs SET policies = x'00ff'",
    "UPDATE runs SET due_ms = 'garbage'",
)


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def spoil(daemon: RealDaemon, ids: dict[str, int], statements: dict[str, str]) -> None:
    """Changes rows behind the daemon's back, past the checks of the schema."""
    with closing(sqlite3.connect(daemon.home / "state" / "jobctl.db")) as database, database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        for name, statement in statements.items():
            assert database.execute(statement, {"job": ids[name]}).rowcount == 1, name


@pytest.mark.case("F075")
@pytest.mark.parametrize("when", ["while it runs", "while it is dead"])
def test_spoilt_rows_harm_themselves_alone(daemon: RealDaemon, marks: Marks, when: str) -> None:
    spoils = PARKED | OTHERS
    for name in HEALTHY:
        daemon.add(name, marks.line(name), schedule={"every": 1}, overlap="allow", misfire="all")
    ids = {name: daemon.add(name, marks.line("bad"), schedule={"every": 1})["id"] for name in spoils}
    daemon.until(lambda: all(marks.all(name) for name in HEALTHY))
    if when == "while it is dead":
        daemon.kill9()
    spoil(daemon, ids, spoils)
    if when == "while it is dead":
        daemon.start()
    else:
        daemon.reload()
    counts = {name: len(marks.all(name)) for name in HEALTHY}
    daemon.until(lambda: all(len(marks.all(name)) >= count + 3 for name, count in counts.items()))

    daemon.until(lambda: len(list(daemon.client.jobs())) == len(HEALTHY) + len(spoils))
    jobs = {job["name"]: job for job in daemon.client.jobs()}
    status = daemon.client.status()
    assert jobs.keys() == {*HEALTHY, *spoils}
    assert {name: jobs[name]["state"] for name in PARKED} == dict.fromkeys(PARKED, "parked")
    assert all(jobs[name]["error"] for name in PARKED)
    assert not [warning for warning in status["warnings"] if "fails" in warning]
    assert status["jobs"]["parked"] >= len(PARKED) - 2  # a command is read only when it is started
    for words in (["ls"], ["runs"], ["status"], *(["show", name] for name in ("schedule-text", "far-cursor"))):
        shown = daemon.jobctl(*words)
        assert shown.returncode == 0, shown
    for name in ("schedule-text", "policies-text", "command-text", "version"):
        target = {"command": ["/bin/echo", "mended"]}
        mended = daemon.client.edit_job(name, {"schedule": {"every": 3600}, "target": target, "overlap": "skip"})
        assert (mended["state"] == "parked", mended["error"]) == (False, None)
        assert daemon.output(daemon.finished(daemon.triggered(name))) == b"mended\n"
    for name in spoils:
        daemon.client.delete_job(name)
    for name in HEALTHY:
        daemon.client.pause_job(name)
        slots = sorted(milliseconds(row["from"]) for row in daemon.ledger(name) if row["run_id"])
        assert {after - before for before, after in itertools.pairwise(slots)} == {1_000}
    parked = re.findall(r"event=job.parked.*?job_id=(\d+)|job_id=(\d+).*?event=job.parked", daemon.log())
    assert len(parked) == len(set(parked))
    assert "service.failed" not in daemon.log()


@pytest.mark.case("F075")
def test_the_schema_refuses_what_is_no_number_and_no_text(daemon: RealDaemon) -> None:
    daemon.add("job", ["/bin/true"], schedule={"every": 3600})
    daemon.stop()
    with closing(sqlite3.connect(daemon.home / "state" / "jobctl.db")) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(run().replace(":job", "1"))
        for statement in REFUSED:
            with pytest.raises(sqlite3.IntegrityError):
                database.execute(statement)
        database.rollback()
    daemon.start()
    assert daemon.finished(daemon.triggered("job"))["state"] == "succeeded"
