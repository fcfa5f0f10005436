"""The store's contract. A backend is done when `tests/contract` passes on it.

One method is one transaction. The store decides nothing: a service reads, a pure function decides, the store writes
under a guard (compare-and-set, fence, state). Times are ms UTC and always arguments. Every state change writes its
event in its own transaction; after the commit the listeners given to `listen` are called with the new events.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from jobctl.model import Attempt, DeadGroup, Event, Execution, Job, JobSpec, Queue, Replayed, Run
from jobctl.windows import RunsWindow, Window
from jobctl_daemon.rows import (
    AdhocPage,
    Admission,
    Admitted,
    Broken,
    Caller,
    Cancelled,
    Claim,
    ClockState,
    ClockStep,
    Copied,
    Counts,
    Created,
    DeadFilter,
    Declaration,
    DeclaredJob,
    Denial,
    DueJob,
    Edit,
    Effort,
    Expansion,
    Expired,
    Finish,
    Foreseen,
    ForeseenFilter,
    ForeseenPage,
    HeldAttempt,
    JobFilter,
    Keep,
    LedgerRow,
    Life,
    LogsKept,
    Mailing,
    Notice,
    Owned,
    Owning,
    Pause,
    Pending,
    Replay,
    Request,
    Resumption,
    Retried,
    RunFilter,
    Running,
    StartedAttempt,
    TakenOver,
    Took,
    Triggered,
    Unfinished,
    Unskip,
    Verdict,
)
from jobctl_daemon.windows import JobWindow, RunWindow


class Watched(NamedTuple):
    """One of the backend's own threads or connections."""

    beats: int
    """What it has done so far."""
    since_ms: int | None
    """The boot time since when something has waited for it and nothing came to its end; None: nothing waits."""
    last_ms: int
    """The boot time at which it last came to the end of something."""


class Store(Protocol):
    """What every backend offers."""

    # ── life ──────────────────────────────────────────────
    async def open(self) -> None: ...
    async def close(self) -> None: ...
    def listen(self, listener: Callable[[Sequence[Owned]], None]) -> None:
        """Calls `listener` on the loop with the events of each commit, in order."""
        ...

    async def probe(self, now_ms: int) -> None:
        """A real write through the writer, because somebody asks whether that works. It waits a second for locks."""
        ...

    def watched(self) -> Mapping[str, Watched]:
        """How the threads of the backend are. Touches nothing, and never waits."""
        ...

    async def meta(self) -> dict[str, str]: ...
    async def set_meta(self, values: dict[str, str]) -> None: ...
    async def take_epoch(self, node: str, now_ms: int) -> int:
        """Raises and returns the epoch: called once by each daemon that takes the store over."""
        ...

    async def copy(self, target: str) -> Copied:
        """Writes everything, as it is at one instant, to a new file that is checked and needs nothing beside it.

        Reads and writes go on meanwhile. `Conflict` while another copy is being made; what is not finished is removed.
        """
        ...

    def engine(self) -> tuple[str, str | None]:
        """The name and version of the database engine, and what is known to be wrong with that version."""
        ...

    async def inspect(self) -> list[Broken]:
        """Looks for what breaks an invariant, and for damage, in reads that are short. `Conflict` during a copy."""
        ...

    # ── a copy takes the place ──────────────────────────────────────────────
    async def outlive(self, lives: Sequence[Life], told: Sequence[str]) -> None:
        """Nothing that one of these lives has given out is given out again. `told` names the notes of how far people
        have been told of events: what is in the copy is past."""
        ...

    async def take_over(self, held: Sequence[HeldAttempt], node: str, now_ms: int) -> TakenOver:
        """Attempts that runners hold become attempts of their runs, made where the copy has none."""
        ...

    async def unfinished(self, after: int, limit: int) -> list[Unfinished]:
        """Runs that have not ended, by id, after an id; dead letters have."""
        ...

    async def bury(self, run_ids: Sequence[int], reason: str, now_ms: int) -> int:
        """What waits for a retry or its turn in a replay becomes a dead letter; returns how many."""
        ...

    async def drop(self, run_ids: Sequence[int], reason: str, now_ms: int) -> int:
        """What waits for a retry, of a job that keeps no dead letters, is cancelled; returns how many."""
        ...

    async def cursors(self, after: int, limit: int) -> list[DueJob]:
        """Live jobs with a cursor that can be expanded, by id, after an id."""
        ...

    async def move(self, moves: Sequence[Resumption], now_ms: int) -> int:
        """Cursors go where they are told to, with rows and runs, each under its revision; returns how many did. What a
        pause holds waits for no instant."""
        ...

    async def note_restored(self, facts: dict[str, object], now_ms: int) -> None:
        """The copy is in place: a note, and the event daemon.restored."""
        ...

    # ── the wall clock ──────────────────────────────────────────────
    async def clock(self) -> ClockState:
        """What is known of the wall clock, without a write: every event is a sign of life."""
        ...

    async def seen(self, now_ms: int) -> None:
        """The last sign of life, by itself: a clean stop."""
        ...

    async def stepped(self, step: ClockStep, epoch: int) -> int | None:
        """The clock was set. Returns the generation; None under an old epoch.

        Set back it is a new one: fences stay above what the clock has shown, what waits for its start keeps the time
        that it had left, and `clock().back` is the step until `aimed` is called.
        """
        ...

    async def ahead(self, now_ms: int, after: int, limit: int) -> list[DueJob]:
        """Jobs whose cursor is handled through a time after now, ordered by id, after an id."""
        ...

    async def aim(self, aims: Sequence[Expansion], now_ms: int, epoch: int) -> int:
        """Places cursors where they are told to, also back, by compare-and-set; rows; no runs. Returns how many."""
        ...

    async def aimed(self) -> None:
        """No cursor is left to be aimed after the step back."""
        ...

    async def covered(self, job_ids: Sequence[int], now_ms: int) -> dict[int, int]:
        """Until when the occurrences of these jobs have their rows in whatever generation, up to now, or beyond it
        where somebody asked to skip; at least from the beginning of their schedule. A job that is not in it: unknown.
        """
        ...

    # ── owners ──────────────────────────────────────────────
    async def follow(self, uid: int, name: str) -> None:
        """What the uid owned under another name is its own: for the account that runs the daemon, and no other."""
        ...

    async def owner_id(self, owner: Caller) -> int | None:
        """The number that events of the caller's have; None: he sees those of all. -1: he has never made anything."""
        ...

    async def owner_of(self, owner: Caller, job_id: int) -> Caller:
        """Whose a job is that the caller may see, also one that is no more."""
        ...

    async def owners(self) -> list[Owning]:
        """Every account that owns, or owned, a job; by name."""
        ...

    async def rename_owner(self, old: str, old_uid: int | None, account: Caller, by: Caller, now_ms: int) -> Owning:
        """What the owner of a name had is the account's from now on, beside what that has. `NotFound`; `Conflict` when
        several had the name and no uid says which, or both have a job of the same name."""
        ...

    async def denied(self, denial: Denial, now_ms: int) -> None:
        """Writes down that somebody was refused what is not his."""
        ...

    # ── jobs ──────────────────────────────────────────────
    async def create_job(
        self, owner: Caller, spec: JobSpec, next_ms: int | None, now_ms: int, request: Request | None
    ) -> Created:
        """A job, its version 1, and its cursor at `next_ms` (None: no instant to wait for).

        `Conflict` when the owner has the name, or the request key stands under another body; `Gone` when the key's
        job was deleted; the job as it is now (fresh=False) when the key repeats.
        """
        ...

    async def asked_before(self, owner: Caller, request: Request) -> bool:
        """Whether the request key stands for something, and under this body."""
        ...

    async def create_jobs(self, owner: Caller, specs: Sequence[tuple[JobSpec, int | None]], now_ms: int) -> list[Job]:
        """All of them or none: one transaction (an import)."""
        ...

    async def job(self, owner: Caller, selector: str) -> Job:
        """By name, id, or a prefix of its uid (4 or more digits, unique). `NotFound` names the nearest."""
        ...

    async def spec(self, owner: Caller, job_id: int) -> JobSpec: ...
    async def cursor(self, owner: Caller, job_id: int) -> DueJob:
        """What the due scan knows of a job, due or not: the input of a resume."""
        ...

    async def jobs(self, owner: Caller, wanted: JobFilter) -> tuple[list[Job], str | None]:
        """A page in order of name, and the next cursor."""
        ...

    async def job_window(self, owner: Caller, wanted: JobWindow, now_ms: int) -> Window:
        """A part of the list of jobs, with what a screen shows of each, and the newest event of the same instant."""
        ...

    async def delete_job(self, owner: Caller, job_id: int, now_ms: int) -> None:
        """No fire after it returns: the cursor is gone, scheduled and ready runs are cancelled, running ones finish."""
        ...

    async def pause_job(
        self, owner: Caller, job_id: int, by: str, until_ms: int | None, why: str | None, now_ms: int
    ) -> Job:
        """Holds what has not started (but for runs asked for by hand); the cursor leaves the due index."""
        ...

    async def resume_job(self, owner: Caller, job_id: int, catch_up: bool, now_ms: int) -> bool:
        """Ends the job's own pause and its quarantine. True: nothing else holds it, and `unsuspend` is to follow;
        until then `resumable` lists it. `Conflict` when it is not paused."""
        ...

    async def unsuspend(self, resumptions: Sequence[Resumption], now_ms: int, epoch: int) -> int:
        """Runs and rows for what was missed, the cursor aimed, held runs released; each under its cursor's revision.
        Returns how many; none under an old epoch."""
        ...

    async def edit_job(self, owner: Caller, edit: Edit, now_ms: int) -> Job:
        """`Conflict` when `rev` is no longer the job's, the name is taken, or the upstream job would form a circle.

        A changed schedule supersedes unstarted occurrences; other unstarted runs take the new version, and all of
        them the new policies, queue and priority. What runs, and retries that wait, keep their version.
        """
        ...

    async def declared(self, path: str, after: int, limit: int) -> list[DeclaredJob]:
        """Live jobs that the file at `path` owns, whoever theirs is, by id, after an id."""
        ...

    async def declared_paths(self) -> list[str]:
        """The files that own live jobs."""
        ...

    async def declare(self, owner: Caller, wanted: Declaration, now_ms: int) -> list[str]:
        """What a change of a file means, in one transaction: removals, edits, and new jobs of the owner, whose names
        are returned. `Conflict`, and nothing is changed, when a job is not what the decision was made from, or a name
        that was given is taken; one that was made up gets a number."""
        ...

    async def changed_by(self, owner: Caller, job_id: int) -> str | None:
        """Who last changed the job, by an edit or a pause; None where nobody knows any more."""
        ...

    async def skip_next(self, owner: Caller, job_id: int, row: LedgerRow, revision: int, next_ms: int | None,
                        now_ms: int) -> Job:  # fmt: skip
        """Writes the row of occurrences to come that are left out, and moves the cursor behind them.

        A job that is held waits for nothing, but remembers them. `Conflict` when the cursor has moved meanwhile.
        """
        ...

    async def left_out(self, owner: Caller, job_id: int, now_ms: int) -> list[LedgerRow]:
        """The rows of what somebody asked to leave out that reach beyond now, oldest first."""
        ...

    async def unskip(self, owner: Caller, wanted: Unskip, now_ms: int) -> Job:
        """What is left out and has not passed is due again: rows are removed or shortened, the cursor is aimed.
        A one-shot that was done with it comes back. `Conflict` when the cursor has moved meanwhile."""
        ...

    # ── queues, and the daemon as a whole ──────────────────────────────────────────────
    async def queues(self, owner: Caller, *, known: bool = True) -> list[Queue]:
        """Those that jobs of the caller are in, with `known` also those that somebody set; by name."""
        ...

    async def queue(self, owner: Caller, name: str) -> Queue | None:
        """One that somebody set or that jobs of the caller are in."""
        ...

    async def set_queue(self, name: str, concurrency: int | None, now_ms: int) -> None: ...
    async def pause_queue(self, name: str, pause: Pause, now_ms: int) -> int:
        """Holds what has not started of all its jobs; the name "" is the daemon. Returns how many jobs it holds now."""
        ...

    async def resume_queue(self, name: str, catch_up: bool, now_ms: int) -> int:
        """Jobs that nothing else holds become `resumable`; returns how many. `Conflict` when it is not paused."""
        ...

    async def daemon_pause(self) -> Queue | None:
        """The pause of the daemon as a whole, if there is one."""
        ...

    # ── from cursor to ready ──────────────────────────────────────────────
    async def due(self, now_ms: int, after: tuple[int, int] | None, limit: int) -> list[DueJob]:
        """Jobs whose cursor is at or before now, ordered by (next, job id), after the given pair. Bounded."""
        ...

    async def next_wake(self, now_ms: int) -> int | None:
        """The earliest instant after now at which a cursor, a scheduled run or a pause's end is due; None: never."""
        ...

    async def started_jobs(self, kind: str) -> list[DueJob]:
        """Jobs with an on_boot ("boot") or on_start ("start") schedule that are not paused."""
        ...

    async def expand(self, expansions: Sequence[Expansion], now_ms: int, epoch: int) -> int:
        """Ledger rows, runs, and cursors by compare-and-set on their revision; returns the runs made.

        One that lost its race changes nothing; a key that exists already makes no second run. One whose rows cannot be
        stored is parked with the error, and harms no other.
        """
        ...

    async def park(self, job_id: int, revision: int, error: str, now_ms: int) -> None:
        """A cursor that cannot be expanded leaves the due index with its error."""
        ...

    async def end_pauses(self, now_ms: int) -> int:
        """Ends the pauses of jobs, queues and the daemon whose `until` has come; returns how many. A read when none."""
        ...

    async def resumable(self, limit: int) -> list[DueJob]:
        """Jobs whose pauses are over and which wait for `unsuspend`."""
        ...

    async def pending(self, now_ms: int, limit: int) -> list[Pending]:
        """Scheduled runs that are due and not held, ordered by due time, each with what blocks it."""
        ...

    async def admit(self, admissions: Sequence[Admission], now_ms: int) -> Admitted:
        """Scheduled → ready, or → skipped with its reason, or it waits; the state is rechecked."""
        ...

    async def claim(self, now_ms: int, limit: int, node: str, boot_id: str, free: int | None = None) -> list[Claim]:
        """Ready → running for up to `limit` runs: fence raised, attempt counted, event.

        Inside the limit of each queue, by priority; inside one priority the owners take turns, each by (due, id).
        fence := max(fence + 1, now_ms, the watermark). Runs whose `start_by` has passed are not claimed.
        `free`: the slots that are, where owners share them: none but root takes so many that others find none, or goes
        before others by his own priority; None: whoever is first may have all.
        """
        ...

    async def wake_waiting(self) -> int:
        """Lets every run that waits for its gate be looked at again: once at the start. Returns how many."""
        ...

    async def too_late(self, now_ms: int, limit: int) -> list[Pending]:
        """Scheduled or ready runs whose `start_by` has passed: the misfire decision's input."""
        ...

    # ── attempts ──────────────────────────────────────────────
    async def started(self, attempts: Sequence[StartedAttempt]) -> None:
        """The process identity of attempts that began; a stale fence changes nothing."""
        ...

    async def unclaim(self, claims: Sequence[tuple[int, int]], due_ms: int, now_ms: int, why: str) -> int:
        """(run id, fence): running → ready, due again at `due_ms`; the attempt is not burnt, the fence stays raised."""
        ...

    async def returned(self, claims: Sequence[tuple[int, int]], most: int, now_ms: int, why: str) -> list[int]:
        """As `unclaim` at once, and counted: those that came back for the `most`th time are not given back but
        returned, for the caller to end."""
        ...

    async def efforts(self, run_ids: Sequence[int]) -> list[Effort]:
        """What the retry rule must know of these running attempts."""
        ...

    async def finish(self, results: Sequence[Finish], now_ms: int) -> list[Verdict]:
        """Running → what was decided, matched by fence and state: into history, dead, or ready for a retry.

        An answer a row; one bad row harms only itself. In the same transaction: the gate is free for what waits,
        jobs that come after this one get their run, streaks are counted, too many dead letters are discarded, and
        a job that died too often in a row is quarantined.
        """
        ...

    async def running(self) -> list[Running]:
        """Every claimed run: what adoption is held against after a start."""
        ...

    # ── runs ──────────────────────────────────────────────
    async def trigger(self, owner: Caller, job_id: int, due_ms: int, now_ms: int, request: Request | None) -> Triggered:
        """A run by hand. The same request key never makes a second one. `Conflict` under skip while one is active."""
        ...

    async def run_adhoc(
        self, owner: Caller, spec: JobSpec, due_ms: int, now_ms: int, request: Request | None
    ) -> Triggered:
        """A hidden job and its one run, in one transaction."""
        ...

    async def run(self, owner: Caller, run_id: int) -> Run: ...
    async def runs(self, owner: Caller, wanted: RunFilter) -> tuple[list[Run], str | None]:
        """A page, newest first, active and finished alike."""
        ...

    async def run_window(self, owner: Caller, wanted: RunWindow, now_ms: int) -> RunsWindow:
        """A part of the list of runs: what has not ended, then what has, the newest end first."""
        ...

    async def attempts(self, owner: Caller, run_id: int) -> list[Attempt]: ...
    async def work(self, owner: Caller, run_id: int) -> Execution:
        """What a run executes: its own edit of a replay, else the definition of its version; also of a deleted job."""
        ...

    async def cancel(
        self, owner: Caller, run_id: int, by: str, now_ms: int, how: Literal["cancel", "kill"] = "cancel"
    ) -> Cancelled:
        """Unstarted → cancelled at once; running: says which attempt to stop; final: `Conflict`."""
        ...

    async def retry(self, owner: Caller, run_id: int, by: str, now_ms: int, request: Request | None) -> Retried:
        """A waiting retry is made due; a dead letter replayed; of another ended run a new one is made, with
        `retry_of`. `Conflict` for what has not ended."""
        ...

    # ── dead letters ──────────────────────────────────────────────
    async def dead(self, owner: Caller, wanted: DeadFilter) -> tuple[list[Run], str | None]:
        """A page, newest death first."""
        ...

    async def dead_groups(self, owner: Caller, wanted: DeadFilter) -> list[DeadGroup]:
        """By fingerprint, the largest first; at most `limit`."""
        ...

    async def replay(self, owner: Caller, wanted: DeadFilter, replay: Replay, now_ms: int,
                     request: Request | None) -> Replayed:  # fmt: skip
        """Dead → scheduled, up to `limit`, the oldest first, in one transaction: same id, key and fence base, fresh
        budgets. The same request key answers the same and does nothing. `Conflict` without force for several when
        two replays of the same failure have died again."""
        ...

    async def discard(self, owner: Caller, wanted: DeadFilter, by: str, why: str | None, now_ms: int) -> list[int]:
        """Dead → discarded, into history; returns the ids."""
        ...

    # ── telling people ──────────────────────────────────────────────
    async def notices(self, after: int, limit: int) -> list[Event]:
        """Events that somebody wants to be told of, of all owners, after a number: run.dead, run.failed, job.recovered,
        job.quarantined, job.skipping of jobs with `notify`; and run.failed, run.succeeded of deliveries."""
        ...

    async def mails(self, after: int, limit: int) -> list[Event]:
        """Ends of runs of jobs with `mail`, of all owners, after a number: `data.mail` is the bytes of output; and ends
        of such mails, whose keys begin with mail:."""
        ...

    async def mailing(self, run_id: int, fence: int) -> Mailing:
        """What the mail of an ended attempt is made of, also of a deleted job. `NotFound` when it is not kept."""
        ...

    async def tell(self, notices: Sequence[Notice], notes: Mapping[str, str | None], now_ms: int) -> int:
        """A run of a hidden job for each notice, once for each key, and notes of meta (None: removed) that say how far
        the events have been looked at and what is remembered, in one transaction; returns the runs made."""
        ...

    async def ledger(self, owner: Caller, job_id: int, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
        """The rows of the ledger that touch the span, oldest first."""
        ...

    # ── what was, and what will be ──────────────────────────────────────────────
    async def durations(self, owner: Caller, job_id: int, limit: int) -> list[Took]:
        """The newest runs of a job that began and have ended, newest first, dead ones as well."""
        ...

    async def took(self, asker: Caller, job_ids: Sequence[int], limit: int) -> dict[int, list[int]]:
        """How many ms the newest runs of these jobs took that succeeded, at most `limit` of each; a job without any is
        not in it."""
        ...

    async def foreseen(
        self, owner: Caller, wanted: ForeseenFilter, until_ms: int, after: tuple[int, int] | None, limit: int
    ) -> ForeseenPage:
        """Of up to `limit` jobs whose cursor is at or before an instant, in order of (next, job id), those that the
        caller sees and that the filter lets through. Bounded, whosever the others are."""
        ...

    async def foreseen_ids(
        self, owner: Caller, wanted: ForeseenFilter, until_ms: int, after: tuple[int, int] | None, limit: int
    ) -> tuple[list[int], tuple[int, int] | None]:
        """The same, their ids alone, and where the next page begins."""
        ...

    async def held_jobs(self, owner: Caller) -> list[int]:
        """The ids of the caller's jobs that a pause holds."""
        ...

    async def foreseen_of(self, asker: Caller, job_ids: Sequence[int], wanted: ForeseenFilter) -> list[Foreseen]:
        """The same facts of certain jobs, in their order. The ids are ones that the caller was shown to see."""
        ...

    async def job_states(self, asker: Caller, job_ids: Sequence[int]) -> dict[int, str]:
        """The one word of each of certain jobs, as lists of jobs have it."""
        ...

    async def waiting(self, owner: Caller, wanted: ForeseenFilter, limit: int) -> list[tuple[int, int]]:
        """(job id, since when) of jobs with a run that is due, is not held and has not begun; the longest first."""
        ...

    # ── watching and tidying ──────────────────────────────────────────────
    async def events(self, after: int, limit: int, owner: Caller | None) -> list[Owned]: ...
    async def event_span(self) -> tuple[int, int]:
        """(oldest kept id, newest id); (1, 0) when there is none."""
        ...

    async def counts(self, owner: Caller | None, now_ms: int) -> Counts: ...
    async def mend(self, now_ms: int) -> None:
        """Rows that a disk or a hand has spoilt so that nobody sees them are put in plain view. A read when none is."""
        ...

    async def aged(self, before_ms: int, after: int, limit: int) -> Expired:
        """Of up to `limit` finished runs after an id, those that ended before an instant."""
        ...

    async def surplus(self, job_ids: Sequence[int], kept: int, limit: int) -> Expired:
        """Up to `limit` finished runs of these jobs beyond the newest `kept` of each. `after` is not None when more
        are left."""
        ...

    async def jobs_with_history(self, after: int, limit: int) -> list[int]:
        """The ids of jobs, after an id, that have finished runs."""
        ...

    async def adhoc_before(self, job_id: int, wanted: int, limit: int) -> AdhocPage:
        """Of up to `limit` jobs before an id, from the newest back, and no more than hold the ad-hoc runs `wanted`."""
        ...

    async def adhoc_runs(self, after: int, until: int, limit: int) -> Expired:
        """The finished ad-hoc runs of up to `limit` jobs after one job and up to another. `after` is a job's id."""
        ...

    async def forget(self, run_ids: Sequence[int]) -> int:
        """Deletes those of the runs that are finished, with all that belongs to them alone; returns how many."""
        ...

    async def prune(self, now_ms: int, limit: int, keep: Keep) -> bool:
        """Deletes up to `limit` expired rows of every other kind; whether more is left."""
        ...

    async def prune_ledger(self, job_id: int, kept: int, limit: int) -> bool:
        """Deletes up to `limit` of a job's oldest rows beyond the newest `kept`; whether more is left."""
        ...

    async def log_bytes(self, after: tuple[int, int], limit: int) -> LogsKept:
        """What the logs of up to `limit` ended attempts after a (run id, fence) take on disk."""
        ...

    async def finished_logs(self, limit: int, after: tuple[int, int]) -> list[tuple[int, int, int, int]]:
        """(run id, fence, bytes on disk, the owner's number) of ended attempts with a log, oldest first: for the disk
        budget."""
        ...

    async def owners_of(self, run_ids: Sequence[int]) -> dict[int, int]:
        """The numbers of the owners of active runs, by run."""
        ...

    async def logs_dropped(self, gone: Sequence[tuple[int, int]]) -> None:
        """The logs of these attempts are gone from disk."""
        ...

    async def unknown_logs(self, found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those (run id, fence) that belong to no active run, and to no attempt whose log is kept."""
        ...

    async def at_rest(self, first_run: int, last_run: int) -> bool:
        """Whether none of these runs is active, and none of them is still to be made."""
        ...


__all__ = ["Store"]
