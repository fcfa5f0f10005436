"""A terminal of its own for a daemon in the foreground, as somebody has who starts it by hand."""

import contextlib
import os
import pty
import select
from collections.abc import Iterator

from kit.daemon import RealDaemon

#: Takes the terminal that is named, as the leader of a session without one does by opening it.
_SEATED = """
import os
terminal = os.open({name!r}, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(terminal, number)
os.close(terminal)
from jobctl_daemon.__main__ import main
raise SystemExit(main())
"""


class Terminal:
    """Where somebody sits."""

    def __init__(self) -> None:
        self._ours, self._theirs = pty.openpty()
        self.name = os.ttyname(self._theirs)

    def text(self) -> bytes:
        """What has been written to it since the last time."""
        found = b""
        while select.select([self._ours], [], [], 0)[0]:
            try:
                found += os.read(self._ours, 65536)
            except OSError:  # nobody has it open any more
                break
        return found

    def close(self) -> None:
        """As a closed window does it: who leads a session on it gets a HUP."""
        for number in {self._ours, self._theirs} - {-1}:
            os.close(number)
        self._ours = self._theirs = -1


@contextlib.contextmanager
def on_a_terminal(daemon: RealDaemon) -> Iterator[Terminal]:
    """The daemon is started on it, by its own start, and is gone afterwards."""
    terminal = Terminal()
    daemon.program = ["-c", _SEATED.format(name=terminal.name)]
    try:
        daemon.start()
        yield terminal
    finally:
        try:
            daemon.close()
        finally:
            terminal.close()
