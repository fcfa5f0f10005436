"""The SQLite store: the asynchronous face of the functions in this folder.

Writes go to the one writer, each function whole; reads go to a second connection that cannot write. Lists that people
look at, whose filters may take long, have a third: what is due never waits for them, and those who look take turns.
"""

import asyncio
import errno
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from jobctl.errors import Damaged
from jobctl.model import Attempt, DeadGroup, Event, Execution, Job, JobSpec, Queue, Replayed, Run
from jobctl.windows import RunsWindow, Window
from jobctl_daemon.disk import Room
from jobctl_daemon.fair_queue import FairQueue
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
from jobctl_daemon.store import Watched
from jobctl_daemon.store.sqlite import (
    admit,
    backup,
    before_upgrade,
    claim,
    clock,
    counts,
    dead,
    declared,
    due,
    durations,
    edits,
    events,
    expand,
    find,
    finish,
    gates,
    inspect,
    job_lists,
    job_windows,
    jobs,
    ledger,
    logs,
    mails,
    mend,
    meta,
    owners,
    pauses,
    queues,
    ready,
    replays,
    requests,
    restored,
    retries,
    run_lists,
    run_windows,
    runs,
    swap,
    tell,
    tidy,
    unclean,
    upcoming,
    work,
)
from jobctl_daemon.store.sqlite import attempts as claimed_attempts
from jobctl_daemon.store.sqlite.aside import Aside
from jobctl_daemon.store.sqlite.failures import Failure
from jobctl_daemon.store.sqlite.migrate import check, migrate, schema_of, shipped
from jobctl_daemon.store.sqlite.opening import connect_reader, connect_writer, create_private, part, structure
from jobctl_daemon.store.sqlite.thread import DatabaseThread
from jobctl_daemon.store.sqlite.wording import Wording
from jobctl_daemon.store.sqlite.writer import LogLength, NewWork, Writer
from jobctl_daemon.windows import JobWindow, RunWindow

T = TypeVar("T")


def random_uid() -> str:
    """Sixteen hex digits that nobody had before."""
    return secrets.token_hex(8)


class SqliteStore:
    """See `jobctl_daemon.store.Store`. One daemon, one file; `new_uid` makes the uids of jobs and of unnamed runs.

    With a `room` new work is refused when the disk is full, and its reserve is spent on what must be recorded.
    """

    def __init__(self, path: str | Path, new_uid: Callable[[], str] = random_uid, room: Room | None = None) -> None:
        self._path = Path(path)
        self._new_uid = new_uid
        self._room = room
        self._turns = ready.Turns()
        self._wording = Wording(self._path, room)
        self._writer = Writer(self._connect, f"{self._path}-wal", room, self._wording)
        self._reader = DatabaseThread(lambda: connect_reader(self._path))
        self._browser = DatabaseThread(lambda: connect_reader(self._path))
        self._browsing = FairQueue()
        self._opened = False
        self.log_was_missing = False
        """The daemon before died, and what it had written ahead is gone."""
        self._aside = Aside(self._path)

    # ── life ──────────────────────────────────────────────
    async def open(self) -> None:
        """Creates or migrates the database; a newer or foreign one is refused untouched (`VersionMismatch`)."""
        try:
            await self._writer.open()
            await self._reader.open()
            await self._browser.open()
        except BaseException as error:
            worded = self._wording.of(error) if isinstance(error, sqlite3.Error | OSError) else None
            await self._reader.close()
            await self._writer.close()  # knows by now whether the file is damaged
            if worded is not None:
                raise worded from error
            raise
        self._opened = True
        if self._room is not None:
            self._room.opened()

    async def close(self) -> None:
        """What was submitted is finished first. The writer closes last, so that it is the one that checkpoints.

        A database that has been found damaged is left as it is, with its log and its mark.
        """
        await self._aside.close()
        if self._room is not None:
            self._room.closed()
        if self._wording.damage is not None:
            await self._browser.abandon()
            await self._reader.abandon()
            await self._writer.close()
            return
        await self._browser.close()
        await self._reader.close()
        await self._writer.close()
        if self._opened:
            self._opened = False
            unclean.unmark(self._path)

    async def copy(self, target: str) -> Copied:
        path = Path(target)
        try:
            return await self._aside.run("a copy", lambda con, stop: backup.copy_living(con, path, stop))
        except asyncio.CancelledError:
            backup.discard(path)  # it may have been whole by then, and nobody is left who would take it
            raise

    def listen(self, listener: Callable[[Sequence[Owned]], None]) -> None:
        self._writer.listen(listener)

    def watch(self, on_blocked: Callable[[], None], on_damage: Callable[[Damaged], None]) -> None:
        """`on_blocked`: the log cannot be emptied, `tend` is to be called. `on_damage`: once, from any thread."""
        self._writer.on_blocked = on_blocked
        self._wording.on_damage = on_damage

    async def tend(self) -> LogLength:
        """Empties the write-ahead log when it is long; how long it is then."""
        return await self._writer.tend()

    async def probe(self, now_ms: int) -> None:
        await self._writer.probe(lambda con: meta.write(con, {meta.PROBED: str(now_ms)}))

    def watched(self) -> dict[str, Watched]:
        return {
            "store writer": self._writer.watched(),
            "store reader": self._reader.watched(),
            "store browser": self._browser.watched(),
        }

    async def meta(self) -> dict[str, str]:
        return await self._read(meta.read)

    async def set_meta(self, values: dict[str, str]) -> None:
        await self._writer.submit(lambda con: meta.write(con, values))

    async def take_epoch(self, node: str, now_ms: int) -> int:
        def take(con: sqlite3.Connection) -> int:
            mend.mend(con, now_ms)
            return meta.take_epoch(con, node, now_ms)

        return await self._writer.submit(take)

    def engine(self) -> tuple[str, str | None]:
        return inspect.engine(sqlite3.sqlite_version_info)

    async def inspect(self) -> list[Broken]:
        return await self._aside.run("an inspection", inspect.inspect)

    # ── a copy takes the place ──────────────────────────────────────────────
    async def outlive(self, lives: Sequence[Life], told: Sequence[str]) -> None:
        await self._writer.submit(lambda con: restored.outlive(con, lives, told))

    async def take_over(self, held: Sequence[HeldAttempt], node: str, now_ms: int) -> TakenOver:
        return await self._writer.submit(lambda con: restored.take_over(con, held, node, now_ms))

    async def unfinished(self, after: int, limit: int) -> list[Unfinished]:
        return await self._read(lambda con: restored.unfinished(con, after, limit))

    async def bury(self, run_ids: Sequence[int], reason: str, now_ms: int) -> int:
        return await self._writer.submit(lambda con: restored.bury(con, run_ids, reason, now_ms))

    async def drop(self, run_ids: Sequence[int], reason: str, now_ms: int) -> int:
        return await self._writer.submit(lambda con: restored.drop(con, run_ids, reason, now_ms))

    async def cursors(self, after: int, limit: int) -> list[DueJob]:
        return await self._read(lambda con: restored.cursors(con, after, limit))

    async def move(self, moves: Sequence[Resumption], now_ms: int) -> int:
        return await self._writer.submit(lambda con: restored.move(con, moves, now_ms))

    async def note_restored(self, facts: dict[str, object], now_ms: int) -> None:
        await self._writer.submit(lambda con: restored.note(con, facts, now_ms))

    # ── the wall clock ──────────────────────────────────────────────
    async def clock(self) -> ClockState:
        return await self._read(clock.state)

    async def seen(self, now_ms: int) -> None:
        await self._writer.submit(lambda con: clock.seen(con, now_ms))

    async def stepped(self, step: ClockStep, epoch: int) -> int | None:
        return await self._writer.submit(lambda con: clock.stepped(con, step, epoch))

    async def ahead(self, now_ms: int, after: int, limit: int) -> list[DueJob]:
        return await self._read(lambda con: clock.ahead(con, now_ms, after, limit))

    async def aim(self, aims: Sequence[Expansion], now_ms: int, epoch: int) -> int:
        return await self._writer.submit(lambda con: clock.aim(con, aims, now_ms, epoch))

    async def aimed(self) -> None:
        await self._writer.submit(clock.aimed)

    async def covered(self, job_ids: Sequence[int], now_ms: int) -> dict[int, int]:
        return await self._read(lambda con: clock.covered(con, job_ids, now_ms))

    # ── jobs ──────────────────────────────────────────────
    async def create_job(
        self, owner: Caller, spec: JobSpec, next_ms: int | None, now_ms: int, request: Request | None
    ) -> Created:
        uid = self._new_uid()

        def create(con: sqlite3.Connection) -> Created:
            job_id, fresh = jobs.create(con, owner, spec, next_ms, now_ms, request, uid)
            return Created(job=job_lists.one(con, job_id), fresh=fresh)

        return await self._submit_new(create)

    # ── owners ──────────────────────────────────────────────
    async def follow(self, uid: int, name: str) -> None:
        await self._writer.submit(lambda con: owners.follow(con, uid, name))

    async def owner_id(self, owner: Caller) -> int | None:
        return await self._read(lambda con: owners.scope(con, owner))

    async def owner_of(self, owner: Caller, job_id: int) -> Caller:
        return await self._read(lambda con: owners.of_job(con, owner, job_id))

    async def owners(self) -> list[Owning]:
        return await self._read(owners.listing)

    async def rename_owner(self, old: str, old_uid: int | None, account: Caller, by: Caller, now_ms: int) -> Owning:
        return await self._writer.submit(lambda con: owners.rename(con, old, old_uid, account, by, now_ms))

    async def denied(self, denial: Denial, now_ms: int) -> None:
        await self._writer.submit(lambda con: events.denied(con, denial, now_ms))

    async def asked_before(self, owner: Caller, request: Request) -> bool:
        return await self._read(lambda con: requests.asked_before(con, owner, request))

    async def create_jobs(self, owner: Caller, specs: Sequence[tuple[JobSpec, int | None]], now_ms: int) -> list[Job]:
        uids = [self._new_uid() for _ in specs]

        def create(con: sqlite3.Connection) -> list[Job]:
            ids = jobs.create_all(con, owner, specs, now_ms, uids)
            return [job_lists.one(con, job_id) for job_id in ids]

        return await self._submit_new(create)

    async def job(self, owner: Caller, selector: str) -> Job:
        return await self._read(lambda con: job_lists.one(con, find.job_id(con, owner, selector)))

    async def spec(self, owner: Caller, job_id: int) -> JobSpec:
        return await self._read(lambda con: job_lists.spec(con, find.owned(con, owner, job_id).id))

    async def cursor(self, owner: Caller, job_id: int) -> DueJob:
        return await self._read(lambda con: due.one(con, find.owned(con, owner, job_id).id))

    async def jobs(self, owner: Caller, wanted: JobFilter) -> tuple[list[Job], str | None]:
        return await self._browse(owner, lambda con: job_lists.page(con, owner, wanted))

    async def job_window(self, owner: Caller, wanted: JobWindow, now_ms: int) -> Window:
        return await self._browse(owner, lambda con: job_windows.window(con, owner, wanted, now_ms))

    async def delete_job(self, owner: Caller, job_id: int, now_ms: int) -> None:
        await self._writer.submit(lambda con: jobs.delete(con, find.owned(con, owner, job_id), now_ms))

    async def pause_job(
        self, owner: Caller, job_id: int, by: str, until_ms: int | None, why: str | None, now_ms: int
    ) -> Job:
        def pause(con: sqlite3.Connection) -> Job:
            pauses.pause_job(con, find.owned(con, owner, job_id), Pause(by=by, until_ms=until_ms, why=why), now_ms)
            return job_lists.one(con, job_id)

        return await self._writer.submit(pause)

    async def resume_job(self, owner: Caller, job_id: int, catch_up: bool, now_ms: int) -> bool:
        return await self._writer.submit(
            lambda con: pauses.resume_job(con, find.owned(con, owner, job_id), now_ms, catch_up=catch_up)
        )

    async def unsuspend(self, resumptions: Sequence[Resumption], now_ms: int, epoch: int) -> int:
        return await self._writer.submit(lambda con: pauses.unsuspend(con, resumptions, now_ms, epoch))

    async def edit_job(self, owner: Caller, edit: Edit, now_ms: int) -> Job:
        def change(con: sqlite3.Connection) -> Job:
            edits.edit(con, owner, find.owned(con, owner, edit.job_id), edit, now_ms)
            return job_lists.one(con, edit.job_id)

        return await self._writer.submit(change)

    async def skip_next(
        self, owner: Caller, job_id: int, row: LedgerRow, revision: int, next_ms: int | None, now_ms: int
    ) -> Job:
        def skip(con: sqlite3.Connection) -> Job:
            edits.skip_next(con, find.owned(con, owner, job_id), row, revision, next_ms, now_ms)
            return job_lists.one(con, job_id)

        return await self._writer.submit(skip)

    async def declared(self, path: str, after: int, limit: int) -> list[DeclaredJob]:
        return await self._read(lambda con: declared.of_path(con, path, after, limit))

    async def declared_paths(self) -> list[str]:
        return await self._read(declared.paths)

    async def declare(self, owner: Caller, wanted: Declaration, now_ms: int) -> list[str]:
        uids = [self._new_uid() for _ in wanted.created]
        return await self._submit_new(lambda con: declared.declare(con, owner, wanted, now_ms, uids))

    async def changed_by(self, owner: Caller, job_id: int) -> str | None:
        return await self._read(lambda con: events.changed_by(con, find.owned(con, owner, job_id).id))

    async def left_out(self, owner: Caller, job_id: int, now_ms: int) -> list[LedgerRow]:
        return await self._read(lambda con: ledger.left_out(con, find.owned(con, owner, job_id).id, now_ms))

    async def unskip(self, owner: Caller, wanted: Unskip, now_ms: int) -> Job:
        def take_back(con: sqlite3.Connection) -> Job:
            edits.unskip(con, owner, find.owned(con, owner, wanted.job_id), wanted, now_ms)
            return job_lists.one(con, wanted.job_id)

        return await self._writer.submit(take_back)

    # ── queues, and the daemon as a whole ──────────────────────────────────────────────
    async def queues(self, owner: Caller, *, known: bool = True) -> list[Queue]:
        return await self._read(lambda con: queues.queues(con, owner, known=known))

    async def queue(self, owner: Caller, name: str) -> Queue | None:
        return await self._read(lambda con: queues.named(con, owner, name))

    async def set_queue(self, name: str, concurrency: int | None, now_ms: int) -> None:
        await self._writer.submit(lambda con: queues.put(con, name, concurrency, now_ms))

    async def pause_queue(self, name: str, pause: Pause, now_ms: int) -> int:
        return await self._writer.submit(lambda con: pauses.pause_queue(con, name, pause, now_ms))

    async def resume_queue(self, name: str, catch_up: bool, now_ms: int) -> int:
        return await self._writer.submit(lambda con: pauses.resume_queue(con, name, now_ms, catch_up=catch_up))

    async def daemon_pause(self) -> Queue | None:
        return await self._read(queues.daemon)

    # ── from cursor to ready ──────────────────────────────────────────────
    async def due(self, now_ms: int, after: tuple[int, int] | None, limit: int) -> list[DueJob]:
        return await self._read(lambda con: due.due(con, now_ms, after, limit))

    async def next_wake(self, now_ms: int) -> int | None:
        return await self._read(lambda con: due.next_wake(con, now_ms))

    async def started_jobs(self, kind: str) -> list[DueJob]:
        return await self._read(lambda con: due.starts(con, kind))

    async def expand(self, expansions: Sequence[Expansion], now_ms: int, epoch: int) -> int:
        return await self._writer.submit(lambda con: expand.expand(con, expansions, now_ms, epoch))

    async def park(self, job_id: int, revision: int, error: str, now_ms: int) -> None:
        await self._writer.submit(lambda con: due.park(con, job_id, revision, error, now_ms))

    async def end_pauses(self, now_ms: int) -> int:
        if not await self._read(lambda con: pauses.some_ended(con, now_ms)):
            return 0
        return await self._writer.submit(lambda con: pauses.end(con, now_ms))

    async def resumable(self, limit: int) -> list[DueJob]:
        return await self._read(lambda con: pauses.resumable(con, limit))

    async def pending(self, now_ms: int, limit: int) -> list[Pending]:
        return await self._read(lambda con: admit.pending(con, now_ms, limit))

    async def admit(self, admissions: Sequence[Admission], now_ms: int) -> Admitted:
        return await self._writer.submit(lambda con: admit.admit(con, admissions, now_ms))

    async def claim(self, now_ms: int, limit: int, node: str, boot_id: str, free: int | None = None) -> list[Claim]:
        return await self._writer.submit(lambda con: claim.claim(con, self._turns, now_ms, limit, node, boot_id, free))

    async def wake_waiting(self) -> int:
        return await self._writer.submit(gates.freed_all)

    async def too_late(self, now_ms: int, limit: int) -> list[Pending]:
        return await self._read(lambda con: admit.too_late(con, now_ms, limit))

    # ── attempts ──────────────────────────────────────────────
    async def started(self, attempts: Sequence[StartedAttempt]) -> None:
        await self._writer.submit(lambda con: claimed_attempts.started(con, attempts))

    async def unclaim(self, claims: Sequence[tuple[int, int]], due_ms: int, now_ms: int, why: str) -> int:
        return await self._writer.submit(lambda con: claimed_attempts.unclaim(con, claims, due_ms, now_ms, why))

    async def returned(self, claims: Sequence[tuple[int, int]], most: int, now_ms: int, why: str) -> list[int]:
        return await self._writer.submit(lambda con: claimed_attempts.returned(con, claims, most, now_ms, why))

    async def efforts(self, run_ids: Sequence[int]) -> list[Effort]:
        return await self._read(lambda con: claimed_attempts.efforts(con, run_ids))

    async def finish(self, results: Sequence[Finish], now_ms: int) -> list[Verdict]:
        return await self._writer.submit(lambda con: finish.finish(con, results, now_ms))

    async def running(self) -> list[Running]:
        return await self._read(claimed_attempts.running)

    # ── runs ──────────────────────────────────────────────
    async def trigger(self, owner: Caller, job_id: int, due_ms: int, now_ms: int, request: Request | None) -> Triggered:
        uid = self._new_uid()

        def trigger(con: sqlite3.Connection) -> Triggered:
            run_id, fresh = runs.trigger(con, owner, job_id, due_ms, now_ms, request, uid)
            return Triggered(run=run_lists.run(con, None, run_id), fresh=fresh)

        return await self._submit_new(trigger)

    async def run_adhoc(
        self, owner: Caller, spec: JobSpec, due_ms: int, now_ms: int, request: Request | None
    ) -> Triggered:
        uid = self._new_uid()

        def run_adhoc(con: sqlite3.Connection) -> Triggered:
            run_id, fresh = runs.run_adhoc(con, owner, spec, due_ms, now_ms, request, uid)
            return Triggered(run=run_lists.run(con, None, run_id), fresh=fresh)

        return await self._submit_new(run_adhoc)

    async def run(self, owner: Caller, run_id: int) -> Run:
        return await self._read(lambda con: run_lists.run(con, owner, run_id))

    async def runs(self, owner: Caller, wanted: RunFilter) -> tuple[list[Run], str | None]:
        return await self._browse(owner, lambda con: run_lists.page(con, owner, wanted))

    async def run_window(self, owner: Caller, wanted: RunWindow, now_ms: int) -> RunsWindow:
        return await self._browse(owner, lambda con: run_windows.window(con, owner, wanted, now_ms))

    async def attempts(self, owner: Caller, run_id: int) -> list[Attempt]:
        return await self._read(lambda con: run_lists.attempts(con, owner, run_id))

    async def work(self, owner: Caller, run_id: int) -> Execution:
        return await self._read(lambda con: work.of_run(con, owner, run_id))

    async def cancel(
        self, owner: Caller, run_id: int, by: str, now_ms: int, how: Literal["cancel", "kill"] = "cancel"
    ) -> Cancelled:
        def cancel(con: sqlite3.Connection) -> Cancelled:
            fence = runs.stop(con, owner, run_id, how, by, now_ms)
            return Cancelled(run=run_lists.run(con, None, run_id), fence=fence)

        return await self._writer.submit(cancel)

    async def retry(self, owner: Caller, run_id: int, by: str, now_ms: int, request: Request | None) -> Retried:
        uid = self._new_uid()
        return await self._submit_new(lambda con: retries.retry(con, owner, run_id, by, now_ms, request, uid))

    # ── dead letters ──────────────────────────────────────────────
    async def dead(self, owner: Caller, wanted: DeadFilter) -> tuple[list[Run], str | None]:
        return await self._browse(owner, lambda con: dead.page(con, owner, wanted))

    async def dead_groups(self, owner: Caller, wanted: DeadFilter) -> list[DeadGroup]:
        return await self._browse(owner, lambda con: dead.groups(con, owner, wanted))

    async def replay(
        self, owner: Caller, wanted: DeadFilter, replay: Replay, now_ms: int, request: Request | None
    ) -> Replayed:
        return await self._submit_new(lambda con: replays.replay(con, owner, wanted, replay, now_ms, request))

    async def discard(self, owner: Caller, wanted: DeadFilter, by: str, why: str | None, now_ms: int) -> list[int]:
        def discard(con: sqlite3.Connection) -> list[int]:
            words = f"discarded by {by}" + (f": {why}" if why else "")
            return dead.discard(con, dead.matching(con, owner, wanted), words, now_ms)

        return await self._writer.submit(discard)

    # ── telling people ──────────────────────────────────────────────
    async def notices(self, after: int, limit: int) -> list[Event]:
        return await self._read(lambda con: tell.notices(con, after, limit))

    async def mails(self, after: int, limit: int) -> list[Event]:
        return await self._read(lambda con: mails.ends(con, after, limit))

    async def mailing(self, run_id: int, fence: int) -> Mailing:
        return await self._read(lambda con: mails.of_attempt(con, run_id, fence))

    async def tell(self, notices: Sequence[Notice], notes: Mapping[str, str | None], now_ms: int) -> int:
        return await self._writer.submit(lambda con: tell.tell(con, notices, notes, now_ms))

    async def ledger(self, owner: Caller, job_id: int, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
        return await self._read(lambda con: ledger.span(con, find.owned(con, owner, job_id).id, from_ms, to_ms, limit))

    # ── what was, and what will be ──────────────────────────────────────────────
    async def durations(self, owner: Caller, job_id: int, limit: int) -> list[Took]:
        return await self._browse(owner, lambda con: durations.ended(con, find.owned(con, owner, job_id).id, limit))

    async def took(self, asker: Caller, job_ids: Sequence[int], limit: int) -> dict[int, list[int]]:
        return await self._browse(asker, lambda con: durations.succeeded(con, job_ids, limit))

    async def foreseen(
        self, owner: Caller, wanted: ForeseenFilter, until_ms: int, after: tuple[int, int] | None, limit: int
    ) -> ForeseenPage:
        return await self._browse(owner, lambda con: upcoming.timed(con, owner, wanted, until_ms, after, limit))

    async def foreseen_ids(
        self, owner: Caller, wanted: ForeseenFilter, until_ms: int, after: tuple[int, int] | None, limit: int
    ) -> tuple[list[int], tuple[int, int] | None]:
        return await self._browse(owner, lambda con: upcoming.timed_ids(con, owner, wanted, until_ms, after, limit))

    async def held_jobs(self, owner: Caller) -> list[int]:
        return await self._browse(owner, lambda con: upcoming.held(con, owner))

    async def foreseen_of(self, asker: Caller, job_ids: Sequence[int], wanted: ForeseenFilter) -> list[Foreseen]:
        return await self._browse(asker, lambda con: upcoming.of_ids(con, job_ids, wanted))

    async def job_states(self, asker: Caller, job_ids: Sequence[int]) -> dict[int, str]:
        return await self._browse(asker, lambda con: upcoming.states(con, job_ids))

    async def waiting(self, owner: Caller, wanted: ForeseenFilter, limit: int) -> list[tuple[int, int]]:
        return await self._browse(owner, lambda con: upcoming.waiting(con, owner, wanted, limit))

    # ── watching and tidying ──────────────────────────────────────────────
    async def events(self, after: int, limit: int, owner: Caller | None) -> list[Owned]:
        return await self._read(lambda con: events.since(con, after, limit, owners.scope(con, owner)))

    async def event_span(self) -> tuple[int, int]:
        return await self._read(events.span)

    async def counts(self, owner: Caller | None, now_ms: int) -> Counts:
        return await self._read(lambda con: counts.counts(con, owner, now_ms))

    async def mend(self, now_ms: int) -> None:
        if await self._read(mend.needed):
            await self._writer.submit(lambda con: mend.mend(con, now_ms))

    async def aged(self, before_ms: int, after: int, limit: int) -> Expired:
        return await self._read(lambda con: tidy.aged(con, before_ms, after, limit))

    async def surplus(self, job_ids: Sequence[int], kept: int, limit: int) -> Expired:
        return await self._read(lambda con: tidy.surplus(con, job_ids, kept, limit))

    async def jobs_with_history(self, after: int, limit: int) -> list[int]:
        return await self._read(lambda con: tidy.jobs_with_history(con, after, limit))

    async def adhoc_before(self, job_id: int, wanted: int, limit: int) -> AdhocPage:
        return await self._read(lambda con: tidy.adhoc_before(con, job_id, wanted, limit))

    async def adhoc_runs(self, after: int, until: int, limit: int) -> Expired:
        return await self._read(lambda con: tidy.adhoc_runs(con, after, until, limit))

    async def forget(self, run_ids: Sequence[int]) -> int:
        return await self._writer.submit(lambda con: tidy.forget(con, run_ids))

    async def prune(self, now_ms: int, limit: int, keep: Keep) -> bool:
        return await self._writer.submit(lambda con: tidy.prune(con, now_ms, limit, keep))

    async def prune_ledger(self, job_id: int, kept: int, limit: int) -> bool:
        before_ms = await self._read(lambda con: tidy.ledger_before(con, job_id, kept))
        if before_ms is None:
            return False
        return await self._writer.submit(lambda con: tidy.prune_ledger(con, job_id, before_ms, limit))

    async def log_bytes(self, after: tuple[int, int], limit: int) -> LogsKept:
        return await self._read(lambda con: logs.kept(con, after, limit))

    async def finished_logs(self, limit: int, after: tuple[int, int]) -> list[tuple[int, int, int, int]]:
        return await self._read(lambda con: logs.finished(con, limit, after))

    async def owners_of(self, run_ids: Sequence[int]) -> dict[int, int]:
        return await self._read(lambda con: logs.owners(con, run_ids))

    async def logs_dropped(self, gone: Sequence[tuple[int, int]]) -> None:
        await self._writer.submit(lambda con: logs.dropped(con, gone))

    async def unknown_logs(self, found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return await self._read(lambda con: logs.unknown(con, found))

    async def at_rest(self, first_run: int, last_run: int) -> bool:
        return await self._read(lambda con: logs.at_rest(con, first_run, last_run))

    def _connect(self) -> sqlite3.Connection:
        """On a full disk the reserve is spent, as far as needed: a daemon that is not there records nothing."""
        if self._room is not None:
            self._room.begin()
        while True:
            try:
                return self._connected()
            except (sqlite3.Error, OSError) as error:
                if self._room is None or not self._is_full(error) or not self._room.spend():
                    raise

    def _is_full(self, error: sqlite3.Error | OSError) -> bool:
        if isinstance(error, OSError):
            return error.errno in (errno.ENOSPC, errno.EDQUOT)
        return self._wording.kind(error) is Failure.FULL

    def _connected(self) -> sqlite3.Connection:
        known = shipped()
        swap.finish(self._path)
        unclean.must_be_whole(self._path)
        check(self._path, known)
        self.log_was_missing = unclean.log_is_missing(self._path)
        if self.log_was_missing:
            structure(self._path)
        create_private(self._path)
        backup.discard_leftovers(self._path.parent)
        swap.discard(self._path)
        connection = connect_writer(self._path)
        try:
            if 0 < (schema := schema_of(connection)) < len(known):
                before_upgrade.keep(connection, self._path, schema)
            migrate(connection, self._path, known)
            unclean.mark(self._path)
        except BaseException as error:
            part(connection, error)
            raise
        return connection

    async def _submit_new(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """New work: refused while there is no room for it."""
        if self._room is not None:
            self._room.must_have()
        return await self._writer.submit(NewWork(operation))

    async def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await self._worded(self._reader.call(lambda con: _in_snapshot(con, read)))

    async def _browse(self, caller: Caller, read: Callable[[sqlite3.Connection], T]) -> T:
        """In the caller's turn. A caller that goes away does not stop it, so the next one waits for its end."""
        await self._browsing.enter(caller)
        try:
            found = self._browser.submit(lambda con: _in_snapshot(con, read))
        except BaseException:
            self._browsing.leave()
            raise
        found.add_done_callback(lambda _: self._browsing.leave())
        return await self._worded(asyncio.shield(found))

    async def _worded(self, answer: Awaitable[T]) -> T:
        try:
            return await answer
        except sqlite3.Error as error:
            raise self._wording.of(error) from error


def _in_snapshot(connection: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    """All statements of one read see the same state: a run that moves to history is not missed, nor seen twice."""
    connection.execute("BEGIN")
    try:
        return read(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")
