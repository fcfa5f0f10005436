"""A file that holds room back for the day on which the disk is full.

It is given up piece by piece, each to one transaction that is tried again at once: whoever fills the disk gets little
of it.
"""

import contextlib
import os
from typing import Final

_PIECES: Final = 8
_BLOCK: Final = 512
_CHUNK: Final = 1 << 20


class Reserve:
    """Nothing is open between two calls, so nothing is inherited and a removed file frees its blocks."""

    def __init__(self, path: str, wanted: int) -> None:
        self.path = path
        self.wanted = wanted

    @property
    def piece(self) -> int:
        """The bytes that are given up at once."""
        return max(1, self.wanted // _PIECES)

    def held(self) -> int:
        """The bytes that are really allocated; 0 where there is no file."""
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return 0
        return min(found.st_size, found.st_blocks * _BLOCK)

    def whole(self) -> bool:
        """Whether all of it is there."""
        return self.held() >= self.wanted

    def make(self) -> None:
        """Allocates what is missing; OSError when the disk refuses, and then what was there before is there still."""
        before = self.held()
        if before >= self.wanted:
            return
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, self.wanted)
            if os.fstat(descriptor).st_blocks * _BLOCK < self.wanted:
                _fill(descriptor, self.wanted)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, before)
            raise
        finally:
            os.close(descriptor)

    def give(self) -> bool:
        """Frees one piece of it; False when there is nothing left."""
        held = self.held()
        if held <= 0:
            return False
        left = max(0, held - self.piece)
        try:
            if left:
                os.truncate(self.path, left)
            else:
                os.unlink(self.path)
        except OSError:
            return False
        return True


def take(path: str, size: int) -> None:
    """Allocates at the end of a file what has just come free, or as much of it as nobody else was quicker to take.

    For SQLite's write-ahead log: it is never locked, and what lies behind its last frame is not looked at
    (sqlite.org/walformat.html).
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for share in (1, 2, 4, 8):
                with contextlib.suppress(OSError):
                    os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, size // share)
                    return
        finally:
            os.close(descriptor)


def _fill(descriptor: int, size: int) -> None:
    """For filesystems that promise room and do not keep it, or that store zeros as nothing."""
    at = 0
    while at < size:
        at += os.pwrite(descriptor, os.urandom(min(_CHUNK, size - at)), at)
    os.fsync(descriptor)
