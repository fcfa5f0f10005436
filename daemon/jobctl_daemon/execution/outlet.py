"""Standard output, which may be a pipe that nobody reads: what it does not take now is kept, up to a little."""

import os
import select
import stat
from typing import Final

#: A pipe that says it is writable takes so much at once without blocking (pipe(7), PIPE_BUF).
_PIPE_BYTES: Final = 4096


class Outlet:
    """Writes to a descriptor without ever waiting for it.

    The flag O_NONBLOCK would be everybody's who shares it; so it is asked before each piece.
    """

    __slots__ = ("_descriptor", "_rest", "closed")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self.closed = False
        """Nobody will ever read it again."""

    @property
    def waiting(self) -> int:
        """Bytes that it was given and has not taken."""
        return len(self._rest)

    def write(self, data: bytes) -> bool:
        """Gives it whole lines; whether it has taken all it was given. What it did not take stays for the next time."""
        self._rest += data
        return self.flush()

    def flush(self) -> bool:
        """Tries again; whether nothing waits any more. What nobody will ever read counts as taken."""
        if self.closed:
            self._rest = b""
        try:
            self._drain()
        except BlockingIOError:  # somebody else has set the flag, and another writer was quicker
            return False
        except OSError:
            self.closed, self._rest = True, b""
        return not self._rest

    def wait(self, within_ms: int) -> None:
        """Until it takes more, or the time is up: never on the loop."""
        poller = select.poll()
        poller.register(self._descriptor, select.POLLOUT)
        poller.poll(within_ms)

    def _drain(self) -> None:
        if not self._rest:
            return
        at_once = 1 << 20 if stat.S_ISREG(os.fstat(self._descriptor).st_mode) else _PIPE_BYTES
        view, at = memoryview(self._rest), 0
        try:
            while at < len(view) and self._takes():
                at += os.write(self._descriptor, view[at : at + at_once])
        finally:
            self._rest = bytes(view[at:])

    def _takes(self) -> bool:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLOUT)
        found = poller.poll(0)
        if any(events & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, events in found):
            raise BrokenPipeError("nobody reads it any more")
        return any(events & select.POLLOUT for _, events in found)
