"""The values that travel between client, daemon and store. Frozen; times in ms UTC inside, RFC 3339 outside.

What a caller sends is a `JobDraft` or a `RunDraft`; what comes back is a `Job`, a `Run`, an `Attempt` or an `Event`.
Field names are those of the API. A field with unit `_s` outside does not exist: durations are seconds, or a text such
as "2h30m" in a draft.
"""

from typing import Any

import msgspec

from jobctl.states import After, FailureClass, MailOn, Misfire, OnFailure, Overlap, RunState, Trigger


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of what callers send: an unknown field is an error, never ignored."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what the daemon answers."""


# ── what callers send ──────────────────────────────────────────────────

Duration = int | float | str
"""Seconds as a number, or a text such as "90s", "2h30m"."""


class ScheduleDraft(Value, frozen=True):
    """When a job is due; none of the first six fields means by hand only. `after` is JOB[:success|failure|any]."""

    cron: str | None = None
    every: Duration | None = None
    at: str | None = None
    after: str | None = None
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


class RetryDraft(Value, frozen=True):
    """What happens after an attempt failed. `max` counts the attempts after the first; `lost` those after a loss.

    `no_retry_on` names exit codes and failure classes that end the run at once; `on_lost` is retry, dead or
    ask:COMMAND.
    """

    max: int | None = None
    backoff: Duration | None = None
    backoff_max: Duration | None = None
    no_retry_on: list[int | str] | None = None
    on_lost: str | None = None
    lost: int | None = None


class Mail(Value, frozen=True):
    """A mail with the output of each run, as cron sends it. `to`: login names and addresses, with commas.

    `on` None: as the host has it for lines of crontabs (jobd.toml, `crontab_mail`).
    """

    to: str
    on: MailOn | None = None


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
    overlap_queue: int | None = None
    limit: int | None = None
    retry: RetryDraft | None = None
    on_failure: OnFailure | None = None
    queue: str | None = None
    priority: int | str | None = None
    notify: list[str] | None = None
    mail: Mail | None = None
    log_max: int | str | None = None
    tags: list[str] = []
    note: str | None = None
    login_env: bool = False
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
    retry: RetryDraft | None = None
    on_failure: OnFailure | None = None
    queue: str | None = None
    priority: int | str | None = None
    notify: list[str] | None = None
    log_max: int | str | None = None
    note: str | None = None


class TriggerDraft(Value, frozen=True):
    """The body of POST /v1/jobs/{id}/runs."""

    run_at: str | None = None
    timezone: str | None = None


class PauseDraft(Value, frozen=True):
    """The body of POST …/pause, of a job, a queue or the daemon."""

    until: str | None = None
    why: str | None = None


class ResumeDraft(Value, frozen=True):
    """The body of POST …/resume: `catch_up` applies the misfire policy to what was missed."""

    catch_up: bool = False


class SkipDraft(Value, frozen=True):
    """The body of POST /v1/jobs/{id}/skip: how many of the next occurrences are left out; 0: none is, after all."""

    count: int = 1
    why: str | None = None


class QueueDraft(Value, frozen=True):
    """The body of PUT /v1/queues/{name}: how many of its runs may run at once; None: as many as there are slots."""

    concurrency: int | None


class OwnerDraft(Value, frozen=True):
    """The body of POST /v1/owners/{name}/rename: the account that has its jobs from now on; `uid` says which owner is
    meant where several had the name."""

    to: str
    uid: int | None = None


class EditedWork(Value, frozen=True):
    """What a replay changes of the work of a dead letter, for this run alone; None: as it was."""

    target: Target | None = None
    stdin: str | None = None
    env: dict[str, str] | None = None
    cwd: str | None = None


class DeadDraft(Value, frozen=True):
    """Which dead letters: ids, or a filter of which every set field must hold. An empty one is refused."""

    ids: list[int] | None = None
    job: str | None = None
    failure_class: FailureClass | None = msgspec.field(name="class", default=None)
    fingerprint: str | None = None
    q: str | None = None
    since: str | None = None
    until: str | None = None
    all: bool = False


class ReplayDraft(DeadDraft, frozen=True):
    """The body of POST /v1/dead/replay. `current`: with the job's definition of today, not the recorded one."""

    pace: Duration | None = None
    stop_on_failure: bool = False
    current: bool = False
    force: bool = False
    edit: EditedWork | None = None
    limit: int | None = None
    """At most so many, the oldest first."""


class DiscardDraft(DeadDraft, frozen=True):
    """The body of POST /v1/dead/discard."""

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
    """A checked schedule. Exactly one of cron, every_ms, at_ms, after_job, on_boot, on_start is set, or none: by hand
    only."""

    timezone: str
    cron: str | None = None
    every_ms: int | None = None
    anchor_ms: int = 0
    at_ms: int | None = None
    after_job: int | None = None
    """The id of the job whose runs start this one, with the end that `after_on` names."""
    after_on: After = After.SUCCESS
    on_boot: bool = False
    on_start: bool = False
    jitter_ms: int = 0
    dst_gap: str = "auto"
    dst_overlap: str = "auto"
    words: str = ""
    """What a person reads, made when the schedule was checked."""


class Enclosed(Value, frozen=True):
    """The log of an attempt: of which, and the bytes that its command wrote."""

    run_id: int
    fence: int
    size: int
    note: str | None = None
    """What is to be said of it: that a part is missing."""


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
    login_env: bool = False
    """Its environment begins with what a login of the host has: /etc/environment and /etc/default/locale."""
    sends: Enclosed | None = None
    """The log that follows `stdin` in the mail of a run; jobd alone sets it."""


class Policies(Value, frozen=True):
    """What holds for unstarted runs at once when it is changed; it makes no new version.

    The defaults are what held for jobs that were stored before a field existed; those of a new job are in
    `jobctl.defaults`.
    """

    timeout_ms: int | None = None
    grace_ms: int = 10_000
    late_after_ms: int = 10_000
    overlap: Overlap = Overlap.SKIP
    misfire: Misfire = Misfire.ONCE
    misfire_within_ms: int = 86_400_000
    overlap_queue: int = 1
    """How many runs may wait for their turn under overlap queue."""
    limit: int | None = None
    """Runs of the job that may be active at once; None: one, or any number under overlap allow."""
    retries: int = 0
    lost_retries: int = 0
    backoff_ms: int = 10_000
    backoff_max_ms: int = 3_600_000
    no_retry_on: list[str] = []
    """Exit codes and failure classes, as texts."""
    on_lost: str = "retry"
    on_failure: OnFailure = OnFailure.RECORD
    notify: list[str] = []
    """mail, mail:ADDRESS or exec:COMMAND: who is told of dead letters and of the recovery."""
    mail: Mail | None = None
    """Who gets the output of its runs, and of which."""
    log_max: int = 10_000_000
    tags: list[str] = []
    note: str | None = None

    @property
    def active_max(self) -> int | None:
        """How many runs of the job may be active at once; None: any number."""
        return self.limit or (None if self.overlap is Overlap.ALLOW else 1)


class JobSpec(Value, frozen=True):
    """A whole definition, checked and with every default filled in: what the store is given."""

    name: str
    schedule: ScheduleSpec
    execution: Execution
    policies: Policies
    queue: str = "default"
    priority: int = 0
    """Smaller goes first."""
    source: str = "api"
    paused: bool = False
    hidden: bool = False
    """An ad-hoc run's job: never in a listing of jobs."""
    declared: str | None = None
    """The path of the file that owns the job; None: it was made by hand."""


# ── what the daemon answers ──────────────────────────────────────────────────


class Schedule(Fact, frozen=True):
    """A job's schedule as the API shows it; `words` is what a person reads."""

    timezone: str
    words: str
    cron: str | None = None
    every: int | float | None = None
    at: str | None = None
    after: str | None = None
    on_boot: bool = False
    on_start: bool = False
    jitter: int | float | None = None
    dst_gap: str = "auto"
    dst_overlap: str = "auto"


class Retry(Fact, frozen=True):
    """What happens after an attempt failed; durations in seconds."""

    max: int
    backoff: int | float
    backoff_max: int | float
    no_retry_on: list[str]
    on_lost: str
    lost: int


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
    suspended_by: str | None
    """job, queue or daemon: whose pause holds it now; None: none does."""
    suspended_since: str | None
    suspended_until: str | None
    """When no pause holds it any more; None also where one of them has no end."""
    suspended_why: str | None
    """Who paused what, and why, in words."""
    quarantined: bool
    """Paused by the daemon, after too many dead letters in a row."""
    schedule: Schedule | None
    target: dict[str, Any]
    stdin: str | None
    payload_ref: str | None
    env: dict[str, str]
    env_file: str | None
    login_env: bool
    """Whether its environment begins with that of a login of the host, as for lines of crontabs."""
    user: str | None
    cwd: str | None
    path: str | None
    """PATH of its commands, unless `env` has one."""
    umask: str
    nice: int
    timeout: int | float | None
    grace: int | float
    late_after: int | float
    overlap: Overlap
    misfire: Misfire
    misfire_within: int | float
    overlap_queue: int
    limit: int | None
    retry: Retry
    on_failure: OnFailure
    notify: list[str]
    mail: Mail | None
    log_max: int
    queue: str
    priority: int
    version: int
    rev: int
    next_run_at: str | None
    last_run: LastRun | None
    running: int
    retrying: int
    """Its runs that wait for a retry."""
    dead: int
    """Its dead letters."""
    skipping: int
    """Occurrences that were skipped in a row, up to now."""
    error: str | None
    """Why a parked schedule cannot be expanded."""
    tags: list[str]
    note: str | None
    source: str
    declared: str | None
    """The path of the file that owns it: that is where it is changed; None: made by hand."""
    created_at: str


class PutBack(Fact, frozen=True):
    """A replay was broken off before the turn of this dead letter had come."""

    at: str
    run: int
    """The run of that replay which died again."""


class Run(Fact, frozen=True):
    """A run as the API shows it, active and finished alike."""

    id: int
    key: str
    job_id: int
    job: str
    queue: str
    version: int
    edited: bool
    """It runs what a replay changed for this once, not the definition of its version."""
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
    uncounted: int
    """Attempts outside the budget of its retries: those that were lost, and those before its last replay."""
    max_attempts: int
    """As its job's policies are now; more where attempts were lost, or the run was replayed."""
    replays: int
    put_back: PutBack | None
    retry_of: int | None
    error: str | None
    """The last line it printed, when it failed for good."""
    fingerprint: str | None
    """What dead letters with the same failure have in common."""
    fence: int | None
    node: str | None
    lease_until: str | None
    exit_code: int | None
    signal: int | None
    late: bool
    coalesced: int
    """How many further occurrences of one clock change, or of one backlog, this run stands for."""


class RunWork(Fact, frozen=True):
    """What a run executes."""

    target: dict[str, Any]
    stdin: str | None
    payload_ref: str | None
    env: dict[str, str]
    env_file: str | None
    user: str | None
    cwd: str | None
    version: int
    """Of its job's definition."""
    edited: bool
    """A replay changed it for this once."""


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


class DeadGroup(Fact, frozen=True):
    """Dead letters that failed in the same way."""

    fingerprint: str
    count: int
    jobs: list[str]
    """Names of up to ten of the jobs."""
    failure_class: FailureClass | None = msgspec.field(name="class")
    reason: str | None
    error: str | None
    first_at: str
    last_at: str
    replays: int
    """How often one of them was replayed, and died again."""
    newest_run_id: int


class Replayed(Fact, frozen=True):
    """What a replay did; the same key answers the same."""

    batch: int
    replayed: list[int]
    skipped: list[dict[str, Any]]
    """{"id", "reason"} of runs that were asked for and are no dead letters."""


class Owner(Fact, frozen=True):
    """An account that has, or had, jobs, as it was when it made them; and what has become of it.

    `account`: ok; gone: no account has the name; other: the name has another number. `uid_is_now`: the name that the
    number has now, where that is another one.
    """

    uid: int
    name: str
    jobs: int
    account: str
    uid_is_now: str | None = None


class Queue(Fact, frozen=True):
    """A queue: its jobs share a limit, and can be paused together."""

    name: str
    concurrency: int | None
    jobs: int
    ready: int
    running: int
    paused: bool
    paused_by: str | None
    paused_since: str | None
    paused_until: str | None
    paused_why: str | None


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
