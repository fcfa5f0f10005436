"""The values that travel between client, daemon and store. Frozen; times in ms UTC inside, RFC 3339 outside.

What a caller sends is a `JobDraft` or a `RunDraft`; what comes back is a `Job`, a `Run`, an `Attempt` or an `Event`.
Field names are those of the API. A field with unit `_s` outside does not exist: durations are seconds, or a text such
as "2h30m" in a draft.
"""

from typing import Any

import msgspec

from jobctl.states import FailureClass, Misfire, Overlap, RunState, Trigger


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of what callers send: an unknown field is an error, never ignored."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what the daemon answers."""


# ── what callers send ──────────────────────────────────────────────────

Duration = int | float | str
"""Seconds as a number, or a text such as "90s", "2h30m"."""


class ScheduleDraft(Value, frozen=True):
    """When a job is due; none of the first five fields means by hand only."""

    cron: str | None = None
    every: Duration | None = None
    at: str | None = None
    on_boot: bool = False
    on_start: bool = False
    timezone: str | None = None
    jitter: Duration | None = None
    dst_gap: str = "auto"
    dst_overlap: str = "auto"


class Target(Value, frozen=True):
    """What is run: `command` is an argument vector, executed as it is; `shell` is a line for /bin/sh -c."""

    command: list[str] | None = None
    shell: str | None = None


class JobDraft(Value, frozen=True):
    """The body of POST /v1/jobs. `None` means: the default that `jobctl add` prints."""

    target: Target
    name: str | None = None
    schedule: ScheduleDraft | None = None
    run_at: str | None = None
    timezone: str | None = None
    stdin: str | None = None
    payload_ref: str | None = None
    env: dict[str, str] = {}
    env_file: str | None = None
    user: str | None = None
    cwd: str | None = None
    umask: str | None = None
    nice: int | None = None
    timeout: Duration | None = None
    grace: Duration | None = None
    late_after: Duration | None = None
    overlap: Overlap | None = None
    misfire: Misfire | None = None
    misfire_within: Duration | None = None
    log_max: int | str | None = None
    tags: list[str] = []
    note: str | None = None
    source: str = "api"
    paused: bool = False


class RunDraft(Value, frozen=True):
    """The body of POST /v1/runs: an ad-hoc command, now or later."""

    target: Target
    name: str | None = None
    run_at: str | None = None
    timezone: str | None = None
    stdin: str | None = None
    env: dict[str, str] = {}
    user: str | None = None
    cwd: str | None = None
    umask: str | None = None
    timeout: Duration | None = None
    grace: Duration | None = None
    log_max: int | str | None = None
    note: str | None = None


class TriggerDraft(Value, frozen=True):
    """The body of POST /v1/jobs/{id}/runs."""

    run_at: str | None = None
    timezone: str | None = None


class PauseDraft(Value, frozen=True):
    """The body of POST /v1/jobs/{id}/pause."""

    until: str | None = None
    why: str | None = None


class PreviewDraft(Value, frozen=True):
    """The body of POST /v1/schedule/preview: a schedule, and how much of its future to show."""

    schedule: ScheduleDraft
    timezone: str | None = None
    n: int = 5
    since: str | None = None
    until: str | None = None


# ── what the store keeps and services use: complete, in milliseconds ──────────────────────────────────────────────────


class ScheduleSpec(Value, frozen=True):
    """A checked schedule. Exactly one of cron, every_ms, at_ms, on_boot, on_start is set, or none: by hand only."""

    timezone: str
    cron: str | None = None
    every_ms: int | None = None
    anchor_ms: int = 0
    at_ms: int | None = None
    on_boot: bool = False
    on_start: bool = False
    jitter_ms: int = 0
    dst_gap: str = "auto"
    dst_overlap: str = "auto"
    words: str = ""
    """What a person reads, made when the schedule was checked."""


class Execution(Value, frozen=True):
    """What a schedule version runs. Immutable; changing it makes a new version."""

    command: list[str] | None = None
    shell: str | None = None
    stdin: str | None = None
    payload_ref: str | None = None
    env: dict[str, str] = {}
    env_file: str | None = None
    user: str | None = None
    cwd: str | None = None
    umask: int = 0o022
    nice: int = 0
    path: str | None = None


class Policies(Value, frozen=True):
    """What holds for unstarted runs at once when it is changed; it makes no new version."""

    timeout_ms: int | None = None
    grace_ms: int = 10_000
    late_after_ms: int = 10_000
    overlap: Overlap = Overlap.SKIP
    misfire: Misfire = Misfire.ONCE
    misfire_within_ms: int = 86_400_000
    log_max: int = 10_000_000
    tags: list[str] = []
    note: str | None = None


class JobSpec(Value, frozen=True):
    """A whole definition, checked and with every default filled in: what the store is given."""

    name: str
    schedule: ScheduleSpec
    execution: Execution
    policies: Policies
    source: str = "api"
    paused: bool = False
    hidden: bool = False
    """An ad-hoc run's job: never in a listing of jobs."""


# ── what the daemon answers ──────────────────────────────────────────────────


class Schedule(Fact, frozen=True):
    """A job's schedule as the API shows it; `words` is what a person reads."""

    timezone: str
    words: str
    cron: str | None = None
    every: int | float | None = None
    at: str | None = None
    on_boot: bool = False
    on_start: bool = False
    jitter: int | float | None = None
    dst_gap: str = "auto"
    dst_overlap: str = "auto"


class LastRun(Fact, frozen=True):
    """The newest finished run of a job, in short."""

    id: int
    state: RunState
    finished_at: str
    outcome: str | None
    exit_code: int | None
    signal: int | None


class Job(Fact, frozen=True):
    """A job as the API shows it."""

    id: int
    uid: str
    name: str
    owner: str
    state: str
    """ok, failed, running, paused, done, parked: the word `ls` shows."""
    enabled: bool
    paused: bool
    paused_by: str | None
    paused_since: str | None
    paused_until: str | None
    paused_why: str | None
    schedule: Schedule | None
    target: dict[str, Any]
    stdin: str | None
    payload_ref: str | None
    env: dict[str, str]
    env_file: str | None
    user: str | None
    cwd: str | None
    umask: str
    nice: int
    timeout: int | float | None
    grace: int | float
    late_after: int | float
    overlap: Overlap
    misfire: Misfire
    misfire_within: int | float
    log_max: int
    queue: str
    priority: int
    version: int
    rev: int
    next_run_at: str | None
    last_run: LastRun | None
    running: int
    error: str | None
    """Why a parked schedule cannot be expanded."""
    tags: list[str]
    note: str | None
    source: str
    created_at: str


class Run(Fact, frozen=True):
    """A run as the API shows it, active and finished alike."""

    id: int
    key: str
    job_id: int
    job: str
    version: int
    trigger: Trigger
    scheduled_at: str
    due_at: str
    started_at: str | None
    finished_at: str | None
    state: RunState
    outcome: str | None
    """ok, or the word of the last attempt's class, or why it was skipped."""
    failure_class: FailureClass | None = msgspec.field(name="class")
    reason: str | None
    attempt: int
    max_attempts: int
    fence: int | None
    node: str | None
    lease_until: str | None
    exit_code: int | None
    signal: int | None
    late: bool
    coalesced: int
    """How many further occurrences of one clock change, or of one backlog, this run stands for."""


class Attempt(Fact, frozen=True):
    """One effort to execute a run."""

    run_id: int
    attempt: int
    fence: int
    node: str
    pid: int | None
    claimed_at: str
    started_at: str | None
    ended_at: str | None
    exit_code: int | None
    signal: int | None
    failure_class: FailureClass | None = msgspec.field(name="class")
    detail: str | None
    cpu: float | None
    """Seconds of CPU, the command and the children it waited for."""
    max_rss: int | None
    """Bytes; at least this much (a vforked child starts at its parent's)."""
    log_size: int | None
    log_dropped: int
    """Bytes that the cap removed from the middle."""
    signals: list[list[Any]]
    """[RFC 3339, name] of each signal sent to stop it."""
    left_behind: list[int]


class Event(Fact, frozen=True):
    """One state change; `id` only grows. `kind` is noun.verb: job.created, run.ready, run.succeeded, …"""

    id: int
    at: str
    kind: str
    job_id: int | None
    run_id: int | None
    data: dict[str, Any]


class Page(Fact, frozen=True):
    """A list: `next` is the cursor of the following page, null on the last one."""

    schema: int
    items: list[Any]
    next: str | None
