"""Whatever stands in one column of one row: it fails no read of the others, and is in plain view."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jobctl.states import RunState
from jobctl_daemon.rows import DeadFilter, JobFilter
from jobctl_daemon.store.sqlite import SqliteStore
from kit.stores import ADA, DAY, ROOT, T0, Rig, request, spec

pytestmark = pytest.mark.long

#: Tables of which a row is of one job or run.
TABLES = (
    "jobs",
    "schedule_versions",
    "cursors",
    "last_runs",
    "runs",
    "history",
    "attempts",
    "occurrences",
    "events",
    "streaks",
    "requests",
    "dependents",
    "replays",
    "queues",
    "owners",
)
SPOILS = {
    "no UTF-8": "CAST(x'41ff42c0' AS TEXT)",
    "another word": "'weird'",
    "nothing": "''",
    "far": "9000000000000000000",
    "below": "-9000000000000000000",
    "one": "1",
    "null": "NULL",
}


def columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as database:
        return [(table, column[1]) for table in TABLES for column in database.execute(f"PRAGMA table_info({table})")]


async def lived(folder: Path) -> Rig:
    """A store in which something of each kind is: the spoilt rows are those of the job "bad", and its runs."""
    rig = Rig(SqliteStore(folder / "jobctl.db"))
    await rig.begin()
    for name in ("good", "bad"):
        job = await rig.add(spec(name, notify=["mail"], tags=["x"]), next_ms=T0 + DAY)
        await rig.add(spec(f"{name}-after", after=job.id))
        await rig.finished(job.id, T0 - 9, state=RunState.FAILED)
        await rig.dead(job.id, T0 - 8)
        await rig.scheduled(job.id, T0 + DAY)
        await rig.ready(job.id, T0 - 6)
        (claim,) = await rig.claimed(job.id, T0 - 5)
        await rig.retrying(claim, T0 + DAY)
        await rig.ready(job.id, T0 - 4)
        await rig.claim()
        made = await rig.store.trigger(ADA, job.id, T0 + DAY, T0, request(key=name, verb="trigger"))
        assert made.fresh
        await rig.store.set_queue(f"{name}-queue", 3, T0)
        await rig.policies(job.id, note=name)
    return rig


def reads(rig: Rig) -> dict[str, Callable[[], Awaitable[Any]]]:
    """What people, programs and the daemon itself read of more than one job."""
    store, now_ms = rig.store, rig.now_ms
    return {
        "jobs": lambda: store.jobs(ROOT, JobFilter(limit=1000, done=True)),
        "runs": rig.runs,
        "dead": lambda: store.dead(ROOT, DeadFilter(limit=1000)),
        "groups": lambda: store.dead_groups(ROOT, DeadFilter(limit=1000)),
        "events": lambda: store.events(0, 10_000, None),
        "counts": lambda: store.counts(None, now_ms),
        "queues": lambda: store.queues(ROOT),
        "due": lambda: store.due(now_ms + 2 * DAY, None, 500),
        "wake": lambda: store.next_wake(now_ms),
        "pending": lambda: store.pending(now_ms + 2 * DAY, 500),
        "late": lambda: store.too_late(now_ms + 900 * DAY, 500),
        "running": store.running,
        "notices": lambda: store.notices(0, 1_000),
        "aged": lambda: store.aged(now_ms + 900 * DAY, 0, 500),
        "logs": lambda: store.log_bytes((0, 0), 500),
        "clock": store.clock,
        "ahead": lambda: store.ahead(now_ms - 900 * DAY, 0, 500),
        "good": lambda: store.job(ROOT, "good"),
    }


async def spoilt(rig: Rig, path: Path, table: str, column: str, value: str) -> bool:
    """Spoils the column of one row, past the checks; False where the schema itself refuses it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        (last,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
        key = "rowid"
        if "WITHOUT ROWID" in database.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]:
            key = ", ".join(row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[5])
        where = f"({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {max(0, last - 1)})"
        if table == "owners":
            where = "name = 'ada'"
        try:
            with database:
                changed = database.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}").rowcount
        except (sqlite3.IntegrityError, sqlite3.OperationalError):
            return False
    return changed == 1


@pytest.mark.case("F075")
@pytest.mark.parametrize("value", SPOILS)
async def test_a_spoilt_column_fails_no_read_and_no_step_of_the_others(tmp_path: Path, value: str) -> None:
    rig = await lived(tmp_path)
    path = tmp_path / "jobctl.db"
    await rig.store.close()
    whole = path.read_bytes()
    broken: list[str] = []
    tried = 0
    for table, column in columns(path):
        path.write_bytes(whole)
        rig.store = SqliteStore(path)
        await rig.store.open()
        try:
            if not await spoilt(rig, path, table, column, SPOILS[value]):
                continue
            tried += 1
            for name, read in reads(rig).items():
                try:
                    await read()
                except Exception as error:
                    broken.append(f"{table}.{column}: {name}: {type(error).__name__}: {error}")
        finally:
            await rig.store.close()
    assert broken == []
    assert tried > 20
