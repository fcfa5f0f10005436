"""Finds the processes of an attempt, and signals them without ever hitting another's number."""

from __future__ import annotations

import os
import signal

from . import cgroup
from .clock import boot_s
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


class Search:
    """One look at every process of the host for those of an attempt, in as many steps as it takes.

    They are known by their control group, the leader's session and group, the marker, and as children of such.
    leads(number) tells whether a number is the leader's now; known are {pid: start} of an earlier look: their
    parents may have ended since. found: {pid: what it was when it was seen}.
    """

    def __init__(
        self,
        leads: Callable[[int], bool],
        matches: Callable[[bytes], bool],
        group: str | None,
        known: dict[int, int],
    ) -> None:
        self.found: dict[int, Stat] = {}
        self._leads = leads
        self._matches = matches
        self._group = group
        self._known = known
        self._grouped = dict.fromkeys(cgroup.pids(group)) if group is not None else {}
        # The group's first: there they are certain.
        numbers = dict.fromkeys([*self._grouped, *(int(name) for name in os.listdir("/proc") if name.isdigit())])
        numbers.pop(os.getpid(), None)
        self._numbers = iter(numbers)
        self._children: dict[int, list[Stat]] = {}

    def go_on(self, until_s: float) -> bool:
        """Look on until that many seconds since boot; True once every process was looked at."""
        whole = True
        for pid in self._numbers:
            process = stat(pid)
            if process is not None and not process.dead:
                if self._belongs(process):
                    self.found[pid] = process
                else:
                    self._children.setdefault(process.parent, []).append(process)
            if boot_s() >= until_s:
                whole = False
                break
        self._find_children()
        return whole

    def _belongs(self, process: Stat) -> bool:
        pid = process.pid
        return (
            self._known.get(pid) == process.start
            or any(self._leads(number) for number in (pid, process.session, process.group))
            or (self._group is not None and pid in self._grouped and cgroup.holds(self._group, pid))
            or self._matches(environment(pid))
        )

    def _find_children(self) -> None:
        parents = [number for number in self._children if number in self.found or self._leads(number)]
        while parents:
            parent = parents.pop()
            for process in self._children.pop(parent, ()):
                if self._is_child(process, parent):
                    self.found[process.pid] = process
                    parents.append(process.pid)

    def _is_child(self, process: Stat, parent: int) -> bool:
        """Tell whether that is so: since the parent was seen, its number may have become another's."""
        now = stat(process.pid)
        if now is None or now.start != process.start or now.parent != parent:
            return False
        known = self.found.get(parent)
        return start_time(parent) == known.start if known is not None else self._leads(parent)


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
