"""Migrations: applied whole or not at all; a file this program must not write is left as it is."""

import hashlib
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from jobctl.errors import Damaged, Unavailable, VersionMismatch
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.store.sqlite.migrate import Migration, check, migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_writer, create_private
from kit.stores import ADA, T0, spec

#: The number of the step after all that are shipped.
LATER = len(shipped()) + 1


def files_of(folder: Path) -> dict[str, str]:
    """The contents of everything in a folder, as hashes."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


async def made(folder: Path) -> Path:
    """A database of this program, closed."""
    path = folder / "jobctl.db"
    store = SqliteStore(path)
    await store.open()
    await store.create_job(ADA, spec(), T0, T0, None)
    await store.close()
    return path


def change(path: Path, statement: str, *parameters: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, parameters)
    connection.commit()
    connection.close()


def crashed_copy(path: Path, folder: Path, statement: str, *parameters: object) -> Path:
    """The files as a crash leaves them: the change is only in the write-ahead log."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(statement, parameters)
    connection.commit()
    folder.mkdir()
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        (folder / name).write_bytes((path.parent / name).read_bytes())
    connection.close()
    return folder / path.name


async def test_a_new_database_has_every_step_and_belongs_to_its_user_alone(tmp_path: Path) -> None:
    path = await made(tmp_path)
    connection = sqlite3.connect(path)
    stamps = connection.execute("SELECT number, name, checksum FROM migrations").fetchall()
    connection.close()
    assert stamps == [(step.number, step.name, step.checksum) for step in shipped()]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_database_is_opened_again_and_again(tmp_path: Path) -> None:
    path = await made(tmp_path)
    for _ in range(2):
        store = SqliteStore(path)
        await store.open()
        assert (await store.job(ADA, "backup")).name == "backup"
        await store.close()
    assert files_of(tmp_path).keys() == {"jobctl.db"}


@pytest.mark.case("F133")
async def test_a_newer_schema_is_refused_untouched(tmp_path: Path) -> None:
    path = await made(tmp_path)
    change(path, "INSERT INTO migrations VALUES (?, 'later', 'x', '9.9')", LATER)
    before = files_of(tmp_path)
    with pytest.raises(VersionMismatch, match=f"schema {LATER}") as caught:
        await SqliteStore(path).open()
    assert "newer" in caught.value.hint
    assert files_of(tmp_path) == before


@pytest.mark.case("F133")
async def test_a_newer_schema_in_the_log_of_a_crash_is_refused_untouched(tmp_path: Path) -> None:
    path = await made(tmp_path)
    newer = crashed_copy(path, tmp_path / "crash", "INSERT INTO migrations VALUES (?, 'later', 'x', '9.9')", LATER)
    before = files_of(newer.parent)
    assert before.keys() == {"jobctl.db", "jobctl.db-wal", "jobctl.db-shm"}
    with pytest.raises(VersionMismatch, match=f"schema {LATER}"):
        await SqliteStore(newer).open()
    assert files_of(newer.parent) == before


#: What a rollback, or a hand in the file, makes of what says which version made it.
VERSIONS: dict[str, list[str]] = {
    "newer": [f"INSERT INTO migrations VALUES ({LATER}, 'later', 'x', '9.9')"],
    "newer, with a column and a table": [
        f"INSERT INTO migrations VALUES ({LATER}, 'later', 'x', '9.9')",
        "ALTER TABLE jobs ADD COLUMN later TEXT",
        "CREATE TABLE later (x INTEGER)",
    ],
    "user_version": ["PRAGMA user_version = 7"],
    "negative user_version": ["PRAGMA user_version = -1"],
    "empty": ["DELETE FROM migrations"],
    "minus one": ["UPDATE migrations SET number = -1 WHERE number = 1"],
    "null": [
        "DROP TABLE migrations",
        "CREATE TABLE migrations (number, name, checksum, program)",
        "INSERT INTO migrations VALUES (NULL, NULL, NULL, NULL)",
    ],
    "text": [
        "DROP TABLE migrations",
        "CREATE TABLE migrations (number, name, checksum, program)",
        "INSERT INTO migrations VALUES ('one', 'first', 'x', '0.1')",
    ],
    "other columns": ["DROP TABLE migrations", "CREATE TABLE migrations (version INTEGER)"],
    "no table": ["DROP TABLE migrations"],
}


@pytest.mark.parametrize("kind", VERSIONS)
@pytest.mark.parametrize("crashed", [False, True], ids=["closed", "crashed"])
async def test_a_version_that_is_not_ours_is_refused_before_any_write(tmp_path: Path, kind: str, crashed: bool) -> None:
    path = await made(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        for statement in VERSIONS[kind]:
            connection.execute(statement)
        if crashed:
            (tmp_path / "crash").mkdir()
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                (tmp_path / "crash" / name).write_bytes((tmp_path / name).read_bytes())
            path = tmp_path / "crash" / path.name
    before = files_of_kind(path)

    with pytest.raises(VersionMismatch) as caught:
        await SqliteStore(path).open()

    assert str(path) in caught.value.message
    assert caught.value.hint
    assert files_of_kind(path) == before
    assert (f"{path.name}-wal" in before) == crashed


def files_of_kind(path: Path) -> dict[str, str]:
    """The database and what lies beside it, as hashes."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in path.parent.glob("jobctl.db*")}


@pytest.mark.parametrize("number", range(1, LATER))
async def test_a_changed_step_is_refused_untouched(tmp_path: Path, number: int) -> None:
    path = await made(tmp_path)
    change(path, "UPDATE migrations SET checksum = 'tampered' WHERE number = ?", number)
    before = files_of(tmp_path)
    with pytest.raises(VersionMismatch, match=f"another schema step {number}"):
        await SqliteStore(path).open()
    assert files_of(tmp_path) == before


@pytest.mark.case("F133")
async def test_a_gap_in_the_steps_is_refused(tmp_path: Path) -> None:
    path = await made(tmp_path)
    steps = (*shipped(), Migration(LATER, "later", "SELECT 1;"), Migration(LATER + 1, "last", "SELECT 1;"))
    change(path, "INSERT INTO migrations VALUES (?, 'last', ?, '1')", LATER + 1, steps[-1].checksum)
    with pytest.raises(VersionMismatch, match=rf"{LATER - 1}, {LATER + 1}\]"):
        check(path, steps)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
async def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "jobctl.db"
    path.write_bytes(content)
    with pytest.raises(Damaged, match="cannot be read") as caught:
        await SqliteStore(path).open()
    assert "jobctl restore" in caught.value.hint
    assert files_of(tmp_path) == {"jobctl.db": hashlib.sha256(content).hexdigest()}


async def test_a_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "jobctl.db"
    change(path, "CREATE TABLE theirs (x)")
    before = files_of(tmp_path)
    with pytest.raises(VersionMismatch, match="another program"):
        await SqliteStore(path).open()
    assert files_of(tmp_path) == before


def test_a_step_that_fails_leaves_nothing_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "jobctl.db"
    create_private(path)
    connection = connect_writer(path)
    assert migrate(connection, path, shipped()) == len(shipped())
    broken = Migration(LATER, "later", "CREATE TABLE extra (x) STRICT;\nINSERT INTO nowhere VALUES (1);\n")
    before = connection.execute("SELECT sql FROM sqlite_schema").fetchall()
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, path, (*shipped(), broken))
    assert connection.execute("SELECT sql FROM sqlite_schema").fetchall() == before
    assert not connection.in_transaction
    good = Migration(LATER, "later", "CREATE TABLE extra (x INTEGER) STRICT;\n")
    assert migrate(connection, path, (*shipped(), good)) == 1
    assert migrate(connection, path, (*shipped(), good)) == 0
    connection.close()


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be opened") as caught:
        await SqliteStore(tmp_path / "nowhere" / "jobctl.db").open()
    assert "state folder" in caught.value.hint


@pytest.mark.case("F095")
async def test_an_open_that_is_refused_leaves_no_thread_behind(tmp_path: Path) -> None:
    path = await made(tmp_path)
    change(path, "INSERT INTO migrations VALUES (?, 'later', 'x', '9.9')", LATER)
    before = threading.active_count()
    store = SqliteStore(path)
    with pytest.raises(VersionMismatch):
        await store.open()
    for thread in threading.enumerate()[before:]:
        thread.join(10)
    assert threading.active_count() == before
    await store.close()
