"""Copies of the live database: whole, checked, closed to others, and nothing of those that were not finished."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict, Damaged, Unavailable, VersionMismatch
from jobctl_daemon.rows import Copied
from jobctl_daemon.store.sqlite import SqliteStore, backup, before_upgrade
from jobctl_daemon.store.sqlite.migrate import migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_writer, create_private
from kit.invariants import invariants
from kit.stores import ADA, T0, Rig, spec
from kit.tables import everything


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(SqliteStore(tmp_path / "jobctl.db"))
    await made.begin()
    yield made
    await made.store.close()


def names(folder: Path) -> set[str]:
    """What is there beside the database and its own files."""
    return {path.name for path in folder.iterdir() if not path.name.startswith("jobctl.db")}


def rows(path: Path) -> dict[str, list[dict[str, object]]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return everything(connection)
    finally:
        connection.close()


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in the smallest steps, each of them on the disk before the next."""
    monkeypatch.setattr(backup, "_STEP_PAGES", 1)
    monkeypatch.setattr(backup, "_FLUSH_BYTES", 1)


async def some_jobs(rig: Rig, count: int) -> None:
    specs = [(spec(f"job{number:04}", note="x" * 900), T0 + number) for number in range(count)]
    await rig.store.create_jobs(ADA, specs, T0)


async def test_a_copy_holds_everything_that_was_committed_and_needs_nothing_beside_it(rig: Rig, tmp_path: Path) -> None:
    await some_jobs(rig, 30)
    copied = await rig.store.copy(str(tmp_path / "out"))
    assert (copied.jobs, copied.runs, copied.schema) == (30, 0, len(shipped()))
    assert copied.bytes == (tmp_path / "out").stat().st_size
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == {"out"}
    assert rows(tmp_path / "out") == await rig.store._read(everything)  # type: ignore[attr-defined]
    connection = sqlite3.connect(tmp_path / "out")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
    invariants(connection)
    connection.close()
    assert names(tmp_path) == {"out"}


async def test_a_copy_that_is_whole_when_its_caller_goes_is_not_left_behind(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await some_jobs(rig, 3)
    whole, gone = asyncio.Event(), threading.Event()
    loop, to_disk = asyncio.get_running_loop(), backup._to_disk

    def late(target: Path) -> None:
        loop.call_soon_threadsafe(whole.set)
        assert gone.wait(10)
        to_disk(target)

    monkeypatch.setattr(backup, "_to_disk", late)
    copying = asyncio.create_task(rig.store.copy(str(tmp_path / "out")))
    await whole.wait()
    copying.cancel()
    gone.set()
    with pytest.raises(asyncio.CancelledError):
        await copying
    assert names(tmp_path) == set()


async def test_a_copy_is_that_of_one_instant_while_the_writer_goes_on(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch)
    await some_jobs(rig, 300)
    copying = asyncio.ensure_future(rig.store.copy(str(tmp_path / "out")))
    written = 0
    while not copying.done():
        await rig.store.create_job(ADA, spec(f"meanwhile{written}"), T0, T0, None)
        written += 1
    assert written > 3, "the writer waited for the copy"
    assert 300 <= (await copying).jobs < 300 + written
    assert len(rows(tmp_path / "out")["jobs"]) == (await copying).jobs


async def begun(copying: "asyncio.Future[Copied]", rig: Rig, target: Path) -> None:
    """Returns when there is something of the copy."""
    while not target.exists():
        assert not copying.done()
        await rig.store.meta()


async def test_a_copy_that_nobody_waits_for_any_more_leaves_nothing(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch)
    await some_jobs(rig, 300)
    copying = asyncio.ensure_future(rig.store.copy(str(tmp_path / "out")))
    await begun(copying, rig, tmp_path / "out")
    with pytest.raises(Conflict, match="a copy is under way"):
        await rig.store.copy(str(tmp_path / "second"))
    copying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await copying
    assert names(tmp_path) == set()
    assert (await rig.store.copy(str(tmp_path / "third"))).jobs == 300


async def test_a_store_that_closes_ends_a_copy_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch)
    rig = Rig(SqliteStore(tmp_path / "jobctl.db"))
    await rig.begin()
    await some_jobs(rig, 300)
    copying = asyncio.ensure_future(rig.store.copy(str(tmp_path / "out")))
    await begun(copying, rig, tmp_path / "out")
    await rig.store.close()
    with pytest.raises(Unavailable):
        await copying
    assert names(tmp_path) == set()


async def test_a_damaged_database_is_not_copied_as_if_it_were_sound(tmp_path: Path) -> None:
    path = tmp_path / "jobctl.db"
    rig = Rig(SqliteStore(path))
    await rig.begin()
    await some_jobs(rig, 100)
    await rig.store.close()
    damage(path)
    store = SqliteStore(path)
    await store.open()
    with pytest.raises(Damaged, match="damaged"):
        await store.copy(str(tmp_path / "out"))
    await store.close()
    assert names(tmp_path) == set()


def damage(path: Path) -> None:
    """An index that lacks its entries: everything can be read, and finds less than is there."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    empty = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_died'").fetchone()[0]
    connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'jobs_queue'", (empty,))
    connection.commit()
    connection.close()


def disk(monkeypatch: pytest.MonkeyPatch, size: int, free: int) -> None:
    """The disk is so large, and so much of it is free; both in MB."""
    blocks, left = size << 8, free << 8
    found = os.statvfs_result((4096, 4096, blocks, left, left, 10_000, 9_000, 9_000, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: found)


@pytest.mark.parametrize(("size", "free"), [(1_000_000, 32), (50, 5)])
async def test_where_there_is_no_room_nothing_is_begun(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, free: int
) -> None:
    disk(monkeypatch, size, free)
    with pytest.raises(Unavailable, match=f"no room for a copy in .*, and {free} MB are free"):
        await rig.store.copy(str(tmp_path / "out"))
    assert names(tmp_path) == set()


async def test_a_small_disk_need_not_be_empty_for_a_copy(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk(monkeypatch, 50, 7)
    assert (await rig.store.copy(str(tmp_path / "out"))).jobs == 0


async def test_copies_that_a_dead_daemon_left_unfinished_go_with_the_next_start(rig: Rig, tmp_path: Path) -> None:
    await rig.store.close()
    for name in ("copy-x.tmp", "copy-x.tmp-journal"):
        (tmp_path / name).write_bytes(b"half")
    await rig.store.open()
    assert names(tmp_path) == set()


# ── before an upgrade ──────────────────────────────────────────────


def of_schema(path: Path, number: int) -> None:
    create_private(path)
    connection = connect_writer(path)
    migrate(connection, path, shipped()[:number])
    connection.execute("INSERT INTO meta VALUES ('mark', ?)", (f"of {number}",))
    connection.close()


def mark(path: Path) -> tuple[str, int]:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        (value,) = connection.execute("SELECT value FROM meta WHERE key = 'mark'").fetchone()
        return value, connection.execute("SELECT max(number) FROM migrations").fetchone()[0]
    finally:
        connection.close()


@pytest.mark.case("F098")
async def test_an_upgrade_of_the_schema_keeps_the_database_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "jobctl.db"
    of_schema(path, 1)
    for _ in range(2):
        store = SqliteStore(path)
        await store.open()
        await store.close()
    assert names(tmp_path) == {"jobctl-schema-0001.db"}
    assert mark(tmp_path / "jobctl-schema-0001.db") == ("of 1", 1)
    assert mark(path) == ("of 1", len(shipped()))
    assert (tmp_path / "jobctl-schema-0001.db").stat().st_mode & 0o777 == 0o600


async def test_a_damaged_database_is_not_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "jobctl.db"
    of_schema(path, 1)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    other = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'cursors_parked'").fetchone()[0]
    connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'meta'", (other,))
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(Damaged):
        await SqliteStore(path).open()
    assert names(tmp_path) == set()
    assert path.read_bytes() == before


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "jobctl.db"
    of_schema(path, 2)
    connection = connect_writer(path)
    for number in (7, 5, 8, 8):
        before_upgrade.keep(connection, path, number)
    connection.close()
    assert names(tmp_path) == {"jobctl-schema-0007.db", "jobctl-schema-0008.db"}
    assert before_upgrade.newest_up_to(path, 7) == tmp_path / "jobctl-schema-0007.db"
    assert before_upgrade.newest_up_to(path, 6) is None


@pytest.mark.case("F133")
async def test_who_meets_a_newer_schema_is_told_of_the_copy_made_at_the_upgrade(tmp_path: Path) -> None:
    path, newest = tmp_path / "jobctl.db", len(shipped())
    of_schema(path, newest)
    connection = connect_writer(path)
    before_upgrade.keep(connection, path, newest)
    connection.execute("INSERT INTO migrations VALUES (?, 'later', 'x', '9.9')", (newest + 1,))
    connection.close()
    with pytest.raises(VersionMismatch, match=f"schema {newest + 1}, this program knows {newest}") as caught:
        await SqliteStore(path).open()
    assert f"jobctl restore {tmp_path}/jobctl-schema-{newest:04}.db" in caught.value.hint


@pytest.mark.case("F133")
@pytest.mark.parametrize("statement", ["DELETE FROM migrations", "UPDATE migrations SET number = -1 WHERE number = 1"])
async def test_a_list_of_schema_steps_that_makes_no_sense_is_refused_untouched(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "jobctl.db"
    of_schema(path, len(shipped()))
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(VersionMismatch):
        await SqliteStore(path).open()
    assert names(tmp_path) == set()
    assert path.read_bytes() == before
