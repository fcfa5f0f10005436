"""`jobctl doctor --deep` over a real daemon: it finds what is broken, says where, and holds nobody up."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict
from jobctl_daemon.api import doctor
from jobctl_daemon.store.sqlite import SqliteStore, invariants
from jobctl_daemon.store.sqlite.aside import Stop
from jobctl_daemon.store.sqlite.inspect import engine, inspect
from kit.daemon import RealDaemon, real_daemon
from kit.stores import ADA, T0, Rig, spec


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d") / "h") as started:
        yield started


def found(daemon: RealDaemon, check: str, *, deep: bool = True) -> list[tuple[str, str]]:
    items = daemon.client.doctor(deep=deep)
    return [(one["level"], one["text"]) for one in items if one["check"] == check]


def test_a_sound_daemon_has_nothing_to_tell(daemon: RealDaemon) -> None:
    daemon.add("a", "true")
    daemon.finished(daemon.triggered("a"))
    running = daemon.run("exec sleep 100")
    daemon.state(running, "running")
    assert [level for level, _ in found(daemon, "records")] == ["ok"]
    assert [level for level, _ in found(daemon, "claims")] == ["ok"]
    assert [level for level, _ in found(daemon, "logs")] == ["ok"]
    assert [level for level, _ in found(daemon, "files")] == ["ok"]
    assert found(daemon, "records", deep=False) == []
    assert daemon.jobctl("doctor", "--deep").returncode == 0
    daemon.client.kill_run(running["id"])
    daemon.finished(running)


def test_a_broken_rule_is_told_with_its_rows(daemon: RealDaemon) -> None:
    daemon.add("b", "true")
    run = daemon.finished(daemon.triggered("b"))
    changed(daemon, "UPDATE history SET version = version + 7 WHERE id = ?", run["id"])
    try:
        ((level, text),) = found(daemon, "records")
        assert level == "bad"
        assert f"run {run['id']}: " in text
        assert "a run's version is one of its job" in text
        done = daemon.jobctl("doctor", "--deep")
        assert done.returncode == 1
        assert "please report it" in done.stdout
    finally:
        changed(daemon, "UPDATE history SET version = version - 7 WHERE id = ?", run["id"])
    assert [level for level, _ in found(daemon, "records")] == ["ok"]


def test_a_run_that_no_runner_knows_is_told(daemon: RealDaemon) -> None:
    """The daemon itself settles such a thing when it looks; here it has had no reason to."""
    running = daemon.run("exec sleep 100")
    daemon.state(running, "running")
    database = daemon.home / "state" / "jobctl.db"
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE runs SET fence = fence + 1 WHERE id = ?", (running["id"],))
        fence = connection.execute("SELECT fence FROM runs WHERE id = ?", (running["id"],)).fetchone()[0]
    told = dict(found(daemon, "claims"))
    assert f"running, and no runner knows them: {running['id']}-{fence}" in told["bad"]
    assert f"held by runners, and no run knows them: {running['id']}-{fence - 1}" in told["warn"]
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE runs SET fence = fence - 1 WHERE id = ?", (running["id"],))
    daemon.client.kill_run(running["id"])
    daemon.finished(running)


def test_logs_files_and_backups_are_looked_at(daemon: RealDaemon, tmp_path: Path) -> None:
    state = daemon.home / "state"
    stray = state / "runs" / "0" / "999-7.log"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"x")
    assert found(daemon, "logs") == [("note", "1 of no attempt that is known: 999-7")]
    stray.unlink()
    (state / "jobctl.db").chmod(0o644)
    assert found(daemon, "files", deep=False) == [("bad", "jobctl.db is open to others, mode 0644")]
    (state / "jobctl.db").chmod(0o600)
    assert found(daemon, "backup", deep=False) == []
    assert daemon.jobctl("backup", str(tmp_path / "out.db")).returncode == 0
    ((level, text),) = found(daemon, "backup", deep=False)
    assert (level, str((tmp_path / "out.db").stat().st_size) in text) == ("ok", True)


def changed(daemon: RealDaemon, statement: str, *values: object) -> None:
    """By a hand in the file, while nobody else has it."""
    daemon.stop()
    with contextlib.closing(sqlite3.connect(daemon.home / "state" / "jobctl.db")) as connection, connection:
        connection.execute(statement, values)
    daemon.start()


# ── the rules ──────────────────────────────────────────────

#: A statement that breaks each rule, in a database with one job, a run of each state, and all limits on one.
BREAKS = {
    "active_and_finished": "UPDATE history SET id = (SELECT min(id) FROM runs)",
    "one_run_each": "UPDATE history SET key = (SELECT key FROM runs LIMIT 1)",
    "fence_of_newest": "UPDATE attempts SET fence = fence + 1 WHERE run_id IN (SELECT id FROM history)",
    "attempts_of_active": "UPDATE runs SET attempt = attempt + 1 WHERE state = 'running'",
    "attempts_of_finished": "DELETE FROM attempts",
    "version_of_job": "DELETE FROM schedule_versions",
    "suspended_by_nobody": "UPDATE jobs SET suspended = 1",
    "waits_though_held": "UPDATE jobs SET done = 1",
    "waits_for_left_out": "UPDATE cursors SET skip_until = next_nominal",
    "quarantined_unpaused": "UPDATE jobs SET quarantined = 1",
    "row_of_run": "UPDATE occurrences SET run_id = 999 WHERE run_id IS NOT NULL",
    "run_of_row": "UPDATE occurrences SET run_id = 999 WHERE run_id IS NOT NULL",
    "last_event": "UPDATE events SET kind = 'run.ready' WHERE kind = 'run.succeeded'",
    "ends_once": "INSERT INTO events (at_ms, kind, owner_id, job_id, run_id, data)"
    " SELECT at_ms, kind, owner_id, job_id, run_id, data FROM events WHERE kind = 'run.succeeded'",
    "follows_nobody": "INSERT INTO dependents VALUES (99, (SELECT min(id) FROM jobs), 'any')",
    "starts_though_held": "UPDATE jobs SET suspended = 1",
    "held_for_nothing": "UPDATE runs SET held = 1 WHERE state = 'scheduled'",
}


@pytest.fixture
async def lived(tmp_path: Path) -> Path:
    path = tmp_path / "jobctl.db"
    rig = Rig(SqliteStore(path))
    await rig.begin()
    job = await rig.add(spec("a"), ADA, T0)
    await rig.finished(job.id, T0 - 120_000)
    await rig.claimed(job.id, T0 - 60_000)
    await rig.scheduled(job.id, T0, next_ms=T0 + 60_000)
    await rig.store.close()
    return path


@pytest.mark.parametrize("rule", list(BREAKS))
@pytest.mark.parametrize("window", [1, invariants.WINDOW])
async def test_every_rule_finds_what_breaks_it_whatever_the_pieces(
    lived: Path, rule: str, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "WINDOW", max(20, window))
    with contextlib.closing(sqlite3.connect(lived)) as connection:
        assert inspect(connection, Stop()) == []
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(BREAKS[rule])
        connection.commit()
        sentence = next(each.sentence for each in invariants.RULES if each.statement == rule)
        broken = {one.sentence: one for one in inspect(connection, Stop())}
        assert sentence in broken
        assert sentence in {each.sentence for each, _ in invariants.broken(connection)}


def test_every_rule_has_its_statement_and_every_statement_its_rule() -> None:
    statements = {rule.statement for rule in invariants.RULES}
    assert len(statements) == len(invariants.RULES)
    assert set(invariants.SQL.texts) - statements == {"pruned", "highest", "lowest"}


async def test_a_damaged_index_is_told_by_its_table(lived: Path) -> None:
    with contextlib.closing(sqlite3.connect(lived)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        other = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_died'").fetchone()[0]
        connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'jobs_queue'", (other,))
        connection.commit()
    with contextlib.closing(sqlite3.connect(lived)) as connection:
        damaged = [one for one in inspect(connection, Stop()) if one.of == "table"]
    assert "jobs" in {one.where[0] for one in damaged}
    assert "missing from index jobs_queue" in damaged[0].sentence


async def test_one_long_look_at_a_time(lived: Path) -> None:
    store = SqliteStore(lived)
    await store.open()
    first = asyncio.ensure_future(store.inspect())
    await store.meta()
    if not first.done():
        with pytest.raises(Conflict, match="an inspection is under way"):
            await store.inspect()
    assert await first == []
    await store.close()


@pytest.mark.case("F088")
@pytest.mark.parametrize(("version", "sound"), [
    ((3, 40, 1), False), ((3, 50, 6), False), ((3, 50, 7), True), ((3, 51, 0), False), ((3, 51, 2), False),
    ((3, 51, 3), True), ((3, 52, 0), True), ((4, 0, 0), True),
])  # fmt: skip
def test_versions_with_a_known_fault_are_named(version: tuple[int, ...], sound: bool) -> None:
    name, fault = engine(version)
    assert name == f"SQLite {'.'.join(map(str, version))}"
    assert (fault is None) is sound
    found = doctor._engine(name, fault)  # of a store with one writer it is a fact, and nothing to do
    assert (found.level, found.hint, (fault or name) in found.text) == ("ok", "", True)
