"""Who holds SQLite's locks is read from the kernel's table, and nothing is opened for it."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from jobctl_daemon.store.sqlite.holders import readers, writers

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
connection.execute("SELECT count(*) FROM note").fetchall()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "jobctl.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE note (x)")
        connection.commit()
    return path


@pytest.mark.parametrize(("begin", "who"), [("BEGIN IMMEDIATE", writers), ("BEGIN", readers)])
def test_another_program_is_named_while_it_holds_a_lock(database: Path, begin: str, who: object) -> None:
    assert callable(who)
    with (
        closing(sqlite3.connect(database)) as own,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(database), begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        own.execute("INSERT INTO note VALUES (1)") if begin == "BEGIN" else own.execute("SELECT * FROM note")
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        named = who(database)
        other.stdin.close()
        other.wait(10)
        after = who(database)

    assert len(named) == 1
    assert f"(pid {other.pid})" in named[0]
    assert after == ()


def test_what_is_not_there_or_not_understood_names_nobody(tmp_path: Path) -> None:
    assert readers(tmp_path / "nowhere.db") == ()
    (tmp_path / "x.db-shm").write_bytes(b"")
    found = (tmp_path / "x.db-shm").stat()
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    (tmp_path / "locks").write_text(
        f"garbage\n1: POSIX  ADVISORY  READ  1 {place} 128 128\n2: -> POSIX  ADVISORY  READ  1 {place} 123 123\n"
        f"3: FLOCK  ADVISORY  WRITE 1 {place} 0 EOF\n4: POSIX  ADVISORY  READ  0 {place} 124 124\n"
    )
    assert readers(tmp_path / "x.db", str(tmp_path / "locks")) == ("a program that this host does not see",)
    assert writers(tmp_path / "x.db", str(tmp_path / "locks")) == ()
