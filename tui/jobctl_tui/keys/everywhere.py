"""What can be done on every tab."""

from typing import Final

from jobctl_tui.actions import Action, Scope

_S: Final = Scope.EVERYWHERE

ACTIONS: Final[tuple[Action, ...]] = (
    Action("go.jobs", ("1",), "Jobs", _S, "the jobs, trouble first", 90, group="move"),
    Action("go.runs", ("2",), "Runs", _S, "what runs and what has run", 90, group="move"),
    Action("go.upcoming", ("3",), "Upcoming", _S, "what fires next, on a time line", 90, group="move"),
    Action("go.dead", ("4",), "Dead", _S, "dead letters: what failed for good", 90, group="move"),
    Action("go.daemon", ("5",), "Daemon", _S, "health, limits and recent events", 90, group="move"),
    Action("tab.next", ("tab",), "Next tab", _S, "the next tab", 91, group="move"),
    Action("tab.previous", ("shift+tab",), "Previous tab", _S, "the tab before", 91, group="move"),
    Action("back", ("escape",), "Back", _S, "back: close, clear marks, clear the filter", 80, group="move"),
    Action("undo", ("u",), "Undo", _S, "take the last change back, for 30 s", 45),
    Action("copy", ("y",), "Copy", _S, "copy what is under the cursor, or its command line", 40, group="view"),
    Action("time.zone", ("z",), "Zone", _S, "times in the local zone, UTC, or the job's", 70, group="view"),
    Action("time.form", ("t",), "Time", _S, "times relative, absolute, or both", 71, group="view"),
    Action("freeze", ("F",), "Freeze", _S, "hold the screen still; what happens is counted", 72, group="view"),
    Action("mouse", ("m",), "Mouse", _S, "give the mouse to the terminal, to select text", 85, group="view"),
    Action("go.job", (), "Go to job", _S, "the tab of jobs, with the cursor on one", 92, group="move",
           cli="jobctl show JOB"),
    Action("theme", (), "Theme", _S, "another look: jobctl-dark, jobctl-light, ansi, mono", 92, group="view"),
    Action("palette", ("colon", "ctrl+p"), "Commands", _S, "commands by name, with arguments", 60, group="view"),
    Action("repaint", ("ctrl+l",), "Repaint", _S, "paint the whole screen anew", 95, group="view"),
    Action("suspend", ("ctrl+z",), "Suspend", _S, "to the shell; fg comes back", 95, group="view"),
    Action("help", ("question_mark", "f1"), "Help", _S, "all keys of this screen", 0, group="view"),
    Action("quit", ("q", "ctrl+c"), "Quit", _S, "leave the screens; jobs go on", 0, group="view"),
)  # fmt: skip
