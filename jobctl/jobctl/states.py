"""The states of a run, the one table of allowed moves between them, and why an attempt failed.

`docs/lifecycle.md` is drawn from `MOVES`; the store's CHECK constraints repeat `ACTIVE` and `FINAL`.
"""

from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """Where a run is. The first three are active; the others are final and live in history."""

    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


ACTIVE: Final = frozenset({RunState.SCHEDULED, RunState.READY, RunState.RUNNING})
FINAL: Final = frozenset(set(RunState) - ACTIVE)

#: (from, to) → what makes the run move. Anything else is refused.
MOVES: Final[dict[tuple[RunState, RunState], str]] = {
    (RunState.SCHEDULED, RunState.READY): "admitted: due, and its overlap policy allows it",
    (RunState.SCHEDULED, RunState.SKIPPED): "skipped: overlap, or too late under its misfire policy",
    (RunState.SCHEDULED, RunState.CANCELLED): "cancelled, or its job was deleted",
    (RunState.READY, RunState.RUNNING): "claimed: fence raised, attempt counted",
    (RunState.READY, RunState.SCHEDULED): "held: its job was paused",
    (RunState.READY, RunState.SKIPPED): "skipped: too late under its misfire policy",
    (RunState.READY, RunState.CANCELLED): "cancelled, or its job was deleted",
    (RunState.RUNNING, RunState.SUCCEEDED): "the command exited 0",
    (RunState.RUNNING, RunState.FAILED): "the command failed, timed out, could not start, or was lost",
    (RunState.RUNNING, RunState.CANCELLED): "stopped by cancel or kill",
    (RunState.RUNNING, RunState.READY): "unclaimed: nothing was started, no attempt is burnt",
}


def may_move(before: RunState, after: RunState) -> bool:
    """Whether a run in `before` may become `after`."""
    return (before, after) in MOVES


class Trigger(StrEnum):
    """What asked for a run."""

    SCHEDULE = "schedule"
    CATCH_UP = "catch_up"
    MANUAL = "manual"
    BOOT = "boot"
    START = "start"


class FailureClass(StrEnum):
    """Why an attempt did not succeed. `oom` is claimed only when the kernel's counter says so."""

    EXIT_CODE = "exit_code"
    SIGNAL = "signal"
    OOM = "oom"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    SPAWN_ERROR = "spawn_error"
    LOST = "lost"
    POLICY = "policy"


class SkipReason(StrEnum):
    """Why an occurrence did not become a run, or a run never started."""

    OVERLAP = "overlap"
    MISFIRE = "misfire"
    PAUSED = "paused"
    COALESCED = "coalesced"
    DELETED = "deleted"


class Overlap(StrEnum):
    """What happens when a run is due while an earlier one of its job is active."""

    ALLOW = "allow"
    SKIP = "skip"


class Misfire(StrEnum):
    """What happens to occurrences whose time passed while nothing could start them."""

    ONCE = "once"
    ALL = "all"
    SKIP = "skip"
