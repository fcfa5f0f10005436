"""The SQLite store: the asynchronous face of the functions in this folder.

Writes go to the one writer, each function whole; reads go to a second connection that cannot write.
"""

import secrets
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from jobctl.model import Attempt, Event, Job, JobSpec, Run
from jobctl_daemon.rows import (
    Admission,
    Adoption,
    Caller,
    Cancelled,
    Claim,
    Counts,
    Created,
    DueJob,
    Expansion,
    Finish,
    JobFilter,
    Keep,
    LedgerRow,
    Pending,
    Pruned,
    Request,
    RunFilter,
    Running,
    StartedAttempt,
    Triggered,
    Verdict,
)
from jobctl_daemon.store.sqlite import (
    admit,
    claim,
    counts,
    due,
    events,
    expand,
    find,
    finish,
    job_lists,
    jobs,
    ledger,
    meta,
    owners,
    run_lists,
    runs,
    tidy,
)
from jobctl_daemon.store.sqlite import attempts as claimed_attempts
from jobctl_daemon.store.sqlite.failures import translate
from jobctl_daemon.store.sqlite.migrate import check, migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_reader, connect_writer, create_private
from jobctl_daemon.store.sqlite.thread import DatabaseThread
from jobctl_daemon.store.sqlite.writer import Writer

T = TypeVar("T")


def random_uid() -> str:
    """Sixteen hex digits that nobody had before."""
    return secrets.token_hex(8)


class SqliteStore:
    """See `jobctl_daemon.store.Store`. One daemon, one file; `new_uid` makes the uids of jobs and of unnamed runs."""

    def __init__(self, path: str | Path, new_uid: Callable[[], str] = random_uid) -> None:
        self._path = Path(path)
        self._new_uid = new_uid
        self._writer = Writer(self._connect, f"{self._path}-wal")
        self._reader = DatabaseThread(lambda: connect_reader(self._path))

    # ── life ──────────────────────────────────────────────
    async def open(self) -> None:
        """Creates or migrates the database; a newer or foreign one is refused untouched (`VersionMismatch`)."""
        try:
            await self._writer.open()
            await self._reader.open()
        except BaseException as error:
            await self._writer.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise translate(error) from error
            raise

    async def close(self) -> None:
        """What was submitted is finished first. The writer closes last, so that it is the one that checkpoints."""
        await self._reader.close()
        await self._writer.close()

    def listen(self, listener: Callable[[Sequence[Event]], None]) -> None:
        self._writer.listen(listener)

    async def meta(self) -> dict[str, str]:
        return await self._read(meta.read)

    async def set_meta(self, values: dict[str, str]) -> None:
        await self._writer.submit(lambda con: meta.write(con, values))

    async def take_epoch(self, node: str, now_ms: int) -> int:
        return await self._writer.submit(lambda con: meta.take_epoch(con, node, now_ms))

    # ── jobs ──────────────────────────────────────────────
    async def create_job(
        self, owner: Caller, spec: JobSpec, next_ms: int | None, now_ms: int, request: Request | None
    ) -> Created:
        uid = self._new_uid()

        def create(con: sqlite3.Connection) -> Created:
            job_id, fresh = jobs.create(con, owner, spec, next_ms, now_ms, request, uid)
            return Created(job=job_lists.one(con, job_id), fresh=fresh)

        return await self._writer.submit(create)

    async def create_jobs(self, owner: Caller, specs: Sequence[tuple[JobSpec, int | None]], now_ms: int) -> list[Job]:
        uids = [self._new_uid() for _ in specs]

        def create(con: sqlite3.Connection) -> list[Job]:
            ids = jobs.create_all(con, owner, specs, now_ms, uids)
            return [job_lists.one(con, job_id) for job_id in ids]

        return await self._writer.submit(create)

    async def job(self, owner: Caller, selector: str) -> Job:
        return await self._read(lambda con: job_lists.one(con, find.job_id(con, owner, selector)))

    async def spec(self, owner: Caller, job_id: int) -> JobSpec:
        return await self._read(lambda con: job_lists.spec(con, find.owned(con, owner, job_id).id))

    async def cursor(self, owner: Caller, job_id: int) -> DueJob:
        return await self._read(lambda con: due.one(con, find.owned(con, owner, job_id).id))

    async def jobs(self, owner: Caller, wanted: JobFilter) -> tuple[list[Job], str | None]:
        return await self._read(lambda con: job_lists.page(con, owner, wanted))

    async def delete_job(self, owner: Caller, job_id: int, now_ms: int) -> None:
        await self._writer.submit(lambda con: jobs.delete(con, find.owned(con, owner, job_id), now_ms))

    async def pause_job(
        self, owner: Caller, job_id: int, by: str, until_ms: int | None, why: str | None, now_ms: int
    ) -> Job:
        def pause(con: sqlite3.Connection) -> Job:
            jobs.pause(con, find.owned(con, owner, job_id), by, until_ms, why, now_ms)
            return job_lists.one(con, job_id)

        return await self._writer.submit(pause)

    async def resume_job(
        self, owner: Caller, job_id: int, missed: LedgerRow | None, next_ms: int | None, now_ms: int
    ) -> Job:
        def resume(con: sqlite3.Connection) -> Job:
            jobs.resume(con, find.owned(con, owner, job_id), missed, next_ms, now_ms)
            return job_lists.one(con, job_id)

        return await self._writer.submit(resume)

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

    async def ended_pauses(self, now_ms: int) -> list[DueJob]:
        return await self._read(lambda con: due.ended_pauses(con, now_ms))

    async def pending(self, now_ms: int, limit: int) -> list[Pending]:
        return await self._read(lambda con: admit.pending(con, now_ms, limit))

    async def admit(self, admissions: Sequence[Admission], now_ms: int) -> int:
        return await self._writer.submit(lambda con: admit.admit(con, admissions, now_ms))

    async def claim(self, now_ms: int, limit: int, node: str, boot_id: str) -> list[Claim]:
        return await self._writer.submit(lambda con: claim.claim(con, now_ms, limit, node, boot_id))

    async def too_late(self, now_ms: int, limit: int) -> list[Pending]:
        return await self._read(lambda con: admit.too_late(con, now_ms, limit))

    # ── attempts ──────────────────────────────────────────────
    async def started(self, attempts: Sequence[StartedAttempt]) -> None:
        await self._writer.submit(lambda con: claimed_attempts.started(con, attempts))

    async def unclaim(self, claims: Sequence[tuple[int, int]], due_ms: int, now_ms: int, why: str) -> int:
        return await self._writer.submit(lambda con: claimed_attempts.unclaim(con, claims, due_ms, now_ms, why))

    async def finish(self, results: Sequence[Finish], now_ms: int) -> list[Verdict]:
        return await self._writer.submit(lambda con: finish.finish(con, results, now_ms))

    async def running(self) -> list[Running]:
        return await self._read(claimed_attempts.running)

    async def adopt(self, adoptions: Sequence[Adoption]) -> None:
        await self._writer.submit(lambda con: claimed_attempts.started(con, adoptions))

    # ── runs ──────────────────────────────────────────────
    async def trigger(self, owner: Caller, job_id: int, due_ms: int, now_ms: int, request: Request | None) -> Triggered:
        uid = self._new_uid()

        def trigger(con: sqlite3.Connection) -> Triggered:
            run_id, fresh = runs.trigger(con, owner, job_id, due_ms, now_ms, request, uid)
            return Triggered(run=run_lists.run(con, None, run_id), fresh=fresh)

        return await self._writer.submit(trigger)

    async def run_adhoc(
        self, owner: Caller, spec: JobSpec, due_ms: int, now_ms: int, request: Request | None
    ) -> Triggered:
        uid = self._new_uid()

        def run_adhoc(con: sqlite3.Connection) -> Triggered:
            run_id, fresh = runs.run_adhoc(con, owner, spec, due_ms, now_ms, request, uid)
            return Triggered(run=run_lists.run(con, None, run_id), fresh=fresh)

        return await self._writer.submit(run_adhoc)

    async def run(self, owner: Caller, run_id: int) -> Run:
        return await self._read(lambda con: run_lists.run(con, owner, run_id))

    async def runs(self, owner: Caller, wanted: RunFilter) -> tuple[list[Run], str | None]:
        return await self._read(lambda con: run_lists.page(con, owner, wanted))

    async def attempts(self, owner: Caller, run_id: int) -> list[Attempt]:
        return await self._read(lambda con: run_lists.attempts(con, owner, run_id))

    async def cancel(
        self, owner: Caller, run_id: int, by: str, now_ms: int, how: Literal["cancel", "kill"] = "cancel"
    ) -> Cancelled:
        def cancel(con: sqlite3.Connection) -> Cancelled:
            fence = runs.stop(con, owner, run_id, how, by, now_ms)
            return Cancelled(run=run_lists.run(con, None, run_id), fence=fence)

        return await self._writer.submit(cancel)

    async def ledger(self, owner: Caller, job_id: int, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
        return await self._read(lambda con: ledger.span(con, find.owned(con, owner, job_id).id, from_ms, to_ms, limit))

    # ── watching and tidying ──────────────────────────────────────────────
    async def events(self, after: int, limit: int, owner: Caller | None) -> list[Event]:
        return await self._read(lambda con: events.since(con, after, limit, owners.scope(con, owner)))

    async def event_span(self) -> tuple[int, int]:
        return await self._read(events.span)

    async def counts(self, owner: Caller | None, now_ms: int) -> Counts:
        return await self._read(lambda con: counts.counts(con, owner, now_ms))

    async def prune(self, now_ms: int, limit: int, keep: Keep) -> Pruned:
        return await self._writer.submit(lambda con: tidy.prune(con, now_ms, limit, keep))

    async def log_bytes(self) -> int:
        return await self._read(tidy.log_bytes)

    async def finished_logs(self, limit: int, after: int) -> list[tuple[int, int, int]]:
        return await self._read(lambda con: tidy.finished_logs(con, limit, after))

    async def logs_dropped(self, logs: Sequence[tuple[int, int]]) -> None:
        await self._writer.submit(lambda con: tidy.logs_dropped(con, logs))

    def _connect(self) -> sqlite3.Connection:
        known = shipped()
        check(self._path, known)
        create_private(self._path)
        connection = connect_writer(self._path)
        try:
            migrate(connection, self._path, known)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await self._reader.call(lambda con: _in_snapshot(con, read))


def _in_snapshot(connection: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    """All statements of one read see the same state: a run that moves to history is not missed, nor seen twice."""
    connection.execute("BEGIN")
    try:
        return read(connection)
    except sqlite3.Error as error:
        raise translate(error) from error
    finally:
        connection.execute("COMMIT")
