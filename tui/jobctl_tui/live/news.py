"""What has been heard since the screens were last told: bounded, however much happens meanwhile."""

from collections import deque
from typing import Any, Final

from jobctl_tui.live.changes import Back, Changes

Json = dict[str, Any]

#: Kinds of events that somebody who looks for trouble looks for.
TROUBLE: Final = frozenset({"run.failed", "run.dead", "job.quarantined", "job.parked", "access.denied"})
EVENTS_MAX: Final = 500
#: When more jobs and runs than this have changed at once, reading everything on the screen again costs less.
IDS_MAX: Final = 200


class News:
    """True when there is something to tell."""

    __slots__ = ("_jobs", "_runs", "anew", "back", "events", "history", "link", "newest", "reset", "status")

    def __init__(self) -> None:
        self.newest = 0
        self.events: deque[Json] = deque(maxlen=EVENTS_MAX)
        self.history: deque[Json] = deque(maxlen=EVENTS_MAX)
        """Events from before the screens began, or from while the daemon was away."""
        self.status = False
        self.link = False
        self.reset = False
        self.anew = False
        """What was told before is of another database."""
        self.back: Back | None = None
        self._jobs: set[int] = set()
        self._runs: set[int] = set()

    def __bool__(self) -> bool:
        return self.status or self.link or self.reset or bool(self.events) or bool(self.history)

    def add(self, event: Json) -> bool:
        """Whether it is the first of them, so that somebody has to be woken to tell them."""
        first = not self
        self.newest = event["id"]
        self.events.append(event)
        self.reset = self.reset or event["kind"] == "daemon.restored"
        for ids, named in ((self._jobs, event["job_id"]), (self._runs, event["run_id"])):
            if named is not None and len(ids) <= IDS_MAX:
                ids.add(named)
        return first

    def forget(self) -> None:
        """Those that are here are of another database."""
        self.anew = True
        self.events.clear()
        self.history.clear()

    def past(self, event: Json) -> None:
        """It happened before what will be read now."""
        self.newest = event["id"]
        self.history.append(event)

    def changes(self) -> Changes:
        burst = len(self._jobs) + len(self._runs) > IDS_MAX
        jobs, runs = (frozenset[int](), frozenset[int]()) if burst else (frozenset(self._jobs), frozenset(self._runs))
        return Changes(jobs, runs, tuple(self.events), self.status, self.link, self.reset or burst, self.back)
