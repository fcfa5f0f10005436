"""Keeps an attempt's log below its cap while it runs: the head and the tail stay, the middle goes."""

from __future__ import annotations

import errno
import os

from .clock import boot_s, wall_ms
from .punch import punch
from .times import Times

_PAGE = 4096
_COPY_BYTES = 1 << 20
# Copied at the end while all other commands wait: a tenth of a second. Holes that a command has made count as data.
_COMPACT_MOST = 64 << 20
# Between two looks a log may grow by so much of its cap, as far as its pace can be foreseen.
_ALLOWED_GROWTH = 4
_SHORTEST_LOOK_S = 0.005


class Output:
    """One log file. Offsets are logical: those of all that was ever written."""

    __slots__ = (
        "_file", "_grown", "_head", "_keep", "_looked_at", "_looked_size", "_pace", "_seen", "_times", "dropped_to",
        "hurries", "most", "path", "removed", "truncated",
    )  # fmt: skip

    def __init__(self, path: bytes, most: int) -> None:
        self.path = path
        self.most = most
        half = most // 2
        self._head = half - half % _PAGE
        self._keep = half
        self._seen = 0
        self._grown = False
        self._file: tuple[int, int] | None = None
        self._looked_at = boot_s()
        self._looked_size = 0
        self._pace = 0.0
        self._times = Times(path, wall_ms)
        self.dropped_to = 0
        self.hurries = False
        self.removed = False
        self.truncated = False

    @property
    def dropped_from(self) -> int | None:
        """Return where the missing middle begins, or None when nothing is missing."""
        return self._head if self.dropped_to else None

    def size(self) -> int:
        """Return the file's size now, in bytes; 0 when there is none."""
        found = self._stat()
        return found.st_size if found else 0

    def goes_to(self, descriptor: int) -> None:
        """Know the file from before the command can take it away."""
        found = os.fstat(descriptor)
        self._file = found.st_dev, found.st_ino

    def recall(self) -> None:
        """Find the hole a dead runner left, and how far it has noted times."""
        self._times.recall()
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        try:
            hole = os.lseek(descriptor, 0, os.SEEK_HOLE)
            if hole == self._head:
                self.dropped_to = os.lseek(descriptor, hole, os.SEEK_DATA)
        except OSError:
            pass
        finally:
            os.close(descriptor)

    def haste_s(self, longest_s: float) -> float | None:
        """Return how soon it has to be looked at again, in seconds; None when the usual time will do.

        A command can write gigabytes a second: the pace of the last look says when too much may have come together.
        """
        if self._pace * longest_s * _ALLOWED_GROWTH <= self.most:
            return None
        return max(_SHORTEST_LOOK_S, self.most / _ALLOWED_GROWTH / self._pace)

    def look(self, pid: int | None = None) -> bool:
        """Punch out the middle when the file holds too much; tell whether it grew. Raises OSError if that fails.

        pid is the process whose standard output it is: what it writes to a file that is gone counts as well.
        """
        found = self._stat()
        if found is None or self.removed:
            self._look_behind(pid)
            return False
        grew, self._grown = self._grown, False
        now = boot_s()
        self._pace = max(0, found.st_size - self._looked_size) / max(now - self._looked_at, 0.001)
        self._looked_at, self._looked_size = now, found.st_size
        self._times.note(found.st_size)
        if found.st_blocks * 512 > self.most + 2 * _PAGE:
            self._punch(found.st_size)
        return grew

    def finish(self, alone: bool) -> int:
        """Make the file small for good; return the logical size in bytes.

        While others still write to it (alone is false) the hole is left a hole: a new file would lose their words. So
        it is where too much would have to be copied for the runner's other commands to wait.
        """
        found = self._stat()
        if found is None:
            return 0
        size = found.st_size
        if self.removed or size <= self.most:
            return size
        try:
            if alone and self._head + size - self._compacted_from(size) <= _COMPACT_MOST:
                self._compact(size)
            else:
                self._punch(size)
        except OSError:
            # Room, if anything, is what is missing. Holes need none.
            self._punch(size)
        return size

    def is_full(self) -> bool:
        """Tell whether the filesystem has no room for another page of it."""
        try:
            room = os.statvfs(os.path.dirname(self.path))
        except OSError:
            return False
        return (room.f_bfree if os.geteuid() == 0 else room.f_bavail) * room.f_frsize < _PAGE

    def _look_behind(self, pid: int | None) -> None:
        """A file without a name cannot be made smaller here; as long as it is small that is its command's affair."""
        if pid is None or self._file is None:
            return
        try:
            found = os.stat(f"/proc/{pid}/fd/1")
        except OSError:
            return
        if (found.st_dev, found.st_ino) == self._file and found.st_blocks * 512 > self.most + 2 * _PAGE:
            raise FileNotFoundError(errno.ENOENT, "it was removed")

    def _stat(self) -> os.stat_result | None:
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            self.removed = self.removed or self._file is not None
            return None
        if self._file is None:
            self._file = found.st_dev, found.st_ino
        elif (found.st_dev, found.st_ino) != self._file:
            self.removed = True
            return found
        if found.st_size < self._seen:
            self.truncated = True
            if found.st_size < self.dropped_to:
                self.dropped_to = 0
        self._grown = self._grown or found.st_size > self._seen
        self._seen = found.st_size
        return found

    def _middle_end(self, size: int) -> int:
        end = size - self._keep
        return end - end % _PAGE

    def _punch(self, size: int) -> None:
        start, end = max(self._head, self.dropped_to), self._middle_end(size)
        if end > start:
            punch(self.path, start, end)
            self.dropped_to = end

    def _compacted_from(self, size: int) -> int:
        """Return where the tail that stays begins."""
        return max(self.dropped_to, self._middle_end(size))

    def _compact(self, size: int) -> None:
        end = self._compacted_from(size)
        if end <= self._head:
            return
        draft = self.path + b"~"
        source = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            target = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _copy(source, target, 0, self._head)
                _copy(source, target, end, size)
            finally:
                os.close(target)
            os.rename(draft, self.path)
            self.dropped_to = end
        except OSError:
            os.unlink(draft)
            raise
        finally:
            os.close(source)


def _copy(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        sent = os.sendfile(target, source, start, min(_COPY_BYTES, end - start))
        if sent == 0:
            return
        start += sent
