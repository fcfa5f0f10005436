"""Going into the background (daemon(7), "SysV Daemons"): the starter returns when the daemon is ready or has failed."""

import os
import re
import sys
from typing import Final

#: Standard error is a pipe to the starter until the daemon is ready. A null byte sets this apart from words.
_MARK: Final = re.compile(rb"\0(\d+)\n")
#: The daemon was gone before it could say how it ended: somebody killed it.
_GONE: Final = 1


class Starter:
    """The process that somebody started, as seen by the daemon; in the foreground there is none, and no call does
    anything."""

    def __init__(self) -> None:
        self._waits = False

    def detach(self) -> None:
        """Forks twice into a new session. Only the daemon returns.

        The starter exits 0 when it is ready; when it ends before, with its words on stderr and with its exit code; with
        1 when it did not come to say one.
        """
        reader, writer = os.pipe()
        if os.fork() > 0:
            os.close(writer)
            _wait(reader)
        os.close(reader)
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(writer, 2)  # until it is ready, what goes wrong is told to the starter
        os.close(null)
        os.close(writer)
        self._waits = True

    def ready(self) -> None:
        """It may go."""
        self.ended(0)

    def ended(self, code: int) -> None:
        """It may go, and ends with this. From then on nobody hears what is said on standard error."""
        if not self._waits:
            return
        self._waits = False
        sys.stderr.flush()
        os.write(2, b"\0%d\n" % code)
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 2)
        os.close(silent)


def _wait(reader: int) -> None:
    said = b""
    while (mark := _MARK.search(said)) is None and (chunk := os.read(reader, 4096)):
        said += chunk
    code = _GONE if mark is None else int(mark[1])
    if code:
        sys.stderr.write((said if mark is None else said[: mark.start()]).decode("utf-8", "replace"))
        sys.stderr.flush()
    os._exit(code)
