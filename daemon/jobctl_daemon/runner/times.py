"""When a log grew: now and then its size with the time, in a small file beside it, so that lines can be given times.

A record says that by its time so many bytes had been written. A command that is over within a second leaves none: its
start and its end say enough.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Bytes written, and the wall time in ms UTC.
RECORD = struct.Struct("<qq")
#: A file holds so many at most (16 KiB); then every other one goes, and from then on they come half as often.
MOST = 1024
_APART_MS = 1000
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def path_of(log: bytes) -> bytes:
    """Return where the times of a log are kept."""
    return log.removesuffix(b".log") + b".times"


class Times:
    """Of one log. What cannot be written is left out: no command suffers for it."""

    __slots__ = ("_apart_ms", "_count", "_path", "_size", "_wall_ms", "_written_ms")

    def __init__(self, log: bytes, wall_ms: Callable[[], int]) -> None:
        self._path = path_of(log)
        self._wall_ms = wall_ms
        self._apart_ms = _APART_MS
        self._count = 0
        self._size = 0
        self._written_ms: int | None = None

    def note(self, size: int) -> None:
        """Tell how long the log is now. Costs nothing while it does not grow."""
        if size == self._size:
            return
        now_ms = self._wall_ms()
        if self._written_ms is None:
            self._written_ms = now_ms
        # A clock that was set back makes no pause of hours.
        if 0 <= now_ms - self._written_ms < self._apart_ms and size > self._size:
            return
        anew = size < self._size
        with suppress(OSError):
            self._write(size, now_ms, anew=anew)
        self._size, self._written_ms = size, now_ms

    def recall(self) -> None:
        """Go on where a runner that died has stopped."""
        try:
            records = self._read()
        except OSError:
            return
        self._count = len(records)
        if records:
            self._size, self._written_ms = records[-1]

    def _write(self, size: int, now_ms: int, *, anew: bool) -> None:
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            if anew:
                self._count, self._apart_ms = 0, _APART_MS
                os.ftruncate(descriptor, 0)
            elif self._count >= MOST:
                self._thin(descriptor)
            os.pwrite(descriptor, RECORD.pack(size, now_ms), self._count * RECORD.size)
            self._count += 1
        finally:
            os.close(descriptor)

    def _thin(self, descriptor: int) -> None:
        every = list(RECORD.iter_unpack(os.pread(descriptor, MOST * RECORD.size, 0)))
        kept = every[1::2]
        os.pwrite(descriptor, b"".join(RECORD.pack(*record) for record in kept), 0)
        os.ftruncate(descriptor, len(kept) * RECORD.size)
        self._count = len(kept)
        self._apart_ms *= 2

    def _read(self) -> list[tuple[int, int]]:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            data = os.pread(descriptor, MOST * RECORD.size, 0)
        finally:
            os.close(descriptor)
        whole = len(data) - len(data) % RECORD.size
        return [(size, at_ms) for size, at_ms in RECORD.iter_unpack(data[:whole])]
