"""Copies of the live database, through SQLite's backup interface (sqlite.org/backup.html).

One read transaction lasts for the whole copy. Without it every commit of the writer would begin the copy anew; with it
the copy is the database as it was at one instant, and the writer goes on: only the write-ahead log is not emptied.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jobctl.errors import Damaged, InternalError, Unavailable
from jobctl_daemon.rows import Copied
from jobctl_daemon.store.sqlite.aside import Stop
from jobctl_daemon.store.sqlite.opening import connect_copy, create_private
from jobctl_daemon.store.sqlite.statements import load

SQL = load("backup")

#: Pages of one step, and bytes after which what was written is brought to the disk: the writer's own fsync must not
#: have to wait for the whole copy.
_STEP_PAGES: Final = 256
_FLUSH_BYTES: Final = 8 << 20
#: What stays free on the disk of the state folder while a copy lies there, and of a small one this share.
_SPARE_BYTES: Final = 32 << 20
_SPARE_SHARE: Final = 10
#: Copies in the making are called so; what bears the name at a start was left by a daemon that died.
PREFIX: Final = "copy-"
SUFFIX: Final = ".tmp"
#: Instructions of SQLite between two looks at whether anybody waits for the check.
_LOOK_EVERY: Final = 100_000


class Unsound(Exception):
    """A database is not what SQLite wrote; the words are SQLite's."""


def copy(source: sqlite3.Connection, target: Path, stop: Stop | None = None) -> Copied:
    """Copies a whole database into a new file of mode 0600, checks it and brings it to the disk.

    What cannot be finished is removed. The copy needs nothing beside it: it has no write-ahead log.
    """
    stop = stop or Stop()
    _must_fit(source, target)
    create_private(target)
    try:
        with contextlib.closing(connect_copy(target)) as made:
            made.set_progress_handler(stop.is_set, _LOOK_EVERY)
            with _snapshot(source):
                _copy_pages(source, made, target, stop)
            made.execute("PRAGMA journal_mode = DELETE")
            sound(made)
            copied = _described(made, target)
        _to_disk(target)
    except BaseException:
        discard(target)
        raise
    return copied


def copy_living(source: sqlite3.Connection, target: Path, stop: Stop) -> Copied:
    """The same of the daemon's database; `Damaged` when it is."""
    try:
        return copy(source, target, stop)
    except Unsound as error:
        raise Damaged(
            f"the database is damaged, so it is not copied: {error}",
            "stop the daemon and put a backup in its place: jobctl restore FILE",
        ) from error


def sound(connection: sqlite3.Connection) -> None:
    """Raises `Unsound` unless SQLite finds everything in its place."""
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise Unsound(f"{error}") from error
    if found != ["ok"]:
        raise Unsound("; ".join(found).replace("\n", ": "))


def discard(path: Path) -> None:
    """Removes a copy and what SQLite may have laid beside it."""
    for name in (f"{path}", f"{path}-journal", f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def discard_leftovers(folder: Path) -> None:
    """Removes copies that a daemon which died has left unfinished."""
    for path in sorted(folder.glob(f"{PREFIX}*{SUFFIX}*")):
        with contextlib.suppress(OSError):
            os.unlink(path)


@contextlib.contextmanager
def _snapshot(source: sqlite3.Connection) -> Iterator[None]:
    source.execute("BEGIN")
    try:
        source.execute(SQL.begin).fetchone()
        yield
    finally:
        source.execute("COMMIT")


def _copy_pages(source: sqlite3.Connection, made: sqlite3.Connection, target: Path, stop: Stop) -> None:
    page_bytes = source.execute("PRAGMA page_size").fetchone()[0]
    descriptor = os.open(target, os.O_RDWR | os.O_CLOEXEC)
    unflushed = 0

    def after_step(_status: int, _remaining: int, _total: int) -> None:
        nonlocal unflushed
        stop.check()
        unflushed += _STEP_PAGES * page_bytes
        if unflushed >= _FLUSH_BYTES:
            os.fdatasync(descriptor)
            unflushed = 0

    try:
        source.backup(made, pages=_STEP_PAGES, progress=after_step)
    finally:
        os.close(descriptor)


def _must_fit(source: sqlite3.Connection, target: Path) -> None:
    pages, page_bytes = (source.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    disk = os.statvfs(target.parent)
    needed = pages * page_bytes + min(_SPARE_BYTES, disk.f_blocks * disk.f_frsize // _SPARE_SHARE)
    free = disk.f_bavail * disk.f_frsize
    if free < needed:
        raise Unavailable(
            f"there is no room for a copy in {target.parent}: it takes {needed >> 20} MB, and {free >> 20} MB are free",
            "make room there",
        )


def _described(made: sqlite3.Connection, target: Path) -> Copied:
    schema, jobs, runs, at_ms = made.execute(SQL.described).fetchone()
    if not schema:
        raise InternalError("the copy has no schema", "please report it")
    return Copied(bytes=target.stat().st_size, schema=schema, jobs=jobs, runs=runs, newest_ms=at_ms)


def _to_disk(target: Path) -> None:
    for path, flags in ((target, os.O_RDWR), (target.parent, os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(path, flags | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
