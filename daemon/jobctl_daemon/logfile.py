"""Where lines of the log go. Neither place ever raises or waits: a log is no reason to stand still.

A line that cannot be written is dropped and counted; the first one that goes through again says how many.
"""

import os
import select
import stat
from typing import Final, Protocol

#: A pipe that says it is writable takes so much at once without blocking (pipe(7), PIPE_BUF).
_PIPE_BYTES: Final = 4096
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Out(Protocol):
    """Takes whole lines."""

    def write(self, line: bytes) -> bool:
        """False when the line, or a part of it, is lost."""
        ...


class CappedFile:
    """A file that becomes NAME.1 when it has `most` bytes. The descriptor is kept: without any left it still writes."""

    def __init__(self, path: str, most: int) -> None:
        self._path = path
        self._most = most
        self._descriptor = -1
        self._torn = False

    def write(self, line: bytes) -> bool:
        try:
            return self._write(line)
        except OSError:
            self._close()
            return False

    def close(self) -> None:
        self._close()

    def _write(self, line: bytes) -> bool:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, _FLAGS, 0o600)
        found = os.fstat(self._descriptor)
        if not self._is_named(found):  # by a standby, or whoever tidies up
            self._reopen()
        elif found.st_size + len(line) > self._most:
            self._begin_anew()
        whole = b"\n" + line if self._torn else line
        self._torn = True  # unless all of it is there: the next line begins on a line of its own
        self._torn = os.write(self._descriptor, whole) < len(whole)
        return not self._torn

    def _is_named(self, found: os.stat_result) -> bool:
        try:
            return os.path.samestat(found, os.stat(self._path))
        except FileNotFoundError:
            return False

    def _begin_anew(self) -> None:
        """Where the old one cannot be moved away it is emptied, for the cap holds in any case."""
        try:
            os.rename(self._path, f"{self._path}.1")
        except OSError:
            os.ftruncate(self._descriptor, 0)
        else:
            self._reopen()

    def _reopen(self) -> None:
        self._close()
        self._descriptor = os.open(self._path, _FLAGS, 0o600)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Descriptor:
    """Standard error: a terminal, a file, the journal, or a pipe that nobody may be reading."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._torn = False

    def write(self, line: bytes) -> bool:
        rest = b"\n" + line if self._torn else line
        try:
            at_once = len(rest) if stat.S_ISREG(os.fstat(self._descriptor).st_mode) else _PIPE_BYTES
            while rest and self._takes():
                self._torn = True
                rest = rest[os.write(self._descriptor, rest[:at_once]) :]
        except OSError:
            return False
        self._torn = self._torn and bool(rest)
        return not rest

    def _takes(self) -> bool:
        """The flag O_NONBLOCK would be everybody's who shares the terminal; so it is asked before each piece."""
        poller = select.poll()
        poller.register(self._descriptor, select.POLLOUT)
        return any(events & select.POLLOUT for _, events in poller.poll(0))
