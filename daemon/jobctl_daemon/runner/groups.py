"""The control group of each attempt, where this host has them, and who died for want of memory."""

from __future__ import annotations

from . import cgroup
from .oom import OomCounter, in_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .attempt import Attempt
    from .cgroup import Cgroups


class Groups:
    """Gives an attempt its group and takes it back."""

    def __init__(self, cgroups: Cgroups | None, complain: Callable[[str], None]) -> None:
        self._cgroups = cgroups
        self._counts_oom = cgroups is not None and cgroups.counts_oom
        self._complain = complain
        self._oom = OomCounter()

    @property
    def kill_by(self) -> str:
        """Say how this host's trees are killed."""
        return "cgroup" if self._cgroups else "process group, session and environment marker"

    def take(self, attempt: Attempt) -> None:
        """Give a group to an attempt that is about to start."""
        attempt.cgroup = self._cgroups.take() if self._cgroups else None
        attempt.oom_base = self._oom.sample()

    def enter(self, attempt: Attempt, pid: int) -> bool:
        """Move a process (0: this one) into the group; False where there is none, or it lets nobody in."""
        if attempt.cgroup is None:
            return False
        if self._counts_oom:
            attempt.group_oom = in_group(attempt.cgroup)
        if cgroup.enter(attempt.cgroup, pid):
            return True
        self.release(attempt, empty=False)
        return False

    def step_out(self, attempt: Attempt) -> None:
        """Go home from where a command was born."""
        if self._cgroups is not None and not self._cgroups.step_out():
            self._complain(f"{attempt.id}: the runner cannot leave {attempt.cgroup}: its tree goes by the marker")
            attempt.cgroup = None

    def release(self, attempt: Attempt, empty: bool) -> None:
        """Take the group back."""
        group, attempt.cgroup = attempt.cgroup, None
        if group is not None and self._cgroups is not None:
            self._cgroups.give_back(group, empty)
        elif group is not None:
            cgroup.remove(group)

    def lacked_memory(self, attempt: Attempt) -> bool:
        """Tell whether a command that died of KILL was the kernel's choice; before its group is released."""
        group = attempt.cgroup if self._counts_oom else None
        return self._oom.claims(attempt.oom_base, group, attempt.group_oom)

    def sample(self) -> None:
        """Keep the host's count fresh, so that the next start finds it."""
        self._oom.sample()

    def tidy(self) -> None:
        """Remove the groups whose last process has gone since."""
        if self._cgroups is not None:
            self._cgroups.tidy()

    def bury(self, instance: str) -> None:
        """Remove the groups of a dead runner."""
        if self._cgroups is not None:
            self._cgroups.bury(instance)

    def close(self) -> None:
        """Remove all that is empty."""
        if self._cgroups is not None:
            self._cgroups.close()
