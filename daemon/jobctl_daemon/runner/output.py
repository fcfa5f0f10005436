"""Keeps an attempt's log below its cap while it runs: the head and the tail stay, the middle goes."""

from __future__ import annotations

import os

from .punch import punch

_PAGE = 4096
_COPY_BYTES = 1 << 20


class Output:
    """One log file. Offsets are logical: those of all that was ever written."""

    __slots__ = ("_grown", "_head", "_keep", "_seen", "dropped_to", "most", "path", "truncated")

    def __init__(self, path: bytes, most: int) -> None:
        self.path = path
        self.most = most
        half = most // 2
        self._head = half - half % _PAGE
        self._keep = half
        self._seen = 0
        self._grown = False
        self.dropped_to = 0
        self.truncated = False

    @property
    def dropped_from(self) -> int | None:
        """Return where the missing middle begins, or None when nothing is missing."""
        return self._head if self.dropped_to else None

    def size(self) -> int:
        """Return the file's size now, in bytes; 0 when there is none."""
        found = self._stat()
        return found.st_size if found else 0

    def recall(self) -> None:
        """Find the hole a dead runner left."""
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

    def look(self) -> bool:
        """Punch out the middle when the file holds too much; tell whether it grew. Raises OSError if that fails."""
        found = self._stat()
        if found is None:
            return False
        grew, self._grown = self._grown, False
        if found.st_blocks * 512 > self.most + 2 * _PAGE:
            self._punch(found.st_size)
        return grew

    def finish(self, alone: bool) -> int:
        """Make the file small for good; return the logical size in bytes.

        While others still write to it (alone is false) the hole is left a hole: a new file would lose their words.
        """
        found = self._stat()
        if found is None:
            return 0
        size = found.st_size
        if size <= self.most:
            return size
        try:
            if alone:
                self._compact(size)
            else:
                self._punch(size)
        except OSError:
            # Room, if anything, is what is missing. Holes need none.
            self._punch(size)
        return size

    def _stat(self) -> os.stat_result | None:
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return None
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

    def _compact(self, size: int) -> None:
        end = max(self.dropped_to, self._middle_end(size))
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
