"""The runs of a job one after another, as they come."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

from jobctl.cli import describe, over
from jobctl.cli.follow import has_log, until_over, until_started
from jobctl.cli.meant import with_log
from jobctl.cli.patience import Patience
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import NotFound

_POLL_S: Final = 0.5
#: So many runs at most may come between two looks.
_LOOKED_AT: Final = 100

Run = dict[str, Any]


def follow_runs(session: Session, client: Client, job: Run, show: Callable[[Run], None]) -> None:
    """`show` the run that is under way or ran last, then each further one, for as long as there is a next."""
    patience = Patience(session)
    newest = next(iter(client.job_runs(job["id"], limit=1)), None)
    first = with_log(partial(client.job_runs, job["id"]))
    seen = _Seen(first["id"] if first else 0, newest["id"] if newest else 0)
    if first is not None:
        _shown(session, client, first, show)
    while True:
        try:
            fresh, next_at = patience.ask(lambda last=seen: _look(client, job, last))  # type: ignore[misc]
        except NotFound:
            session.render.word(f"{job['name']} was removed")
            return
        if not fresh and next_at is None:
            session.render.word(f"{job['name']} has no next run")
            return
        if not fresh and next_at is not None:
            session.render.word(f"waiting for the next run, {session.viewer.both(next_at)} (ctrl-c to stop)")
            fresh = _awaited(client, job, seen, patience)
        for skipped, runs in groupby(fresh, key=lambda run: run["state"] == "skipped"):
            together = list(runs)
            if skipped and len(together) > 1:
                reason = describe.outcome(together[-1])
                session.render.word(f"{len(together)} runs of {job['name']}: {reason}")
            else:
                for run in together:
                    _shown(session, client, run, show)
            seen = seen._replace(last=together[-1]["id"])


class _Seen(NamedTuple):
    """The last run that was shown, and the newest that there was at the beginning: what was skipped by then is old."""

    last: int
    newest: int

    def is_old(self, run: Run) -> bool:
        return int(run["id"]) <= (max(self) if run["state"] == "skipped" else self.last)


def _look(client: Client, job: Run, seen: _Seen) -> tuple[list[Run], str | None]:
    """What has come, and when the next one does."""
    next_at: str | None = client.job(job["id"])["next_run_at"]
    return _after(client, job, seen), next_at


def _awaited(client: Client, job: Run, seen: _Seen, patience: Patience) -> list[Run]:
    """The runs that came. None when the job has no next one any more, or is gone."""
    while True:
        time.sleep(_POLL_S)
        try:
            fresh, next_at = patience.ask(lambda: _look(client, job, seen))
        except NotFound:
            return []
        if fresh or not next_at:
            return fresh


def _after(client: Client, job: Run, seen: _Seen) -> list[Run]:
    """Runs that came, oldest first."""
    runs: Iterator[Run] = client.job_runs(job["id"], limit=_LOOKED_AT)
    return sorted((run for run in runs if not seen.is_old(run)), key=lambda run: int(run["id"]))


def _shown(session: Session, client: Client, run: Run, show: Callable[[Run], None]) -> None:
    run = until_started(session, client, run)
    if has_log(run):
        show(run)
    ended = until_over(session, client, run)
    session.render.word(over.words(ended, session.viewer))
    over.tell_next(session, [ended])
