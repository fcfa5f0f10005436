"""Which run is meant where only its job is named: not the newest row, when all that is newer was skipped."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from jobctl.cli import describe
from jobctl.cli.verbs import RUN_STATES
from jobctl.client.transport import Json

#: Lists runs of one job, newest first: takes `limit` and `state`.
Runs = Callable[..., Iterator[Json]]
Meant = Callable[[Runs], Json | None]

_NOT_SKIPPED: Final = ",".join(state for state in RUN_STATES if state != "skipped")
#: So many of a job's newest runs are looked at.
_LOOKED_AT: Final = 100


def at_work(runs: Runs) -> Json | None:
    """The one that is under way, else the newest that was not skipped, else the newest."""
    return _under_way(runs) or _first(runs(limit=1, state=_NOT_SKIPPED)) or _first(runs(limit=1))


def with_log(runs: Runs) -> Json | None:
    """The one that is under way, else the newest that has had an attempt, else as `at_work`."""
    begun = (run for run in runs(limit=_LOOKED_AT, state=_NOT_SKIPPED) if run["attempt"])
    return _under_way(runs) or _first(begun) or at_work(runs)


def _under_way(runs: Runs) -> Json | None:
    """The newest that runs, else the newest that waits for a retry."""
    waiting = (run for run in runs(limit=_LOOKED_AT, state="scheduled,ready") if describe.waits_for_retry(run))
    return _first(runs(limit=1, state="running")) or _first(waiting)


def _first(runs: Iterable[Json]) -> Json | None:
    return next(iter(runs), None)
