"""What can be done to jobs: to the one under the cursor, or to all that are marked."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.JOBS
_U, _A = Risk.UNDONE, Risk.ASKED

ACTIONS: Final[tuple[Action, ...]] = (
    Action("job.log", ("l",), "Log", _S, "the log of its last run, at the line where it failed", 12,
           cli="jobctl log JOB"),
    Action("job.run", ("r",), "Run", _S, "run it now", 14, _U, cli="jobctl run JOB"),
    Action("job.pause", ("p",), "Pause", _S, "pause it, or resume it", 16, _U, cli="jobctl pause JOB"),
    Action("job.pause.until", ("P",), "Pause…", _S, "pause it until a time, and say why", 66, _A,
           cli="jobctl pause JOB --until TIME"),
    Action("job.resume", (), "Resume", _S, "resume it", 67, _U, cli="jobctl resume JOB"),
    Action("job.skip", ("x",), "Skip next", _S, "leave its next time out", 55, _U, cli="jobctl skip JOB"),
    Action("job.unskip", (), "Skip none", _S, "what is left out comes after all", 68, _U, cli="jobctl skip JOB --undo"),
    Action("job.edit", ("e",), "Edit", _S, "change it", 18, _A, cli="jobctl edit JOB"),
    Action("job.new", ("n",), "New", _S, "add a job", 34, _A, cli="jobctl add"),
    Action("job.rerun", ("R",), "Retry…", _S, "retry its last failed run, or replay its newest dead letter", 36, _A,
           cli="jobctl retry JOB"),
    Action("job.kill", ("K",), "Kill…", _S, "kill its run", 50, _A, cli="jobctl kill JOB"),
    Action("job.delete", ("D",), "Delete…", _S, "remove it; its name has to be typed", 64, _A, cli="jobctl rm JOB"),
)  # fmt: skip
