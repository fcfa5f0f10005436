"""Terminals: for a daemon in the foreground, as somebody has who starts it by hand, and for the command line."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Iterator

from kit.daemon import CLI, RealDaemon

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
            piece = _read(self._ours)
            if not piece:
                break
            found += piece
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


def shown(daemon: RealDaemon, *argv: str, columns: int = 200) -> bytes:
    """What the command line writes to a terminal, standard error included."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    try:
        with subprocess.Popen(
            [*CLI, *argv],
            env=daemon.environ | {"TERM": "xterm-256color", "COLUMNS": ""},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            text = b""
            while piece := _read(ours):
                text += piece
            assert process.wait(20) == 0, text
    finally:
        os.close(ours)
    return text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # nobody has it open any more
        return b""
