"""What can be done on the timeline of what fires next, and where the times of one job stand."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.UPCOMING
_T: Final = Scope.TIMES
_U: Final = Risk.UNDONE

ACTIONS: Final[tuple[Action, ...]] = (
    Action("time.later", ("right",), "Later", _S, "move the window a quarter of it on", 28, group="move"),
    Action("time.earlier", ("left",), "Earlier", _S, "move it back, at most to now", 29, group="move"),
    Action("time.now", ("0",), "Now", _S, "back to now", 60, group="move"),
    Action("time.in", ("plus", "equals_sign"), "Zoom in", _S, "7d, 24h, 6h, 1h: a shorter window", 18, group="view"),
    Action("time.out", ("minus",), "Zoom out", _S, "1h, 6h, 24h, 7d: a longer window", 19, group="view"),
    Action("upcoming.skip", ("s",), "Skip next", _S, "leave its next time out", 12, _U, cli="jobctl skip JOB"),
    Action("upcoming.pause", ("p",), "Pause", _S, "pause it, or resume it", 14, _U, cli="jobctl pause JOB"),
    Action("upcoming.edit", ("e",), "Edit", _S, "change it", 20, _U, cli="jobctl edit JOB"),
    Action("upcoming.job", ("J",), "Job", _S, "its row on the tab of jobs", 26, group="move", cli="jobctl show JOB"),
    Action("upcoming.warnings", ("w",), "Warnings", _S, "crowded minutes and clock changes of the window", 44,
           group="view"),
    Action("times.job", ("J",), "Job", _T, "its row on the tab of jobs", 10, group="move", cli="jobctl show JOB"),
    Action("times.edit", ("e",), "Edit", _T, "change it", 12, _U, cli="jobctl edit JOB"),
)  # fmt: skip
