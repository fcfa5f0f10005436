"""What can be done on the screen of one run: read its log, and stop or repeat it."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.RUN
_A: Final = Risk.ASKED

ACTIONS: Final[tuple[Action, ...]] = (
    Action("run.attempt.previous", ("left_square_bracket",), "] Attempt", _S, "the attempt before", 20, group="move"),
    Action("run.attempt.next", ("right_square_bracket",), "Next attempt", _S, "the attempt after", 92, group="move"),
    Action("run.down", ("j", "down"), "Down", _S, "a line down", 96, group="move"),
    Action("run.up", ("k", "up"), "Up", _S, "a line up", 96, group="move"),
    Action("run.page.down", ("pagedown", "space", "ctrl+f"), "Page down", _S, "a page down", 97, group="move"),
    Action("run.page.up", ("pageup", "ctrl+b"), "Page up", _S, "a page up", 97, group="move"),
    Action("run.half.down", ("ctrl+d",), "½ down", _S, "half a page down", 97, group="move"),
    Action("run.half.up", ("ctrl+u",), "½ up", _S, "half a page up", 97, group="move"),
    Action("run.top", ("g", "home"), "Top", _S, "the beginning of the log", 96, group="move"),
    Action("run.bottom", ("G", "end"), "End", _S, "the end of the log", 96, group="move"),
    Action("run.left", ("left", "h"), "Left", _S, "towards the beginning of long lines", 97, group="move"),
    Action("run.right", ("right", "l"), "Right", _S, "along long lines", 97, group="move"),
    Action("run.job", ("J",), "Job", _S, "go to its job", 58, group="move"),
    Action("run.kill", ("K",), "Kill…", _S, "kill it now, without grace", 24, _A, cli="jobctl kill RUN"),
    Action("run.cancel", ("c",), "Cancel…", _S, "stop it: TERM, its grace, KILL", 34, _A, cli="jobctl cancel RUN"),
    Action("run.retry", ("R",), "Retry…", _S, "run it again: a waiting retry now, a dead letter, or anew", 21, _A,
           cli="jobctl retry RUN"),
    Action("run.pause", ("p",), "Pause job", _S, "pause its job, or resume it", 29, Risk.UNDONE,
           cli="jobctl pause JOB"),
    Action("run.edit", ("e",), "Edit job", _S, "mend its job in the editor", 27, _A, cli="jobctl edit JOB"),
    Action("run.find", ("slash",), "Find", _S, "find in the log: words, or a pattern", 14, group="find"),
    Action("run.find.next", ("n",), "Next", _S, "the next match", 61, group="find"),
    Action("run.find.previous", ("N",), "Previous", _S, "the match before", 62, group="find"),
    Action("run.only", ("ampersand",), "Only", _S, "only lines that match", 28, group="find"),
    Action("run.follow", ("f",), "Follow", _S, "jump to the end and stay there as it grows", 12, group="view",
           cli="jobctl log -f RUN"),
    Action("run.wrap", ("w",), "Wrap", _S, "wrap long lines, or cut them", 30, group="view"),
    Action("run.times", ("t",), "Time", _S, "when lines were written: clock, since the start, not", 32, group="view"),
    Action("run.details", ("d",), "Details", _S, "everything known of the run, in place of its log", 22, group="view",
           cli="jobctl show RUN --run"),
    Action("run.pager", ("o",), "Pager", _S, "read the log with $PAGER", 36, group="view"),
    Action("run.editor", ("E",), "$EDITOR", _S, "open a copy of the log in $EDITOR", 48, group="view"),
    Action("run.save", ("s",), "Save", _S, "save the log, byte for byte, to a file", 38, group="view",
           cli="jobctl log RUN > FILE"),
)  # fmt: skip
