"""All processes of one attempt, by every mark there is: control group, session, group, descent, environment.

Whatever an attempt has become, also tens of thousands of processes that fork on, no call here takes much longer than
_SLICE_S, and what ends the bulk of them at once does not wait until each was looked at.
"""

from __future__ import annotations

import os
import signal

from . import cgroup
from .clock import boot_s
from .identity import start_time
from .processes import Search, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .identity import Stat

# How long the runner's other commands may have to wait for one look.
_SLICE_S = 0.1
# Without a control group: how long those that are to be killed are held until a look that takes several calls is over.
_HELD_S = 1.0


class Tree:
    """What one attempt started."""

    __slots__ = ("_held", "_held_since", "_known", "_search", "_start", "_told", "cgroup", "leader", "matches")

    def __init__(self, matches: Callable[[bytes], bool], leader: int | None, group: str | None) -> None:
        self.matches = matches
        self.cgroup = group
        # Set only while the number is the command's for certain.
        self.leader = leader
        self._start = start_time(leader) if leader is not None else None
        self._known: dict[int, int] = {}
        self._search: Search | None = None
        self._told = False
        self._held: list[Stat] = []
        self._held_since: float | None = None

    def members(self) -> dict[int, int]:
        """Return {pid: start} of what lives; not all when there is more than can be looked at in short time."""
        search = self._begin()
        while not search.go_on(boot_s() + _SLICE_S) and not search.found:
            pass
        return {pid: process.start for pid, process in search.found.items()}

    def begin_anew(self) -> None:
        """Forget a look that is not finished."""
        self._search = None

    def rest(self) -> list[int] | None:
        """Look for who lives; return all of them, or None when the look is to be gone on with by another call."""
        return self._look_on()[1]

    def terminate(self) -> bool:
        """Ask all to end, and wake those that are stopped so that they can hear it; False: call again, for the rest."""
        first = self._search is None
        fresh, found = self._look_on()
        for number in (signal.SIGTERM, signal.SIGCONT):
            # Not before the look: who is a child of what ends by this, and has no other mark, had to be found first.
            if first:
                self._told = self._send_group(number)
            for process in fresh:
                # Once each: a second TERM means "at once" to some.
                if not (self._told and process.group == self.leader):
                    send(process.pid, process.start, number)
        return found is not None

    def kill(self) -> list[int] | None:
        """Kill all; return who was there, or None when the look for more is to be gone on with by another call."""
        certain = self.cgroup is not None and cgroup.kill(self.cgroup)
        if not certain:
            # They fork no more while it is looked who are children of theirs without another mark.
            self._send_group(signal.SIGSTOP)
        fresh, found = self._look_on()
        self._held += fresh
        if found is None and not certain and self._holds():
            for process in fresh:
                send(process.pid, process.start, signal.SIGSTOP)
            return None
        self._send_group(signal.SIGKILL)
        for process in self._held:
            send(process.pid, process.start, signal.SIGKILL)
        self._held = []
        return found

    def _holds(self) -> bool:
        """Tell whether to wait with the kill: whose parent is dead cannot be known by it any more."""
        now = boot_s()
        self._held_since = self._held_since or now
        return now - self._held_since < _HELD_S

    def _begin(self) -> Search:
        return Search(self._leads, self.matches, self.cgroup, self._known)

    def _look_on(self) -> tuple[list[Stat], list[int] | None]:
        """Return who was found just now, and when that ended the look, all whom it found."""
        search = self._search or self._begin()
        before = len(search.found)
        whole = search.go_on(boot_s() + _SLICE_S)
        fresh = list(search.found.values())[before:]
        if not whole:
            self._search = search
            self._known.update((process.pid, process.start) for process in fresh)
            return fresh, None
        self._search = None
        self._known = {pid: process.start for pid, process in search.found.items()}
        return fresh, sorted(search.found)

    def _leads(self, number: int) -> bool:
        """Tell whether a number is the leader's, alive or not yet reaped, and so that of its session and group."""
        return number == self.leader and start_time(number) == self._start

    def _send_group(self, number: int) -> bool:
        """Signal the leader's process group, in one call however many they are; tell whether that could be."""
        if self.leader is None or not self._leads(self.leader):
            return False
        try:
            os.killpg(self.leader, number)
        except OSError:
            return False
        return True
