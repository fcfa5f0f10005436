"""How attempts end: by themselves, killed, unseen, or before they began."""

from __future__ import annotations

import os
import signal

from . import cgroup
from .attempt import ENDED, STARTING, Attempt, result
from .attempts import Attempts
from .groups import Groups
from .kill import Ending
from .leftovers import Leftovers
from .loop import Loop
from .tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Ends:
    """Ends attempts, and settles those that have ended."""

    def __init__(self, loop: Loop, attempts: Attempts, groups: Groups, leftovers: Leftovers) -> None:
        self._loop = loop
        self._attempts = attempts
        self._groups = groups
        self._leftovers = leftovers

    def kill(self, attempt: Attempt, cause: str, mode: str, grace_ms: int | None = None) -> None:
        """End an attempt: mode cancel asks first, mode kill does not. The first cause is the one recorded."""
        if attempt.state == ENDED:
            return
        attempt.cause = attempt.cause or cause
        if attempt.state == STARTING and attempt.pid is None:
            self.never_began(attempt)
            return
        if attempt.birth is not None:
            attempt.stop = mode, grace_ms
            attempt.birth.stop()
            return
        if attempt.ending is None:
            assert attempt.tree is not None
            attempt.ending = Ending(self._loop, attempt.tree, lambda left: self._tree_ended(attempt, left))
        if mode == "kill":
            attempt.ending.force()
        else:
            attempt.ending.ask(attempt.grace_ms if grace_ms is None else grace_ms)

    def never_began(self, attempt: Attempt) -> None:
        """Record the end of what was stopped before its command was there."""
        attempt.started_at = attempt.started_boot = None
        attempt.remarks.append("was not started")
        attempt.end()
        self._groups.release(attempt, empty=True)
        self._attempts.settle(attempt, result(attempt, self._attempts.boot_id), "ended")

    def lose(self, attempt: Attempt, why: str) -> None:
        """Record an attempt whose process is gone and whose outcome nobody saw."""
        attempt.adopted = True
        attempt.cause = "lost"
        attempt.remarks.append(why)
        attempt.output.recall()
        size = _finish_output(attempt, alone=True)
        self._attempts.settle(attempt, result(attempt, self._attempts.boot_id, log_size=size), "ended")

    def leader_ended(self, attempt: Attempt) -> None:
        """Take note that the process that was followed has ended."""
        attempt.end()
        assert attempt.pidfd is not None
        self._loop.remove(attempt.pidfd)
        os.close(attempt.pidfd)
        attempt.pidfd = None
        if attempt.adopted and attempt.tree is not None:
            attempt.tree.leader = None
        if attempt.ending is not None:
            # Not reaped before the tree is gone: until then nobody else can get its number, session and group.
            attempt.ending.leader_died()
        else:
            self._finish(attempt, [])

    def _tree_ended(self, attempt: Attempt, survivors: list[int]) -> None:
        if survivors:
            attempt.remarks.append(f"{len(survivors)} processes survive KILL")
        self._finish(attempt, survivors)

    def _finish(self, attempt: Attempt, survivors: list[int]) -> None:
        if attempt.deadline is not None:
            attempt.deadline.cancel()
        status = _reap(attempt)
        left = survivors or _left_behind(attempt)
        if attempt.adopted and attempt.cause is None:
            attempt.cause = "lost"
            attempt.remarks.append("its runner died; the outcome is unknown")
        log_size = _finish_output(attempt, alone=not left)
        _remark_on_log(attempt)
        if left:
            self._leftovers.add(attempt, left)
        oom = attempt.ending is None and _killed(status) and self._groups.lacked_memory(attempt)
        self._groups.release(attempt, empty=not left)
        values = result(attempt, self._attempts.boot_id, oom=oom, log_size=log_size, left_behind=left, **status)
        self._attempts.settle(attempt, values, "ended")


def _reap(attempt: Attempt) -> dict[str, Any]:
    if attempt.adopted or attempt.pid is None:
        return {}
    try:
        _, status, usage = os.wait4(attempt.pid, 0)
    except ChildProcessError:
        attempt.cause = attempt.cause or "lost"
        attempt.remarks.append("its exit status was taken by somebody else")
        return {}
    code = os.waitstatus_to_exitcode(status)
    return {
        "exit_code": code if code >= 0 else None,
        "signal": -code if code < 0 else None,
        "cpu_ms": round((usage.ru_utime + usage.ru_stime) * 1000),
        "max_rss_kb": usage.ru_maxrss,
    }


def _left_behind(attempt: Attempt) -> list[int]:
    """Return what a leader that ended by itself has left running. Cheap when, as mostly, there is nothing."""
    grouped = attempt.cgroup is not None and cgroup.pids(attempt.cgroup) not in ([], [attempt.pid])
    if grouped or (attempt.pid is not None and _group_lives(attempt.pid)):
        return sorted(Tree(attempt.marked, None, attempt.cgroup).members())
    return []


def _group_lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _finish_output(attempt: Attempt, alone: bool) -> int:
    try:
        return attempt.output.finish(alone)
    except OSError as error:
        attempt.remarks.append(f"log is larger than its cap: {error.strerror}")
        return attempt.output.size()


def _remark_on_log(attempt: Attempt) -> None:
    if attempt.output.removed:
        attempt.remarks.append("log_incomplete: its file was removed or replaced while it ran")
    if attempt.output.is_full():
        attempt.remarks.append("log_incomplete(ENOSPC): there was no room left for its output")


def _killed(status: dict[str, Any]) -> bool:
    # 137 is how a shell tells that its last command was killed.
    return status.get("signal") == signal.SIGKILL or status.get("exit_code") == 128 + signal.SIGKILL
