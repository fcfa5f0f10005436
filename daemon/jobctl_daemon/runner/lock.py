"""One living runner a name: flock on a file, held until the process dies and not inherited by commands."""

from __future__ import annotations

import fcntl
import os


class Held(Exception):
    """Another living runner has the name."""


class Lock:
    """A lock that is held."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: str) -> None:
        """Take the lock; raises Held."""
        self._path = path
        while True:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._descriptor)
                raise Held(path) from None
            # The last holder may have removed the file between our open and our lock.
            if _same(path, self._descriptor):
                return
            os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the file while it is still locked, then let go."""
        os.unlink(self._path)
        os.close(self._descriptor)


def is_held(path: str) -> bool:
    """Tell whether some living process holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _same(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False
