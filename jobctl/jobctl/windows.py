"""Windows onto long lists: what a screen needs of each row, and where in the list its rows lie.

Field names are those of the API. Times are RFC 3339, durations seconds.
"""

from jobctl.model import Fact
from jobctl.states import FailureClass, RunState, Trigger

#: Sorts of jobs. Attention: trouble first, then what fires next, then what waits for nothing.
JOB_SORTS = ("attention", "name", "next", "last", "state", "duration")


class Skips(Fact, frozen=True):
    """Occurrences to come that are left out because somebody asked for it: how many, the first and the last."""

    count: int
    first: str
    last: str


class Active(Fact, frozen=True, rename={"failure_class": "class"}):
    """The run that a job is at: one that is running, else one that waits for its retry, else one that waits."""

    id: int
    state: RunState
    started_at: str | None
    due_at: str
    attempt: int
    max_attempts: int
    failure_class: FailureClass | None
    """How its last attempt failed, as far as one has."""
    exit_code: int | None
    signal: int | None
    reason: str | None


class Last(Fact, frozen=True, rename={"failure_class": "class"}):
    """The newest run of a job that has ended."""

    id: int
    state: RunState
    outcome: str | None
    failure_class: FailureClass | None
    exit_code: int | None
    signal: int | None
    finished_at: str
    duration: float | None
    """None: it never began, or its row is no longer kept."""


class JobLine(Fact, frozen=True):
    """A job as a row of a screen."""

    id: int
    name: str
    owner: str
    state: str
    """The first that is so of parked, quarantined, paused, running, failed, done, late, retrying, queued, manual, new,
    ok. A job whose last run is dead is failed; one that has not run yet is new."""
    rank: int
    """Its place in the order of attention, by the worst that holds of it, whatever its word is: 0 failed, parked or
    quarantined, 1 late, 2 retrying, 3 running, 4 queued, 5 waits for its time, 6 paused, 7 has no time, 8 done."""
    words: str
    """Its schedule in words."""
    expression: str
    """Its schedule as it was given; empty: by hand."""
    timezone: str
    paused_why: str | None
    suspended_by: str | None
    suspended_until: str | None
    quarantined: bool
    next_run_at: str | None
    skips: Skips | None
    late_since: str | None
    """Since when a run is due that nothing but a lack of slots, or of a daemon, keeps from starting."""
    active: Active | None
    last: Last | None
    recent: str
    """The last ten runs, oldest first: . ok, r ok after a retry or a replay, x failed, s skipped, k killed or
    cancelled, > running."""
    error: str | None
    """What the last run said when it failed; of a parked job what is wrong with its schedule."""
    dead: int
    tags: list[str]
    queue: str
    priority: int
    declared: str | None
    rev: int
    p50: float | None
    """How long its runs that succeed usually take; None: none has."""
    p95: float | None


class RunLine(Fact, frozen=True, rename={"failure_class": "class"}):
    """A run as a row of a screen."""

    id: int
    job_id: int
    job: str
    owner: str
    state: RunState
    trigger: Trigger
    scheduled_at: str
    due_at: str
    started_at: str | None
    finished_at: str | None
    attempt: int
    uncounted: int
    max_attempts: int
    replays: int
    outcome: str | None
    failure_class: FailureClass | None
    reason: str | None
    exit_code: int | None
    signal: int | None
    late: bool
    queue: str
    priority: int
    node: str | None
    error: str | None
    p50: float | None
    p95: float | None
    waits_for: str | None
    """What keeps it from starting now that it is due: an earlier run of its job, its turn in a replay, a free slot…"""


class Window(Fact, frozen=True):
    """A part of a list."""

    schema: int
    event: int
    """The newest event when all of this was read: what came after it is not in here."""
    total: int
    """Rows of the list."""
    offset: int
    """Of the first item."""
    items: list[JobLine] | list[RunLine]


class RunsWindow(Window, frozen=True):
    """Of runs: those that have not ended come first."""

    active: int
    """Rows of the list that have not ended."""
    today: dict[str, int]
    """All runs that ended since midnight where the daemon is, by state."""
