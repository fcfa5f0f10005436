"""Jobs that start with the end of another job's run: the run's key names the upstream run, so each end starts one."""

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from jobctl.errors import Conflict
from jobctl.model import ScheduleSpec
from jobctl.states import After, RunState, SkipReason, Trigger
from jobctl_daemon.rows import LedgerRow, NewRun
from jobctl_daemon.store.sqlite import expand, ledger
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("dependents")

#: What each end of a run starts; a dead letter is a failure, and starts nothing again when its replay succeeds late.
_STARTS: Final = {
    RunState.SUCCEEDED: frozenset({After.SUCCESS, After.ANY}),
    RunState.FAILED: frozenset({After.FAILURE, After.ANY}),
    RunState.DEAD: frozenset({After.FAILURE, After.ANY}),
    RunState.CANCELLED: frozenset({After.ANY}),
}


class End(NamedTuple):
    """The end of a run of a job."""

    job_id: int
    run_id: int
    state: RunState
    ended_ms: int


class _After(NamedTuple):
    """A row of the statement `after`."""

    upstream_id: int
    after_on: str
    id: int
    version: int
    owner_id: int
    name: str
    queue: str
    priority: int
    suspended: int
    suspended_why: str | None
    quarantined: int


def put(connection: sqlite3.Connection, job_id: int, schedule: ScheduleSpec) -> None:
    """Makes a job come after the one that its schedule names, or after none. `Conflict` when that would be a circle, or
    the other one has been removed."""
    if schedule.after_job is None:
        connection.execute(SQL.drop, (job_id,))
        return
    before = identity(connection, schedule.after_job)
    if before is None or before.deleted_ms is not None:
        raise Conflict("the job that it would come after was removed", "see `jobctl ls`")
    upstream: int | None = schedule.after_job
    while upstream is not None:
        if upstream == job_id:
            raise Conflict("the job would come after itself", "no chain of --after may lead back to its beginning")
        row = connection.execute(SQL.upstream_of, (upstream,)).fetchone()
        upstream = row[0] if row else None
    connection.execute(SQL.put, (schedule.after_job, job_id, str(schedule.after_on)))


def forget(connection: sqlite3.Connection, job_id: int) -> None:
    """A job goes. `Conflict` while others come after it."""
    names = names_after(connection, job_id)
    if names:
        raise Conflict(
            f"{', '.join(names)} start{'s' if len(names) == 1 else ''} after it",
            f"give {names[0]} another schedule first, or remove it",
            details={"after": names},
        )
    connection.execute(SQL.drop, (job_id,))


def names_after(connection: sqlite3.Connection, job_id: int) -> list[str]:
    """The jobs that come after it."""
    return [name for (name,) in connection.execute(SQL.names_after, (job_id,))]


def has_after(connection: sqlite3.Connection, job_id: int) -> bool:
    """Whether any job comes after it."""
    return connection.execute(SQL.has_after, (job_id,)).fetchone() is not None


def upstream_of(connection: sqlite3.Connection, job_id: int) -> int | None:
    """The job that it comes after."""
    row = connection.execute(SQL.upstream_of, (job_id,)).fetchone()
    return row[0] if row else None


def start(connection: sqlite3.Connection, ends: Sequence[End], now_ms: int) -> None:
    """A run for each job that comes after one of these ends; a row for one that is paused."""
    if not ends:
        return
    rows = connection.execute(SQL.after, (text(sorted({end.job_id for end in ends})),)).fetchall()
    if not rows:
        return
    jobs = list(map(_After._make, rows))
    wanted = [
        (end, job)
        for end in ends
        for job in jobs
        if job.upstream_id == end.job_id and After(job.after_on) in _STARTS.get(end.state, ())
    ]
    due = ((job, _run(end)) for end, job in wanted if not job.suspended)
    expand.make_runs(connection, expand.place(connection, due), now_ms)
    held = [(_row(end, job, now_ms), job.owner_id, job.name) for end, job in wanted if job.suspended]
    ledger.append_skips(connection, held, now_ms)


def _run(end: End) -> NewRun:
    return NewRun(
        key=_key(end),
        slot_ms=end.ended_ms,
        due_ms=end.ended_ms,
        start_by_ms=None,
        trigger=Trigger.AFTER,
        note=f"after run {end.run_id}",
    )


def _row(end: End, job: _After, now_ms: int) -> LedgerRow:
    return LedgerRow(
        job_id=job.id,
        key=_key(end),
        from_ms=end.ended_ms,
        to_ms=end.ended_ms,
        count=1,
        run_id=None,
        reason=SkipReason.QUARANTINED if job.quarantined else SkipReason.PAUSED,
        detail=f"run {end.run_id} ended while {job.suspended_why or 'the job was paused'}",
        at_ms=now_ms,
    )


def _key(end: End) -> str:
    return f"a:{end.run_id}"
