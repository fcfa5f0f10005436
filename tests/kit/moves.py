"""What the event log must tell: every move of a run once and in order, only moves that may be, and fences that rise."""

from collections.abc import Mapping
from typing import Any, Final

from jobctl.states import FINAL, RunState, may_move

#: What a run is after an event of it.
AFTER: Final = {
    "run.scheduled": RunState.SCHEDULED,
    "run.waiting": RunState.SCHEDULED,
    "run.held": RunState.SCHEDULED,
    "run.replayed": RunState.SCHEDULED,
    "run.ready": RunState.READY,
    "run.retrying": RunState.READY,
    "run.running": RunState.RUNNING,
    "run.dead": RunState.DEAD,
} | {f"run.{state}": state for state in FINAL}
#: Events that may leave a run in its state: its place among the scheduled and the ready is another.
NOTES: Final = frozenset({"run.scheduled", "run.waiting", "run.held", "run.ready"})


class Moves:
    """Runs as the log tells them (I14), and their fences (I2)."""

    def __init__(self) -> None:
        self.states: dict[int, RunState] = {}
        self.fences: dict[int, int] = {}

    def hear(self, run_id: int, kind: str, data: Mapping[str, Any]) -> None:
        """The next event of a run. Raises AssertionError when it cannot be."""
        before, after = self.states.get(run_id), AFTER[kind]
        if before is None:
            assert kind == "run.scheduled", f"run {run_id} begins with {kind} (I14)"
        elif before is after:
            assert kind in NOTES, f"{kind} of run {run_id}, which is {before} already (I14)"
        else:
            assert may_move(before, after), f"{kind} of run {run_id}, which is {before} (I14)"
        self.states[run_id] = after
        if after is RunState.RUNNING:
            assert data["fence"] > self.fences.get(run_id, 0), f"a fence of run {run_id} does not rise (I2)"
            self.fences[run_id] = data["fence"]
