"""A caller that goes away in the middle leaves no transaction open; what it asked for is done wholly or not at all."""

import asyncio
import contextlib
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from jobctl_daemon.rows import DeadFilter, Replay, RunFilter
from jobctl_daemon.store import Store
from jobctl_daemon.store.sqlite import SqliteStore
from kit.stores import ADA, MINUTE, ROOT, T0, Rig, spec

ROUNDS = 1_000


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(SqliteStore(tmp_path / "jobctl.db"))
    await made.begin()
    try:
        yield made
        await made.check()
    finally:
        await made.store.close()


def can_be_written(path: Path) -> None:
    """Nobody holds the file: another program may write at once."""
    with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as other:
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


@pytest.mark.case("F094")
async def test_a_thousand_cancelled_calls_leave_nothing_half_done(rig: Rig, tmp_path: Path) -> None:
    store, chance = rig.store, random.Random(3)
    job = await rig.add()
    asked: list[str] = []

    def calls(index: int) -> list[Callable[[], Awaitable[object]]]:
        name = f"job-{index}"
        asked.append(name)
        return [
            lambda: store.create_job(ADA, spec(name), T0 + MINUTE, T0, None),
            lambda: store.trigger(ROOT, job.id, T0, T0, None),
            lambda: rig.look(),
            lambda: rig.claim(3),
            lambda: store.pause_job(ROOT, job.id, "ada", None, None, T0),
            lambda: store.resume_job(ROOT, job.id, False, T0),
            lambda: store.replay(ADA, DeadFilter(), Replay(by="ada"), T0, None),
            lambda: store.runs(ROOT, RunFilter(limit=100)),
            lambda: store.counts(ROOT, T0),
        ]

    cancelled = 0
    for index in range(ROUNDS):
        tasks = [asyncio.ensure_future(call()) for call in chance.sample(calls(index), 3)]
        await asyncio.wait(tasks, timeout=chance.uniform(0, 0.005))
        for task in tasks:
            cancelled += task.cancel()
        for task in tasks:
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await task
        if index % 100 == 99:
            await store.meta()
            await asyncio.to_thread(can_be_written, tmp_path / "jobctl.db")
            assert not await _in_transaction(store)

    assert cancelled > ROUNDS / 4
    assert not await _in_transaction(store)
    made = {row["name"] for row in await rig.rows("SELECT name FROM jobs")}
    whole = "SELECT name FROM jobs j JOIN schedule_versions v ON v.job_id = j.id JOIN cursors c ON c.job_id = j.id"
    assert {row["name"] for row in await rig.rows(whole)} == made
    told = "SELECT count(*) AS count FROM events WHERE kind = 'job.created'"
    assert (await rig.rows(told))[0]["count"] == len(made)
    assert made - {"backup"} <= set(asked)


async def _in_transaction(store: Store) -> bool:
    assert isinstance(store, SqliteStore)
    writer = await store._writer._thread.call(lambda connection: connection.in_transaction)
    return writer or await store._reader.call(lambda connection: connection.in_transaction)
