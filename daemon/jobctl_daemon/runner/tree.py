"""All processes of one attempt, by every mark there is: control group, session, group, descent, environment."""

from __future__ import annotations

import os
import signal

from . import cgroup
from .processes import family, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Tree:
    """What one attempt started."""

    __slots__ = ("cgroup", "leader", "matches")

    def __init__(self, matches: Callable[[bytes], bool], leader: int | None, group: str | None) -> None:
        self.matches = matches
        self.cgroup = group
        # Set only while the number is the command's for certain.
        self.leader = leader

    def members(self) -> dict[int, int]:
        """Return {pid: start} of all that lives; costs a look at every process of the host."""
        found = family(self.leader, self.matches)
        if self.cgroup is not None:
            found.update(cgroup.members(self.cgroup))
        found.pop(os.getpid(), None)
        return found

    def terminate(self) -> None:
        """Ask all to end, and wake those that are stopped so that they can hear it."""
        found = self.members()
        for number in (signal.SIGTERM, signal.SIGCONT):
            for pid, start in found.items():
                send(pid, start, number)

    def kill(self) -> dict[int, int]:
        """Kill all; return who was there."""
        if self.cgroup is not None:
            cgroup.kill(self.cgroup)
        found = self.members()
        for pid, start in found.items():
            send(pid, start, signal.SIGKILL)
        return found
