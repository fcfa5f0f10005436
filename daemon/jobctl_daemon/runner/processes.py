"""Finds the processes of an attempt, and signals them without ever hitting another's number."""

from __future__ import annotations

import os
import signal

from .identity import Stat, lives, read_file, start_time, stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENVIRON_BYTES = 2 << 20


def everything() -> Iterator[Stat]:
    """Yield all processes but this one and the dead."""
    me = os.getpid()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != me:
            found = stat(int(name))
            if found is not None and not found.dead:
                yield found


def environment(pid: int) -> bytes:
    r"""Return a process's first environment with \0 before and after each entry; empty when not readable."""
    try:
        return b"\0" + read_file(f"/proc/{pid}/environ", _ENVIRON_BYTES) + b"\0"
    except OSError:
        return b""


def marker(key: bytes, run_id: int, fence: int | None = None) -> Callable[[bytes], bool]:
    """Return a test of environments for a run's marker; without a fence any attempt of the run matches.

    The key begins with a job's random name: numbers alone another installation on the host may use too.
    """
    run = b"\0JOBCTL_RUN_ID=%d\0" % run_id
    name = b"\0JOBCTL_RUN_KEY=%s\0" % key
    token = b"\0JOBCTL_FENCE=%d\0" % fence if fence is not None else b""
    return lambda env: run in env and name in env and token in env


def carriers(matches: Callable[[bytes], bool]) -> list[Stat]:
    """Return the processes whose environment matches."""
    return [process for process in everything() if matches(environment(process.pid))]


def family(leader: int | None, matches: Callable[[bytes], bool]) -> dict[int, int]:
    """Return {pid: start} of what belongs to an attempt: its session and group, its marker, and their children.

    leader is given only while its number cannot be another's: alive and checked, or not yet reaped.
    """
    processes = list(everything())
    found = {
        process.pid: process.start
        for process in processes
        if (leader is not None and leader in (process.pid, process.session, process.group))
        or matches(environment(process.pid))
    }
    parents, grew = set(found), True
    if leader is not None:
        parents.add(leader)
    while grew:
        grew = False
        for process in processes:
            if process.pid not in found and process.parent in parents:
                found[process.pid] = process.start
                parents.add(process.pid)
                grew = True
    return found


def send(pid: int, start: int, number: int) -> bool:
    """Signal exactly this process; tell whether it was there to be signalled."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Checked after the open: from here on the descriptor means this process and no later one.
        if start_time(pid) != start:
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def watch(pid: int, start: int | None) -> int | None:
    """Return a pidfd of exactly this process, or None when it has ended; raises OSError on lack of descriptors."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if lives(pid, start):
        return descriptor
    os.close(descriptor)
    return None
