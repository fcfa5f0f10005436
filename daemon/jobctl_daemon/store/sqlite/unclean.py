"""Whether the last daemon closed the database, and whether all of its files are still there if it did not.

While the database is open a file beside it holds its inode. When that file is found at a start, a daemon died; then
the write-ahead log must be there as well, because what was committed last may be in nothing else.
"""

import contextlib
import os
from pathlib import Path

from jobctl_daemon.store.sqlite.failures import damaged


def mark(path: Path) -> None:
    """The database is open. A full disk may refuse that; then the next start knows less, and nothing else."""
    with contextlib.suppress(OSError):
        place = _place(path)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, f"{os.stat(path).st_ino}\n".encode("ascii"), 0)
        finally:
            os.close(descriptor)


def unmark(path: Path) -> None:
    """It was closed in an orderly way."""
    with contextlib.suppress(OSError):
        os.unlink(_place(path))


def must_be_whole(path: Path) -> None:
    """Raises `Damaged` when what a dead daemon left behind lacks its database. Reads only."""
    log = _size(Path(f"{path}-wal"))
    marked = os.path.exists(_place(path))
    if not path.exists() and (marked or log):
        raise damaged(
            f"the database {path} is missing, although the daemon that had it open did not stop in order (to begin "
            f"with an empty one: rm {_place(path)} {path}-*)"
        )
    if path.exists() and path.stat().st_size == 0 and log:
        raise damaged(f"the database {path} is empty, although {path}-wal beside it holds {log} bytes")


def log_is_missing(path: Path) -> bool:
    """A daemon died, this is its file, and the write-ahead log is gone: somebody wrote it back, or deleted it."""
    try:
        with open(_place(path), encoding="ascii") as file:
            inode = int(file.read(32))
        return inode == os.stat(path).st_ino and not os.path.exists(f"{path}-wal")
    except (OSError, ValueError):
        return False


def _place(path: Path) -> str:
    return f"{path}-open"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
