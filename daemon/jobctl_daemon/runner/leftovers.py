"""What commands left running when they ended well: legal, but their logs keep their cap, and a retry kills them first.

The retry may go to another runner, and what has cleared its environment carries no marker. So who is left, and in which
control group, is noted beside the records.
"""

from __future__ import annotations

import os
import signal

from . import cgroup
from .identity import lives, start_time
from .processes import send
from .protocol import dumps
from .records import Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .attempt import Attempt
    from .output import Output


class Leftover:
    """The survivors of one attempt and the log they may still write to."""

    __slots__ = ("attempt_id", "cgroup", "output", "pids", "run_id")

    def __init__(self, attempt: Attempt, pids: dict[int, int | None]) -> None:
        self.attempt_id = attempt.id
        self.run_id = attempt.run_id
        self.output: Output = attempt.output
        self.cgroup = attempt.cgroup
        self.pids = pids

    def lives(self) -> bool:
        """Tell whether any of them still runs."""
        if self.cgroup is not None and cgroup.pids(self.cgroup):
            return True
        return any(lives(pid, start) for pid, start in self.pids.items())

    def note(self, boot_id: str) -> bytes:
        """Return what another runner has to know."""
        pids = [[pid, start] for pid, start in self.pids.items()]
        return dumps({"boot_id": boot_id, "cgroup": self.cgroup, "group": _number(self.cgroup), "pids": pids})


class Leftovers:
    """All survivors this runner knows of, and those of others as they are noted."""

    def __init__(self, records: Records, boot_id: str) -> None:
        self._all: list[Leftover] = []
        self._records = records
        self._boot_id = boot_id

    def __len__(self) -> int:
        return len(self._all)

    def add(self, attempt: Attempt, pids: list[int]) -> None:
        """Remember what an attempt leaves."""
        leftover = Leftover(attempt, {pid: start_time(pid) for pid in pids})
        self._all.append(leftover)
        self._records.note_left(attempt.id, leftover.note(self._boot_id))

    def look(self) -> bool:
        """Cap their logs and forget who has ended; tell whether a log grew."""
        grew = False
        for leftover in self._all:
            try:
                grew = leftover.output.look() or grew
            except OSError:
                self._end(leftover)
        for leftover in [leftover for leftover in self._all if not leftover.lives()]:
            self._all.remove(leftover)
            self._records.forget_left(leftover.attempt_id)
        return grew

    def kill(self, run_id: int) -> None:
        """Kill what a run's earlier attempts left, under whichever runner; what is not noted is found by its marker."""
        for leftover in self._all:
            if leftover.run_id == run_id:
                self._end(leftover)
        for attempt_id, note in self._records.left(run_id).items():
            if note.get("boot_id") == self._boot_id:
                _kill_noted(note)
            self._records.forget_left(attempt_id)

    def tidy(self) -> None:
        """Remove the notes of dead runners about who is dead as well."""
        mine = {leftover.attempt_id for leftover in self._all}
        for attempt_id, note in self._records.left().items():
            if attempt_id not in mine and not (note.get("boot_id") == self._boot_id and _lives(note)):
                self._records.forget_left(attempt_id)

    def _end(self, leftover: Leftover) -> None:
        if leftover.cgroup is not None:
            cgroup.kill(leftover.cgroup)


def _kill_noted(note: dict[str, Any]) -> None:
    if (group := _group(note)) is not None:
        cgroup.kill(group)
    for pid, start in note.get("pids") or ():
        if start is not None:
            send(pid, start, signal.SIGKILL)


def _lives(note: dict[str, Any]) -> bool:
    group = _group(note)
    if group is not None and cgroup.pids(group):
        return True
    return any(lives(pid, start) for pid, start in note.get("pids") or ())


def _group(note: dict[str, Any]) -> str | None:
    """A path is used again by the next runner of that name, the number of a group is not."""
    group = note.get("cgroup")
    same = isinstance(group, str) and note.get("group") is not None and _number(group) == note["group"]
    return group if same else None


def _number(group: str | None) -> int | None:
    try:
        return os.stat(group).st_ino if group is not None else None
    except OSError:
        return None
