"""What can be done to dead letters: to the one or the group under the cursor, or to all that are marked."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.DEAD

ACTIONS: Final[tuple[Action, ...]] = (
    Action("dead.replay", ("R",), "Replay…", _S, "run it again, under its own key", 12, Risk.ASKED,
           cli="jobctl dlq replay RUN"),
    Action("dead.discard", ("X",), "Discard…", _S, "give it up: it stays in the history", 14, Risk.ASKED,
           cli="jobctl dlq discard RUN"),
    Action("dead.log", ("l",), "Log", _S, "its log, at the line where it failed", 16, cli="jobctl log RUN"),
    Action("dead.group", ("b",), "Group", _S, "by how they failed, or one by one", 40, group="view"),
    Action("dead.unfold", ("right", "plus"), "Unfold", _S, "show the letters of a group", 70, group="move"),
    Action("dead.fold", ("left", "minus"), "Fold", _S, "hide them", 70, group="move"),
    Action("dead.job", ("J",), "Job", _S, "go to its job", 42, group="move"),
    Action("dead.edit", ("e",), "Edit job", _S, "mend its job in the editor", 20, Risk.ASKED, cli="jobctl edit JOB"),
)  # fmt: skip
