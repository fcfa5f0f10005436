"""Opening the database file: who may see it, and the settings of its two connections."""

import ctypes
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from typing import Final
from urllib.parse import quote

from jobctl_daemon.store.sqlite.failures import Failure, damaged, kind_of

_BUSY_MS: Final = 5_000
_CACHE_KIB: Final = 8_192
#: The write-ahead log is cut to this size when it is emptied.
_LOG_KEPT_BYTES: Final = 16 << 20
_STATEMENTS: Final = 256
#: A text that is not UTF-8 (a bad disk, a hand in the file) is read all the same: it must not fail every read.
_TEXT: Final = methodcaller("decode", "utf-8", "replace")


def create_private(path: Path) -> None:
    """An empty file that only its owner can read, where there is none yet."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def connect_writer(path: Path) -> sqlite3.Connection:
    """The connection that writes, and the only one that checkpoints."""
    return _connect(
        f"{_uri(path)}?mode=rw",
        "journal_mode = WAL",
        "synchronous = FULL",
        "wal_autocheckpoint = 0",
        f"journal_size_limit = {_LOG_KEPT_BYTES}",
    )


def connect_reader(path: Path) -> sqlite3.Connection:
    """The connection of the reads. It cannot write, and a checkpoint by it could damage the file (SQLite < 3.51.3)."""
    return _connect(f"{_uri(path)}?mode=rw", "wal_autocheckpoint = 0", "query_only = ON")


def connect_untouching(path: Path) -> sqlite3.Connection:
    """A connection that leaves the file, and what lies beside it, as they are: to look before anything is decided."""
    log, shared = Path(f"{path}-wal"), Path(f"{path}-shm")
    if not log.exists() or log.stat().st_size == 0:
        return _connect(f"{_uri(path)}?mode=ro&immutable=1")
    # After a crash the newest pages are in the log; without write access to its index SQLite makes one in memory.
    return _connect(f"{_uri(path)}?mode=ro" + ("&readonly_shm=1" if shared.exists() else ""))


def connect_copy(path: Path) -> sqlite3.Connection:
    """The connection that fills a copy, which nobody else sees before it is whole: so it needs no journal."""
    return _connect(f"{_uri(path)}?mode=rw", "journal_mode = OFF", "synchronous = OFF")


def structure(path: Path) -> None:
    """Raises `Damaged` when pages of the file do not fit together. Reads all of it."""
    connection = connect_untouching(path)
    try:
        found = [words for (words,) in connection.execute("PRAGMA quick_check(3)")]
    finally:
        connection.close()
    if found != ["ok"]:
        raise damaged(f"the database {path} is damaged: {'; '.join(found)}")


def leave_open(connection: sqlite3.Connection) -> None:
    """Leaves it open until the process is gone, as if that had been killed.

    A last connection that is closed writes the log back into the file and removes it, whoever closes it: also the
    garbage collector, and the interpreter at its end. What keeps SQLite from that (`setconfig`) needs Python 3.12.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # one reference too many: it is never collected


def part(connection: sqlite3.Connection, error: BaseException) -> None:
    """Closes a connection that has failed; what is damaged is left as it is."""
    if kind_of(error) is Failure.DAMAGED:
        leave_open(connection)
    else:
        connection.close()


@contextmanager
def busy_timeout(connection: sqlite3.Connection, timeout_ms: int) -> Iterator[None]:
    """Waits at most so long for locks inside the block."""
    connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")


def _connect(uri: str, *settings: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, cached_statements=_STATEMENTS, check_same_thread=False
    )
    connection.text_factory = _TEXT
    try:
        for setting in (f"busy_timeout = {_BUSY_MS}", f"cache_size = -{_CACHE_KIB}", "temp_store = MEMORY", *settings):
            connection.execute(f"PRAGMA {setting}")
    except BaseException as error:
        part(connection, error)
        raise
    return connection


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}"
