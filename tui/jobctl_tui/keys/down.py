"""What helps while the daemon is away."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.DOWN

ACTIONS: Final[tuple[Action, ...]] = (
    Action("down.retry", ("enter",), "Retry now", _S, "try to reach the daemon now", 5),
    # Nothing is lost by it, and `jobctl daemon stop` is its opposite; a screen that only reads leaves it out.
    Action("down.start", ("s",), "Start daemon", _S, "start the daemon of this account", 6, Risk.UNDONE,
           cli="jobctl daemon start"),
    Action("down.doctor", ("d",), "Doctor", _S, "look for what keeps it from running", 7, cli="jobctl doctor"),
    Action("down.log", ("L",), "Daemon log", _S, "the last lines that it wrote of itself", 8),
    Action("down.copy", ("y",), "Copy error", _S, "copy why it is not reached", 9),
)  # fmt: skip
