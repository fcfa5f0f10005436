"""The states of a run, the one table of allowed moves between them, and why an attempt failed.

`docs/lifecycle.md` is drawn from `MOVES`; the store's CHECK constraints repeat `ACTIVE`, `FINAL` and `DEAD`.
"""

from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """Where a run is. The first three are active; *dead* waits for a replay; the others are in history for good."""

    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    DEAD = "dead"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    SUPERSEDED = "superseded"
    DISCARDED = "discarded"


ACTIVE: Final = frozenset({RunState.SCHEDULED, RunState.READY, RunState.RUNNING})
#: Nothing happens by itself any more: what a caller that waits is told.
ENDED: Final = frozenset(set(RunState) - ACTIVE)
#: In history, which nothing leaves.
FINAL: Final = frozenset(ENDED - {RunState.DEAD})

#: (from, to) → what makes the run move. Anything else is refused.
MOVES: Final[dict[tuple[RunState, RunState], str]] = {
    (RunState.SCHEDULED, RunState.READY): "admitted: due, and its overlap policy allows it",
    (RunState.SCHEDULED, RunState.SKIPPED): "skipped: overlap, limit, too late, or a backup was restored",
    (RunState.SCHEDULED, RunState.CANCELLED): "cancelled, or its job was deleted",
    (RunState.SCHEDULED, RunState.SUPERSEDED): "superseded: its schedule was edited, or a newer run replaced it",
    (RunState.SCHEDULED, RunState.DEAD): "put back: another replay of its batch failed, or a backup was restored",
    (RunState.READY, RunState.RUNNING): "claimed: fence raised, attempt counted",
    (RunState.READY, RunState.SCHEDULED): "held: its job was paused",
    (RunState.READY, RunState.SKIPPED): "skipped: too late under its misfire policy, or a backup was restored",
    (RunState.READY, RunState.CANCELLED): "cancelled, or its job was deleted",
    (RunState.READY, RunState.SUPERSEDED): "superseded: its schedule was edited, or a newer run replaced it",
    (RunState.READY, RunState.DEAD): "put back: another replay of its batch failed, or a backup was restored",
    (RunState.RUNNING, RunState.SUCCEEDED): "the command exited 0",
    (RunState.RUNNING, RunState.FAILED): "failed for good, and its job keeps no dead letters",
    (RunState.RUNNING, RunState.DEAD): "failed for good: hopeless, or out of retries",
    (RunState.RUNNING, RunState.CANCELLED): "stopped by cancel or kill, or replaced by a newer run",
    (RunState.RUNNING, RunState.READY): "to be retried later, or unclaimed: nothing was started",
    (RunState.RUNNING, RunState.SCHEDULED): "the same, while its job is paused",
    (RunState.DEAD, RunState.SCHEDULED): "replayed: the same key, a higher fence",
    (RunState.DEAD, RunState.DISCARDED): "discarded by hand, by age, or as the oldest of too many",
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
    AFTER = "after"
    NOTICE = "notice"


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
    LIMIT = "limit"
    MISFIRE = "misfire"
    DOWN = "down"
    CLOCK = "clock"
    PAUSED = "paused"
    QUARANTINED = "quarantined"
    COALESCED = "coalesced"
    EDITED = "edited"
    ASKED = "asked"
    DELETED = "deleted"
    RESTORED = "restored"


class Overlap(StrEnum):
    """What happens when a run is due while as many of its job are active as may be."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE = "queue"
    REPLACE = "replace"


class Misfire(StrEnum):
    """What happens to occurrences whose time passed while nothing could start them."""

    ONCE = "once"
    ALL = "all"
    SKIP = "skip"


class OnFailure(StrEnum):
    """Where a run goes that failed for good: to the dead letters, or into history."""

    DEAD = "dead"
    RECORD = "record"


class MailOn(StrEnum):
    """After which runs mail is sent: that printed something, that failed for good, all that began."""

    OUTPUT = "output"
    FAILURE = "failure"
    ALWAYS = "always"


class After(StrEnum):
    """With which end of another job's run a job starts. A dead letter is a failure."""

    SUCCESS = "success"
    FAILURE = "failure"
    ANY = "any"
