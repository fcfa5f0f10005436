"""What a process passes on to its children without being asked: put right once, at the start of the runner."""

from __future__ import annotations

import os
import resource
import signal

from .spawn import SOFT_NOFILE

# Above this many attempts the runner needs more descriptors than commands shall inherit.
_ATTEMPTS_IN_SOFT_LIMIT = 800


def put_right() -> None:
    """Undo the niceness, processor set, core limit, signals and descriptors the starter happened to have.

    What needs rights the runner has not stays as it is.
    """
    os.umask(0o077)
    _try(os.setpriority, os.PRIO_PROCESS, 0, 0)
    _try(os.sched_setaffinity, 0, range(os.cpu_count() or 1))
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if not _try(resource.setrlimit, resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY)):
        _try(resource.setrlimit, resource.RLIMIT_CORE, (0, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    _try(resource.setrlimit, resource.RLIMIT_NOFILE, (SOFT_NOFILE if hard < 0 else min(SOFT_NOFILE, hard), hard))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def make_room(attempts: int) -> None:
    """Raise the runner's own soft descriptor limit once so many attempts live that it is needed."""
    if attempts <= _ATTEMPTS_IN_SOFT_LIMIT:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * attempts + SOFT_NOFILE
    if 0 <= soft < wanted and soft != hard:
        _try(resource.setrlimit, resource.RLIMIT_NOFILE, (min(wanted * 2, hard) if hard >= 0 else wanted * 2, hard))


def _try(function, *arguments) -> bool:  # type: ignore[no-untyped-def]
    try:
        function(*arguments)
    except (OSError, ValueError):
        return False
    return True
