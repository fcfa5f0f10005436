"""Watches what runs, started here or adopted: for its end, and for the end of its time."""

from __future__ import annotations

import os

from .attempt import ENDED, RUNNING, Attempt
from .attempts import Attempts
from .birth import SPAWN_S
from .ends import Ends
from .identity import is_unborn
from .log_looks import LogLooks
from .loop import READ, Loop
from .protocol import dumps
from .tree import Tree

_OPEN_AGAIN_S = 0.1


class Watch:
    """Follows each first process by its pidfd."""

    def __init__(self, loop: Loop, attempts: Attempts, ends: Ends, looks: LogLooks) -> None:
        self._loop = loop
        self._attempts = attempts
        self._ends = ends
        self._looks = looks

    def child(self, attempt: Attempt) -> None:
        """Follow a child of the runner; while no descriptor is to be had, a little later."""
        assert attempt.pid is not None
        try:
            pidfd = os.pidfd_open(attempt.pid)
        except OSError as error:
            self._attempts.complain(f"{attempt.id}: pidfd: {error}")
            self._loop.after(_OPEN_AGAIN_S, lambda: self._child_again(attempt))
            return
        self.follow(attempt, pidfd)

    def _child_again(self, attempt: Attempt) -> None:
        if attempt.state != ENDED:
            self.child(attempt)

    def adopt(self, attempt: Attempt, pidfd: int) -> None:
        """Take over a living process that another runner started."""
        attempt.adopted = True
        assert attempt.pid is not None
        attempt.tree = Tree(attempt.marked, attempt.pid, attempt.cgroup)
        attempt.output.recall()
        if is_unborn(attempt.pid):
            self._loop.after(SPAWN_S, lambda: self._end_unborn(attempt))
        self.follow(attempt, pidfd)

    def _end_unborn(self, attempt: Attempt) -> None:
        """End what a runner that died has left half started, and what does not come to its exec."""
        if attempt.state == RUNNING and attempt.pid is not None and is_unborn(attempt.pid):
            attempt.remarks.append("spawn_timeout: its exec did not come back within half a minute")
            self._ends.kill(attempt, "lost", "kill")

    def follow(self, attempt: Attempt, pidfd: int) -> None:
        """Wait for the end of a process that runs, and hold it to its timeout."""
        attempt.pidfd = pidfd
        self._attempts.note_running(attempt)
        self._loop.add(pidfd, READ, lambda _: self._ends.leader_ended(attempt))
        if (overdue_at := attempt.overdue_at) is not None:
            attempt.deadline = self._loop.at(overdue_at, lambda: self._overdue(attempt))
        self._looks.begin(attempt)
        self._attempts.report("started", dumps({
            "id": attempt.id,
            "pid": attempt.pid,
            "pid_start": attempt.pid_start,
            "started_at": attempt.started_at,
            "ends_boot_ms": attempt.ends_boot_ms,
        }))  # fmt: skip

    def _overdue(self, attempt: Attempt) -> None:
        if attempt.state == RUNNING and attempt.ended_at is None and not _ended_unseen(attempt):
            self._ends.kill(attempt, "timed_out", "cancel")


def _ended_unseen(attempt: Attempt) -> bool:
    # An exit that is there to be seen was before the deadline was looked at.
    if attempt.adopted or attempt.pid is None:
        return False
    try:
        return os.waitid(os.P_PID, attempt.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except OSError:
        return False
