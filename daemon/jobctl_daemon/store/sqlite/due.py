"""What is due, and when something will be: reads of the due indexes, at one cost for any number of jobs."""

import sqlite3
from collections.abc import Iterable
from typing import Any, Final, Protocol

from jobctl.states import RunState
from jobctl_daemon.rows import DueJob
from jobctl_daemon.store.sqlite import columns, events, ready
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("due")

_BEFORE_ALL = (-(1 << 62), 0)
_GOES_ON: Final = {RunState.SCHEDULED.value: "run.scheduled", RunState.READY.value: "run.ready"}


class OfJob(Protocol):
    """What events need of a job."""

    @property
    def id(self) -> int: ...
    @property
    def owner_id(self) -> int: ...
    @property
    def name(self) -> str: ...


def due(connection: sqlite3.Connection, now_ms: int, after: tuple[int, int] | None, limit: int) -> list[DueJob]:
    """Jobs whose cursor is at or before now, in order of (next, job id)."""
    after_ms, after_job = after or _BEFORE_ALL
    parameters = {"now_ms": now_ms, "after_ms": after_ms, "after_job": after_job, "limit": limit}
    return jobs(connection.execute(SQL.due, parameters))


def one(connection: sqlite3.Connection, job_id: int) -> DueJob:
    """The same facts of a job that is known to be there, due or not."""
    return jobs(connection.execute(SQL.one, (job_id,)))[0]


def starts(connection: sqlite3.Connection, kind: str) -> list[DueJob]:
    """Unpaused jobs that start with the boot ("boot") or with the daemon ("start")."""
    return jobs(connection.execute(SQL.starts, (kind,)))


def next_wake(connection: sqlite3.Connection, now_ms: int) -> int | None:
    """The earliest instant after now at which a cursor, a run or a pause's end is due."""
    statements = (SQL.next_cursor, SQL.next_pending, SQL.next_pause_end, SQL.next_queue_end)
    found = [connection.execute(statement, (now_ms,)).fetchone()[0] for statement in statements]
    found.append(ready.next_ms(connection, now_ms))
    return min((at_ms for at_ms in found if at_ms is not None), default=None)


def park(connection: sqlite3.Connection, job_id: int, revision: int, error: str, now_ms: int) -> None:
    """Takes a cursor out of the due index with its error, if it has not moved meanwhile."""
    if connection.execute(SQL.park, (error, job_id, revision)).rowcount:
        job = identity(connection, job_id)
        assert job is not None
        if connection.execute(SQL.park_resuming, (job_id,)).rowcount:
            release(connection, job, now_ms)
        events.append_one(connection, now_ms, "job.parked", job.owner_id, job_id, name=job.name, error=error)


def release(connection: sqlite3.Connection, job: OfJob, now_ms: int) -> None:
    """Runs that a pause held go on."""
    data = text({"name": job.name, "released": True})
    events.append(
        connection,
        [
            (now_ms, _GOES_ON[state], job.owner_id, job.id, run_id, data)
            for run_id, state in sorted(connection.execute(SQL.release, (job.id,)))
        ],
    )


def jobs(rows: Iterable[tuple[Any, ...]]) -> list[DueJob]:
    """Rows of the view due_jobs as values."""
    return [
        DueJob(
            job_id=job_id,
            job_uid=uid,
            name=name,
            version=version,
            schedule=(spec := columns.schedule(schedule)),
            policies=(rules := columns.policies(policies)),
            unreadable=columns.unreadable(schedule=schedule, policies=policies)
            if spec is columns.NO_SCHEDULE or rules is columns.NO_POLICIES
            else None,
            next_ms=next_ms,
            handled_ms=handled_ms,
            revision=revision,
            created_ms=created_ms,
            suspended_since_ms=suspended_since,
            suspended_why=suspended_why,
            resuming=resuming,
            quarantined=bool(quarantined),
            generation=generation,
            skip_until_ms=skip_until,
            left_out=tuple(sorted((from_ms, to_ms) for from_ms, to_ms in columns.listed(left_out))),
        )
        for (
            job_id,
            uid,
            name,
            version,
            schedule,
            policies,
            next_ms,
            handled_ms,
            revision,
            created_ms,
            suspended_since,
            suspended_why,
            resuming,
            quarantined,
            generation,
            skip_until,
            left_out,
        ) in rows
    ]
