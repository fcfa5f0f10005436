"""What can be done to the daemon, to its queues, and to find out how it is."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.DAEMON
_U, _A = Risk.UNDONE, Risk.ASKED

ACTIONS: Final[tuple[Action, ...]] = (
    Action("queue.pause", ("p",), "Pause queue", _S, "pause the queue under the cursor, or resume it", 12, _U,
           cli="jobctl queue pause QUEUE"),
    Action("queue.limit", ("e",), "Limit…", _S, "how many runs of the queue may run at once", 20, _A,
           cli="jobctl queue set QUEUE --concurrency N"),
    Action("daemon.pause", ("P",), "Pause all…", _S, "start no job any more, or go on; what runs goes on", 14, _A,
           cli="jobctl daemon pause"),
    Action("daemon.doctor", ("d",), "Doctor", _S, "look for what could go wrong on this host", 16,
           cli="jobctl doctor"),
    Action("daemon.deep", ("D",), "Deep", _S, "the same, and all of the database: takes its time", 60,
           cli="jobctl doctor --deep"),
    Action("daemon.log", ("L",), "Log", _S, "the last lines that the daemon wrote of itself", 18),
    Action("daemon.side", ("right", "left", "l", "h"), "Other side", _S, "to what happened, and back to how it is", 40,
           group="move"),
)  # fmt: skip
