"""The values that go into and come out of the store, in domain words. Times in ms UTC."""

from typing import Final

import msgspec

from jobctl.filters import Filter, Search
from jobctl.model import Attempt, Event, Execution, Job, JobSpec, Mail, Policies, Run, ScheduleSpec
from jobctl.states import FailureClass, RunState, SkipReason, Trigger


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the rows."""


class Caller(Row, frozen=True):
    """Whose jobs are meant: the uid the kernel named. `all_owners` is root looking at everything."""

    uid: int
    name: str
    all_owners: bool = False


class Owned(Event, frozen=True, kw_only=True):
    """An event with whose it is: the number of its owner; 0: nobody's, so that only who sees everything hears of it."""

    owner_id: int


class Owning(Row, frozen=True):
    """An account that owns jobs, and how many live ones."""

    uid: int
    name: str
    jobs: int


class Denial(Row, frozen=True):
    """Somebody asked for what is not his: who the kernel says it was, what was asked, and why not."""

    uid: int
    name: str | None
    method: str
    path: str
    why: str


class Request(Row, frozen=True):
    """An idempotency key with the hash of the canonical body."""

    key: str
    verb: str
    body_hash: str


class Created(Row, frozen=True):
    job: Job
    fresh: bool


class Triggered(Row, frozen=True):
    run: Run
    fresh: bool


class JobFilter(Row, frozen=True):
    """Which jobs: every set field must match."""

    states: tuple[str, ...] = ()
    """Words of a job's state. Failed, paused, running and parked also find jobs of which that holds beside it."""
    queue: str | None = None
    owner: str | None = None
    q: Filter = Filter()
    now_ms: int = 0
    """From when the times of `q` count."""
    tag: str | None = None
    done: bool = False
    """Also the one-shots that are done."""
    source: str | None = None
    declared: str | None = None
    """The path of the file that owns them."""
    limit: int = 100
    cursor: str | None = None


class RunFilter(Row, frozen=True):
    """Which runs. `before_ms` pages by time."""

    job_id: int | None = None
    states: tuple[RunState, ...] = ()
    owner: str | None = None
    q: Filter = Filter()
    now_ms: int = 0
    """From when the times of `q` count."""
    before_ms: int | None = None
    since_ms: int | None = None
    limit: int = 100
    cursor: str | None = None


class DueJob(Row, frozen=True):
    """What the due scan, boot, start and resume know of a job."""

    job_id: int
    job_uid: str
    name: str
    version: int
    schedule: ScheduleSpec
    policies: Policies
    next_ms: int | None
    handled_ms: int
    """Every occurrence up to here has its row."""
    revision: int
    created_ms: int
    suspended_since_ms: int | None = None
    suspended_why: str | None = None
    """Who paused what, and why: the words for what is missed meanwhile."""
    resuming: str | None = None
    """"plain" or "catch_up": its pause is over and its schedule is to be aimed again."""
    quarantined: bool = False
    generation: int = 0
    """How often the clock was set back: part of the keys of times that are lived again."""
    unreadable: str | None = None
    """What is wrong with its stored definition: it is to be parked."""
    skip_until_ms: int | None = None
    """Up to here somebody asked to leave its occurrences out; it may have passed."""
    left_out: tuple[tuple[int, int], ...] = ()
    """Ranges after `handled_ms` that have their rows: they were left out while something held the job."""

    def skips_after(self, now_ms: int) -> int | None:
        """Up to where occurrences to come are left out; None: none are."""
        until_ms = self.skip_until_ms
        return until_ms if until_ms is not None and until_ms > now_ms else None


class ForeseenFilter(Row, frozen=True):
    """Of which jobs the future is asked for, and from when on."""

    q: Filter
    now_ms: int
    search: Search = msgspec.field(default_factory=Search)
    """What all looks with it take together."""


class Foreseen(Row, frozen=True):
    """What is known of a job's future, whether it is due soon, later, or held by a pause."""

    job_id: int
    job_uid: str
    name: str
    schedule: ScheduleSpec
    next_ms: int | None
    handled_ms: int
    skip_until_ms: int | None
    """Up to here somebody asked to leave its occurrences out; it may have passed."""
    held: bool
    """A pause holds it: its occurrences will not run."""
    late_after_ms: int
    alone: bool = True
    """Of its runs never two are under way."""


class ForeseenPage(Row, frozen=True):
    """A part of the jobs that wait for an instant, in that order; `after` where the next one begins."""

    jobs: list[Foreseen]
    after: tuple[int, int] | None


class Took(Row, frozen=True):
    """A run that began and has ended."""

    run_id: int
    state: RunState
    outcome: str
    started_ms: int
    finished_ms: int


class NewRun(Row, frozen=True):
    """A run to be made. `slot_ms` is its nominal instant, part of its key."""

    key: str
    slot_ms: int
    due_ms: int
    start_by_ms: int | None
    trigger: Trigger
    coalesced: int = 0
    note: str | None = None
    once_ever: bool = False
    """Not made when the instant has a run already, whatever its key: the clock was set back since."""
    gives_way: bool = False
    """One of many catch-ups: it goes after what else is due in its priority."""


class LedgerRow(Row, frozen=True):
    """One occurrence, or a range of them, and what became of it."""

    job_id: int
    key: str
    from_ms: int
    to_ms: int
    count: int
    run_id: int | None
    reason: SkipReason | None
    detail: str | None
    at_ms: int


class Expansion(Row, frozen=True):
    """The decision about one cursor: runs, rows for what does not run, and where the cursor goes."""

    job_id: int
    version: int
    revision: int
    runs: tuple[NewRun, ...]
    skips: tuple[LedgerRow, ...]
    next_ms: int | None
    handled_ms: int
    skip_until_ms: int | None = None
    """Up to where occurrences to come stay left out."""


class Amendment(Row, frozen=True):
    """A row of occurrences that were left out, shortened to those up to `to_ms`; `count` 0: none, so the row goes."""

    from_ms: int
    key: str
    to_ms: int
    count: int


class Unskip(Row, frozen=True):
    """The decision that occurrences to come are not left out after all: what is left of the rows, and the cursor."""

    job_id: int
    revision: int
    amended: tuple[Amendment, ...]
    next_ms: int | None
    handled_ms: int


class Resumption(Row, frozen=True):
    """The decision about a job whose pause is over: what runs after all, rows for the rest, where its cursor goes."""

    job_id: int
    revision: int
    runs: tuple[NewRun, ...] = ()
    rows: tuple[LedgerRow, ...] = ()
    next_ms: int | None = None
    handled_ms: int = 0


class Edit(Row, frozen=True):
    """A changed definition. `rev` is what the editor saw; the cursor moves only when `schedule_changed`."""

    job_id: int
    rev: int
    name: str
    schedule: ScheduleSpec
    execution: Execution
    policies: Policies
    queue: str
    priority: int
    schedule_changed: bool
    execution_changed: bool
    rows: tuple[LedgerRow, ...] = ()
    """Occurrences of the old schedule up to now that have no row yet, and of the new one that stay left out."""
    amended: tuple[Amendment, ...] = ()
    """Rows of the old one that were left out beyond now."""
    next_ms: int | None = None
    handled_ms: int = 0
    skip_until_ms: int | None = None
    revision: int | None = None
    """Of the cursor from which these two were decided; None: whatever it is."""
    source: str | None = None
    """Where the job comes from now; None: from where it came."""


class DeclaredJob(Row, frozen=True):
    """A job as the file that owns it left it."""

    job_id: int
    owner_uid: int
    rev: int
    spec: JobSpec
    cursor: DueJob
    owner_name: str = ""


class NewDeclared(Row, frozen=True):
    """A job that a file begins to own. It counts from `handled_ms`."""

    spec: JobSpec
    next_ms: int | None
    handled_ms: int
    named: bool = True
    """False: the name was made up, and gets a number behind it when it is taken."""


class Declaration(Row, frozen=True):
    """What becomes of the jobs that a file owns, as decided."""

    path: str
    created: tuple[NewDeclared, ...] = ()
    edits: tuple[Edit, ...] = ()
    removed: tuple[int, ...] = ()
    moved: tuple[tuple[int, str], ...] = ()
    """(job id, source) of jobs that only stand elsewhere in their file: no edit."""
    awaiting: tuple[tuple[str, str], ...] = ()
    """(job, upstream) by name of jobs that come after one which this makes; their schedules have no id of it yet."""
    adopted: tuple[tuple[int, int, str | None], ...] = ()
    """(job id, rev, file) of jobs that this file owns from now on: those made by hand, and those of a file that it was
    before it was renamed."""


class Pending(Row, frozen=True):
    """A run that waits to be admitted, and what of its job is active or waits."""

    run_id: int
    job_id: int
    slot_ms: int
    due_ms: int
    start_by_ms: int | None
    trigger: Trigger
    policies: Policies
    active: tuple[int, ...] = ()
    """Runs of the job that hold its gate, oldest first."""
    waiting: tuple[int, ...] = ()
    """Runs of the job that wait for the gate, oldest first."""
    by_hand: bool = False
    begun: bool = False
    """It has had an attempt, or is a replay: no overlap policy may drop it."""
    unended: int = 0
    """Runs of the job that have not ended, where nothing else bounds them."""


class Admission(Row, frozen=True):
    """What becomes of a pending run: ready; with `reason` skipped; with `waits` it waits for its job's gate."""

    run_id: int
    reason: SkipReason | None = None
    detail: str | None = None
    waits: bool = False
    replaces: tuple[int, ...] = ()
    """Runs that make room for this one: ended at once where they have not begun, else to be cancelled."""


class Admitted(Row, frozen=True):
    """What came of admissions: how many runs moved, and attempts (run id, fence) that must be stopped now."""

    moved: int
    stops: tuple[tuple[int, int], ...] = ()
    waiting: int = 0


class Claim(Row, frozen=True):
    """Everything that is needed to start one attempt."""

    run_id: int
    fence: int
    attempt: int
    key: str
    job_id: int
    job_uid: str
    job_name: str
    version: int
    owner_uid: int
    slot_ms: int
    due_ms: int
    trigger: Trigger
    timezone: str
    execution: Execution
    policies: Policies
    probe: bool = False
    """Ask the command of `on_lost` what became of the run, instead of running it."""
    returns: int = 0
    """How often a claim of it came back because its daemon had died."""
    unreadable: str | None = None
    """What is wrong with the stored definition: it cannot be started."""
    limited: bool = False
    """Its queue has a limit, and may have kept it waiting."""
    owner_name: str = ""
    """The owner's name when the job was made: it must still be that of `owner_uid` when the run starts."""


class StartedAttempt(Row, frozen=True):
    run_id: int
    fence: int
    pid: int
    pid_start: int
    runner: str
    started_ms: int


class Effort(Row, frozen=True):
    """What the retry rule knows of a running attempt besides its result."""

    run_id: int
    fence: int
    key: str
    attempt: int
    failures: int
    losses: int
    probe: bool
    policies: Policies
    stop_by: str | None


class Finish(Row, frozen=True):
    """The end of one attempt, as decided: the state that follows, and the facts.

    READY is a retry at `retry_ms`; `counted` says which of the two budgets it was taken from (failed, lost, or empty:
    none), and `probe` that the next attempt asks what became of this one.
    """

    run_id: int
    fence: int
    state: RunState
    outcome: str
    failure_class: FailureClass | None
    reason: str | None
    started_ms: int | None
    ended_ms: int
    pid: int | None = None
    pid_start: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    detail: str | None = None
    cpu_ms: int | None = None
    max_rss_kb: int | None = None
    log_size: int | None = None
    log_dropped_from: int | None = None
    log_dropped_to: int | None = None
    signals: tuple[tuple[int, str], ...] = ()
    left_behind: tuple[int, ...] = ()
    retry_ms: int | None = None
    counted: str = "failed"
    probe: bool = False
    error: str | None = None
    fingerprint: str | None = None


class Verdict(Row, frozen=True):
    """ok, stale (another fence or state), missing (no such run) or refused (cannot be stored, or no such move)."""

    run_id: int
    fence: int
    answer: str


class Running(Row, frozen=True):
    run_id: int
    fence: int
    attempt: int
    job_id: int
    boot_id: str
    pid: int | None
    pid_start: int | None
    claimed_ms: int
    started_ms: int | None
    stop_wanted: str | None
    """"cancel" or "kill" when somebody asked for it before a restart."""


class Cancelled(Row, frozen=True):
    """What cancel did: the run is final (`fence` None), or the attempt that must be stopped now."""

    run: Run
    fence: int | None


class Retried(Row, frozen=True):
    """What a retry by hand did: `how` is now (a waiting retry was made due), replayed, or again (a new run)."""

    run: Run
    how: str


class DeadFilter(Row, frozen=True):
    """Which dead letters: every set field must match."""

    ids: tuple[int, ...] | None = None
    job_id: int | None = None
    failure_class: FailureClass | None = None
    fingerprint: str | None = None
    q: Filter = Filter()
    now_ms: int = 0
    """From when the times of `q` count; 0 without one."""
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int = 100
    cursor: str | None = None


class Replay(Row, frozen=True):
    """A replay as asked for. `execution` replaces what the run executes; `current` takes its job's newest version."""

    by: str
    pace_ms: int = 0
    stop_on_failure: bool = False
    current: bool = False
    force: bool = False
    execution: Execution | None = None


class Notice(Row, frozen=True):
    """A message to somebody, to be delivered as a run of a hidden job of the same owner."""

    key: str
    """One delivery for each key and destination."""
    job_id: int
    """The job that it is about."""
    name: str
    """How the deliveries are called in lists."""
    execution: Execution
    mail: bool = False
    """The output of a run, as cron mails it: delivered after everything else, and of too many the oldest go."""


class Mailing(Row, frozen=True):
    """What the mail of a run is made of: the run, the attempt with which it ended, and its job as it is now."""

    run: Run
    attempt: Attempt
    owner: str
    source: str
    execution: Execution
    """What the run executed."""
    mail: Mail | None


class Pause(Row, frozen=True):
    """A pause of a queue or of the daemon."""

    by: str
    until_ms: int | None = None
    why: str | None = None


class Counts(Row, frozen=True):
    """For status: never a scan of history."""

    jobs: int
    paused: int
    """Jobs that are held: by their own pause, their queue's, the daemon's."""
    parked: int
    failed: int
    """Jobs whose last finished run did not succeed."""
    scheduled: int
    ready: int
    running: int
    oldest_due_ms: int | None
    """Due time of the oldest run that is due and not started, and that nothing holds on purpose."""
    next_ms: int | None
    last_event: int
    retrying: int = 0
    """Runs that wait for a retry; they are among the ready and the held."""
    dead: int = 0
    newest_dead_ms: int | None = None
    skipping: int = 0
    """Jobs whose occurrences are skipped again and again."""
    quarantined: int = 0
    untold: int = 0
    """Jobs of whose failures nobody is told."""


class Keep(Row, frozen=True):
    """How much history is kept (jobd.toml): whichever comes first."""

    days: int = 90
    runs: int = 1_000
    """Finished runs of each job."""
    log_bytes: int = 1_000_000_000
    adhoc: int = 100_000
    """Finished ad-hoc runs of all together."""


class Expired(Row, frozen=True):
    """Finished runs that go. Their logs go first, so that stopping in between loses sight of none."""

    runs: tuple[int, ...] = ()
    logs: tuple[tuple[int, int], ...] = ()
    """(run id, fence) whose log files go."""
    after: int | None = None
    """The id after which to look on; None: nothing is left to look at."""


class AdhocPage(Row, frozen=True):
    """Some jobs, from the newest back: how many are of an ad-hoc run that has ended, and where to go on."""

    ended: int
    lowest: int
    more: bool


class LogsKept(Row, frozen=True):
    """Some logs of ended attempts: the bytes that they take, and after which (run id, fence) to go on (None: all)."""

    bytes: int
    after: tuple[int, int] | None


class ClockStep(Row, frozen=True):
    """Somebody set the wall clock: from what it would have shown to what it shows."""

    from_ms: int
    to_ms: int
    held_ms: int
    """Set back: fixed-time jobs do not run again up to here. It is the beginning of the first of several steps."""
    correction: bool = False
    """Set back by more than three hours: every schedule counts from `to_ms`."""
    undoes: bool = False
    """Set back over a gap that is known: what was made since belongs to a time that never was."""


class ClockState(Row, frozen=True):
    """What the store knows of the wall clock."""

    seen_ms: int | None = None
    """When a daemon last gave a sign of life; None: never."""
    clean: bool = False
    """That was a clean stop: it lived no longer. One that was killed may have been idle for long."""
    generation: int = 0
    last: ClockStep | None = None
    """The newest step, in either direction."""
    back: ClockStep | None = None
    """The step back whose cursors are not all aimed yet."""


class Copied(Row, frozen=True):
    """A copy of the whole store that was made and checked."""

    bytes: int
    schema: int
    jobs: int
    """Live ones."""
    runs: int
    """All that are kept, finished or not."""
    newest_ms: int | None
    """When the last change in it was written; None: there is none."""


#: In `meta`: "1" once the host's crontabs were taken over.
CRONTABS_LIVE: Final = "crontabs.live"


class Life(Row, frozen=True):
    """What a store has given out, and must never be given out again: by it, or by the one that takes its place."""

    epoch: int
    generation: int
    fence: int
    """No fence was higher."""
    ids: dict[str, int]
    """Table → its highest id."""
    boot: str | None = None
    """The boot whose on-boot runs it has made."""
    live: bool | None = None
    """Whether the crontabs of the host were its to run, which is a fact of the host; None: nobody knows."""


class HeldAttempt(Row, frozen=True):
    """An attempt that the records of runners tell of: it lives, or its end was not recorded yet."""

    run_id: int
    fence: int
    job_uid: str
    key: str
    """The occurrence's."""
    boot_id: str
    claimed_ms: int
    runner: str | None = None
    pid: int | None = None
    pid_start: int | None = None
    started_ms: int | None = None

    @property
    def name(self) -> str:
        """Of the attempt, between jobd and its runners."""
        return f"{self.run_id}-{self.fence}"


class TakenOver(Row, frozen=True):
    """Names of attempts, by what became of them."""

    known: tuple[str, ...]
    taken: tuple[str, ...]
    unknown: tuple[str, ...]


class Unfinished(Row, frozen=True):
    """A run that has not ended."""

    run_id: int
    job_id: int
    state: str
    attempt: int
    fence: int
    due_ms: int
    waits: int
    letter: bool
    """It becomes a dead letter when it fails for good, or was one."""


class Broken(Row, frozen=True):
    """An invariant that does not hold, or damage to the file."""

    sentence: str
    of: str
    """What `where` names: run, job, queue or table."""
    where: tuple[str, ...]
    """The first few."""
    count: int
    lasting: bool = True
    """False: it may be so for a while, after a limit was lowered."""
