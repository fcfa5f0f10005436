"""The next times of one job, above the timeline."""

from typing import ClassVar, Final

from jobctl.client.sync import Client
from jobctl_tui.actions import Scope
from jobctl_tui.live.changes import Changes
from jobctl_tui.screens.sheet import Said, Sheet
from jobctl_tui.words import times
from jobctl_tui.words.times import Ahead
from jobctl_tui.words.when import When

#: Times that are shown.
_FIRES: Final = 20
_RUNS: Final = 30
_LABELS: Final = 10


class TimesScreen(Sheet):
    """Escape goes back; `J` goes to the job, `e` changes it."""

    SCOPES: ClassVar[tuple[Scope, ...]] = (Scope.TIMES, Scope.LISTS, Scope.EVERYWHERE)

    def __init__(self, found: Ahead, when: When, now_ms: int) -> None:
        super().__init__(f"times of {found.job['name']}", _said(found, when, now_ms), _LABELS)
        self._found = found

    def changed(self, changes: Changes) -> None:
        """What is done to the job is seen here too."""
        super().changed(changes)
        ident = int(self._found.job["id"])
        if changes.reset or ident in changes.jobs:
            self.errand("look at its times", lambda client: ahead(client, ident), self._came, group="times")

    def _came(self, found: Ahead) -> None:
        self._found = found
        self.tell(_said(found, self.host.when, self.host.feed.now_ms()))

    def subject(self) -> str:
        return str(self._found.job["name"])

    def act_times_job(self) -> None:
        self.host.go_to_job(int(self._found.job["id"]))

    def act_times_edit(self) -> None:
        self.host.open_editor(self._found.job)


def _said(found: Ahead, when: When, now_ms: int) -> list[Said]:
    return [Said(*one) for one in times.told(found, when, now_ms)]


def ahead(client: Client, ident: int) -> Ahead:
    """Asked of the daemon, in a thread."""
    rows = client.upcoming(job=ident)["items"]
    return Ahead(
        client.job(ident), client.job_next(ident, _FIRES), client.durations(ident, _RUNS), rows[0] if rows else None
    )
