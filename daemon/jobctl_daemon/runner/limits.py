"""The resource limits that commands get, whatever the runner was started with."""

from __future__ import annotations

import resource

from .identity import read_file

#: Programs that use select(2), or close all descriptors one by one, count on it.
SOFT_NOFILE = 1024
_BY_NAME = {
    b"Max cpu time": resource.RLIMIT_CPU,
    b"Max file size": resource.RLIMIT_FSIZE,
    b"Max data size": resource.RLIMIT_DATA,
    b"Max stack size": resource.RLIMIT_STACK,
    b"Max resident set": resource.RLIMIT_RSS,
    b"Max processes": resource.RLIMIT_NPROC,
    b"Max open files": resource.RLIMIT_NOFILE,
    b"Max locked memory": resource.RLIMIT_MEMLOCK,
    b"Max address space": resource.RLIMIT_AS,
    b"Max pending signals": resource.RLIMIT_SIGPENDING,
    b"Max msgqueue size": resource.RLIMIT_MSGQUEUE,
    b"Max nice priority": resource.RLIMIT_NICE,
    b"Max realtime priority": resource.RLIMIT_RTPRIO,
    b"Max realtime timeout": resource.RLIMIT_RTTIME,
}
_NAME_WIDTH = 26


def of_the_host() -> None:
    """Take on the limits of PID 1, as cron's PAM does (pam_limits(8) on Debian): not those of a shell that started us.

    Without the right to raise a hard one, the soft one goes as far as it may.
    """
    for name, (soft, hard) in read(read_file("/proc/1/limits")).items():
        if not _set(name, soft, hard):
            _, mine = resource.getrlimit(name)
            _set(name, mine if soft < 0 else min(soft, mine), mine)


def for_commands() -> None:
    """Set what every command gets: a soft limit for descriptors, and no core file unless it asks for one itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if not _set(resource.RLIMIT_CORE, 0, resource.RLIM_INFINITY):
        _set(resource.RLIMIT_CORE, 0, hard)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    _set(resource.RLIMIT_NOFILE, SOFT_NOFILE if hard < 0 else min(SOFT_NOFILE, hard), hard)


def read(table: bytes) -> dict[int, tuple[int, int]]:
    """Return {RLIMIT_*: (soft, hard)} of a table as in /proc/PID/limits; -1 is unlimited."""
    found = {}
    for line in table.splitlines():
        number = _BY_NAME.get(line[:_NAME_WIDTH].strip())
        fields = line[_NAME_WIDTH:].split()
        if number is not None and len(fields) >= 2:
            soft, hard = (-1 if field == b"unlimited" else int(field) for field in fields[:2])
            found[number] = soft, hard
    return found


def _set(name: int, soft: int, hard: int) -> bool:
    try:
        resource.setrlimit(name, (soft, hard))
    except (OSError, ValueError):
        return False
    return True
