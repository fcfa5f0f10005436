"""What commands left running when they ended well: legal, but their logs keep their cap."""

from __future__ import annotations

from . import cgroup
from .identity import lives, start_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .attempt import Attempt
    from .output import Output


class Leftover:
    """The survivors of one attempt and the log they may still write to."""

    __slots__ = ("cgroup", "output", "pids", "run_id")

    def __init__(self, run_id: int, output: Output, group: str | None, pids: dict[int, int | None]) -> None:
        self.run_id = run_id
        self.output = output
        self.cgroup = group
        self.pids = pids

    def lives(self) -> bool:
        """Tell whether any of them still runs."""
        if self.cgroup is not None and cgroup.pids(self.cgroup):
            return True
        return any(lives(pid, start) for pid, start in self.pids.items())


class Leftovers:
    """All survivors this runner knows of."""

    def __init__(self) -> None:
        self._all: list[Leftover] = []

    def __len__(self) -> int:
        return len(self._all)

    def add(self, attempt: Attempt, pids: list[int]) -> None:
        """Remember what an attempt leaves."""
        self._all.append(
            Leftover(attempt.run_id, attempt.output, attempt.cgroup, {pid: start_time(pid) for pid in pids})
        )

    def look(self) -> bool:
        """Cap their logs and forget who has ended; tell whether a log grew."""
        grew = False
        for leftover in self._all:
            try:
                grew = leftover.output.look() or grew
            except OSError:
                self._end(leftover)
        self._all = [leftover for leftover in self._all if leftover.lives()]
        return grew

    def kill(self, run_id: int) -> None:
        """Kill the groups that a run's earlier attempts left; what has no group is found by its marker."""
        for leftover in self._all:
            if leftover.run_id == run_id:
                self._end(leftover)

    def _end(self, leftover: Leftover) -> None:
        if leftover.cgroup is not None:
            cgroup.kill(leftover.cgroup)
