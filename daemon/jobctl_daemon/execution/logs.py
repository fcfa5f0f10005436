"""Logs of attempts: where they are, and reading them by logical offset, that of all the command ever wrote.

A log is one of three on disk (docs/runner-protocol.md):

* plain: offsets are those of the file;
* with a hole: the cap has punched out the middle while the command runs. Offsets are still those of the file;
* compacted: after the end the hole is closed, head and tail stand together in a new file of the same name. The
  attempt's row tells the logical size; what the file lacks of it is the middle.

A reader keeps the file it has opened, so a compaction under its hands changes nothing for it.
Only numbers make a path: names never reach this file.
"""

import os
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_PAGE: Final = 4096
#: The times of a log lie beside it, and are no more than this (docs/runner-protocol.md).
_TIMES_BYTES: Final = 16 << 10
_TIME: Final = struct.Struct("<qq")
FOLDER: Final = 1000
"""Runs in one folder."""
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: A folder of the daemon's own, never what a symbolic link in its place leads to.
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Dropped:
    """The bytes from `start` to before `end` are gone."""

    start: int
    end: int

    @property
    def marker(self) -> bytes:
        """What is shown in their place. It takes part in no offset."""
        size = self.end - self.start
        return b"\n[jobctl: %d bytes, from %d to %d, were removed by the log limit]\n" % (size, self.start, self.end)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`data` stands at `offset`; `dropped` is what was jumped over to get there from where it was asked for."""

    offset: int
    data: bytes
    dropped: Dropped | None = None

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


class LogFiles:
    """The folder of all logs."""

    __slots__ = ("directory",)

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def path(self, run_id: int, fence: int) -> str:
        """Where the log of an attempt is."""
        return os.path.join(self._folder(run_id), f"{int(run_id)}-{int(fence)}.log")

    def times_path(self, run_id: int, fence: int) -> str:
        """Where it is noted when the log of an attempt grew."""
        return os.path.join(self._folder(run_id), f"{int(run_id)}-{int(fence)}.times")

    def create_dir(self, run_id: int, fence: int) -> str:
        """Makes the folder of the log that is to be written, for nobody else; returns the log's path."""
        for folder in (self.directory, self._folder(run_id)):  # a state folder that was moved away is not made anew
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        return self.path(run_id, fence)

    def open(self, run_id: int, fence: int, size: int | None = None) -> "LogReader | None":
        """A reader, or None when there is no such log. `size` is the attempt's logical size once it has ended."""
        try:
            descriptor = self._open(run_id, fence)
        except FileNotFoundError:
            return None
        try:
            return LogReader(descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise

    def tail(self, run_id: int, fence: int, limit: int) -> bytes:
        """The last bytes of a log; none where it cannot be read."""
        try:
            descriptor = self._open(run_id, fence)
        except OSError:
            return b""
        try:
            return os.pread(descriptor, limit, max(0, os.fstat(descriptor).st_size - limit))
        except OSError:
            return b""
        finally:
            os.close(descriptor)

    def times(self, run_id: int, fence: int) -> list[tuple[int, int]]:
        """(bytes that were written, by when in ms UTC), in order of both; none where nobody noted them."""
        try:
            descriptor = self._open(run_id, fence, self.times_path(run_id, fence))
        except OSError:
            return []
        try:
            data = os.pread(descriptor, _TIMES_BYTES, 0)
        except OSError:
            return []
        finally:
            os.close(descriptor)
        found: list[tuple[int, int]] = []
        for size, at_ms in _TIME.iter_unpack(data[: len(data) - len(data) % _TIME.size]):
            if found and size <= found[-1][0]:
                break  # a torn write, or something else's file: what came before it holds
            found.append((size, max(at_ms, found[-1][1]) if found else at_ms))
        return found

    def remove(self, run_id: int, fence: int) -> None:
        """Deletes a log with its times. One that is gone is no error. The folder stays: a runner may be about to write
        there."""
        with suppress(FileNotFoundError):
            folder = os.open(self._folder(run_id), FOLDER_FLAGS)
            try:
                for path in (self.times_path(run_id, fence), self.path(run_id, fence)):
                    with suppress(FileNotFoundError):
                        os.unlink(os.path.basename(path), dir_fd=folder)
            finally:
                os.close(folder)

    def _open(self, run_id: int, fence: int, path: str | None = None) -> int:
        """By way of its folder, so that neither of them may be a symbolic link to somewhere else."""
        folder = os.open(self._folder(run_id), FOLDER_FLAGS)
        try:
            return os.open(os.path.basename(path or self.path(run_id, fence)), _READ_FLAGS, dir_fd=folder)
        finally:
            os.close(folder)

    def _folder(self, run_id: int) -> str:
        return os.path.join(self.directory, str(int(run_id) // FOLDER))


class LogReader:
    """One open log. Not for two threads at once."""

    __slots__ = ("_closed_gap", "_descriptor")

    def __init__(self, descriptor: int, size: int | None) -> None:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise FileNotFoundError(f"{descriptor} is not a plain file")
        self._descriptor = descriptor
        self._closed_gap = _closed_gap(found.st_size, size)

    def close(self) -> None:
        os.close(self._descriptor)

    @property
    def inode(self) -> int:
        """Which file it is: a compacted log is another one than it was."""
        return os.fstat(self._descriptor).st_ino

    def size(self) -> int:
        """The logical size now."""
        size = os.fstat(self._descriptor).st_size
        gap = self._closed_gap
        return size if gap is None else size + gap.end - gap.start

    def dropped(self) -> Dropped | None:
        """The bytes that are missing in the middle, if any."""
        return self._closed_gap or self._hole_after(0)

    def read(self, offset: int, limit: int) -> Chunk:
        """Up to `limit` bytes from `offset` on, over a gap if there is one; without data at the end.

        Ends before the next gap, so what a chunk holds is without a break.
        """
        gap = self._closed_gap
        if gap is not None:
            return self._read_compacted(gap, offset, limit)
        while True:
            start = self._data_from(offset)
            if start is None:
                return Chunk(offset, b"")
            end = min(self._data_until(start), start + limit)
            data = os.pread(self._descriptor, end - start, start)
            # The cap may have punched between the look and the read: then those zeros were never written.
            if self._data_from(offset) == start and self._data_until(start) >= start + len(data):
                return Chunk(start, data, Dropped(self._hole_start(start), start) if start > offset else None)

    def _read_compacted(self, gap: Dropped, offset: int, limit: int) -> Chunk:
        if offset < gap.start:
            return Chunk(offset, os.pread(self._descriptor, min(limit, gap.start - offset), offset))
        start = max(offset, gap.end)
        data = os.pread(self._descriptor, limit, start - (gap.end - gap.start))
        return Chunk(start, data, gap if offset < gap.end else None)

    # ── holes ──────────────────────────────────────────────

    def _data_from(self, offset: int) -> int | None:
        """Where data begins at or after `offset`; None at the end of the file."""
        size = os.fstat(self._descriptor).st_size
        if offset >= size:
            return None
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError:  # ENXIO: a hole up to the end; EINVAL: a filesystem without holes
            return offset

    def _data_until(self, offset: int) -> int:
        """Where data that begins at `offset` ends."""
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_HOLE)
        except OSError:
            return os.fstat(self._descriptor).st_size

    def _hole_start(self, end: int) -> int:
        """Where the hole that ends at `end` begins."""
        hole = self._hole_after(0)
        return hole.start if hole is not None and hole.end == end else 0

    def _hole_after(self, offset: int) -> Dropped | None:
        size = os.fstat(self._descriptor).st_size
        start = self._data_until(offset)
        if start >= size:
            return None
        end = self._data_from(start)
        return Dropped(start, end) if end is not None and end > start else None


def _closed_gap(file_size: int, size: int | None) -> Dropped | None:
    """The gap of a compacted log, from what its file lacks of the logical size.

    The runner keeps half of the cap at each end, whole pages at the head and the tail from a page's beginning on; so
    the head is the whole pages in the first half of the file (`runner/output.py`; the tests compare them).
    """
    if size is None or file_size >= size:
        return None
    head = file_size // (2 * _PAGE) * _PAGE
    return Dropped(head, head + size - file_size)
