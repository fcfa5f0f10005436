"""The job of the run that is shown, as it is now: paused, resumed and changed from there."""

from typing import Any

from jobctl_tui.actions import Action
from jobctl_tui.live import jobacts
from jobctl_tui.live.aim import Aim, called
from jobctl_tui.screens.framed import Framed
from jobctl_tui.words.job import is_paused

Json = dict[str, Any]


class ItsJob:
    """Of one screen."""

    def __init__(self, screen: Framed) -> None:
        self._screen = screen
        self._job: Json | None = None
        """None: it is gone, or not here yet."""

    def read(self, run: Json) -> None:
        ident, group = int(run["job_id"]), f"job of run {run['id']}"
        self._screen.errand(
            "its job", lambda client: client.job(ident), self._came, lambda _: self._came(None), group=group
        )

    def _came(self, job: Json | None) -> None:
        self._job = job
        self._screen.renew_lines()

    def label(self, action: Action) -> str | None:
        """Of what is done to it."""
        if self._job is None:
            return ""
        return "Resume job" if action.id == "run.pause" and is_paused(self._job) else None

    def pause(self) -> None:
        """Or resumes it; `u` takes it back."""
        job = self._job
        if job is None:
            self._screen.host.say("its job is gone")
            return
        aims = [Aim(int(job["id"]), str(job["name"]))]
        change, did = (jobacts.resume(aims), "resumed") if is_paused(job) else (jobacts.pause(aims), "paused")
        back = "resume" if did == "resumed" else "pause"
        self._screen.host.act(f"{did} {called(aims)}", change.work, change.undo, f"{back} of {called(aims)} taken back")

    def edit(self) -> None:
        if self._job is not None:
            self._screen.host.open_editor(self._job)
        else:
            self._screen.host.say("its job is gone")
