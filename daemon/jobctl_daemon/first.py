"""As the first process of a container: what an init does, in a process of its own.

Who has lost his parent becomes a child of process 1, which has to collect him, or the dead fill the process table. The
daemon collects nobody but its own: a loop that collects everybody takes the exit status away from who waits for it.
"""

import contextlib
import os
import signal
from typing import Final

_PASSED_ON: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGABRT,
)
#: As shells say it of who was ended by a signal.
_BY_SIGNAL: Final = 128
_stands_before = False


def stands_before() -> bool:
    """Whether a first process of ours stands before this daemon: all that is in the container ends with it."""
    return _stands_before


def stand_before() -> None:
    """In process 1 it returns in a child, which is to be the daemon; elsewhere it does nothing.

    The first process passes signals on, collects orphans and ends as the daemon does. Before any thread is started.
    """
    global _stands_before
    if os.getpid() != 1:
        return
    awaited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    daemon = os.fork()
    if daemon == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _stands_before = True
        return
    while True:
        number = signal.sigwait(awaited)
        if number != signal.SIGCHLD:
            with contextlib.suppress(ProcessLookupError):
                os.kill(daemon, number)
            continue
        ended = _collect(daemon)
        if ended is not None:
            os._exit(ended)


def _collect(daemon: int) -> int | None:
    """Everybody who is dead; the exit code of the daemon if he is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == daemon:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else _BY_SIGNAL - code
