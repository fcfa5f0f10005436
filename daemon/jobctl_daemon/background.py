"""Going into the background (daemon(7), "SysV Daemons"): the starter returns when the daemon is ready or has failed."""

import os
import sys
from collections.abc import Callable

_READY = b"ready\n"


def detach() -> Callable[[], None]:
    """Forks twice into a new session. Only the daemon returns: with a call that tells the starter it is ready.

    The starter exits 0 then; when the daemon dies before, with the daemon's words on stderr and exit code 1.
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

    def ready() -> None:
        os.write(2, _READY)
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 2)
        os.close(silent)

    return ready


def _wait(reader: int) -> None:
    said = b""
    while chunk := os.read(reader, 4096):
        said += chunk
        if said.endswith(_READY):
            os._exit(0)
    sys.stderr.write(said.decode("utf-8", "replace"))
    sys.stderr.flush()
    os._exit(1)
