"""What a process passes on to its children without being asked: put right once, at the start of the runner."""

from __future__ import annotations

import os
import resource
import signal

from . import limits

# Above this many attempts the runner needs more descriptors than commands shall inherit.
_ATTEMPTS_IN_SOFT_LIMIT = 300
# While it starts one has a pidfd, a socket and its log open.
_DESCRIPTORS_OF_ONE = 3


def put_right(*, started_by_hand: bool) -> None:
    """Undo the niceness, processors, scheduling, limits, signals and descriptors the starter happened to have.

    What needs rights the runner has not stays as it is. Limits that a unit sets are meant, and stay.
    """
    os.umask(0o077)
    _open_standard_descriptors()
    _try(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
    _try(os.setpriority, os.PRIO_PROCESS, 0, 0)
    _try(os.sched_setaffinity, 0, range(os.cpu_count() or 1))
    if started_by_hand:
        _try(limits.of_the_host)
    limits.for_commands()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _open_standard_descriptors() -> None:
    """Leave none of the numbers 0, 1 and 2 to a file of ours: commands get theirs there."""
    descriptor = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    while descriptor <= 2:
        descriptor = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    os.close(descriptor)


def make_room(attempts: int) -> None:
    """Raise the runner's own soft descriptor limit once so many attempts live that it is needed."""
    if attempts <= _ATTEMPTS_IN_SOFT_LIMIT:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS_OF_ONE * attempts + limits.SOFT_NOFILE
    if 0 <= soft < wanted and soft != hard:
        _try(resource.setrlimit, resource.RLIMIT_NOFILE, (min(wanted * 2, hard) if hard >= 0 else wanted * 2, hard))


def _try(function, *arguments) -> bool:  # type: ignore[no-untyped-def]
    try:
        function(*arguments)
    except (OSError, ValueError):
        return False
    return True
