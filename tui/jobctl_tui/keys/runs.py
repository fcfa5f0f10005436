"""What can be done to runs in their list: to the one under the cursor, or to all that are marked."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.RUNS
_A: Final = Risk.ASKED

ACTIONS: Final[tuple[Action, ...]] = (
    Action("runs.log", ("l",), "Log", _S, "its log, at the line where it failed", 12, cli="jobctl log RUN"),
    Action("runs.kill", ("K",), "Kill…", _S, "kill it now, without grace", 14, _A, cli="jobctl kill RUN"),
    Action("runs.cancel", ("c",), "Cancel…", _S, "stop it: TERM, its grace, KILL", 18, _A, cli="jobctl cancel RUN"),
    Action("runs.retry", ("R",), "Retry…", _S, "run it again: a waiting retry now, a dead letter, or anew", 16, _A,
           cli="jobctl retry RUN"),
    Action("runs.job", ("J",), "Job", _S, "go to its job", 42, group="move"),
)  # fmt: skip
