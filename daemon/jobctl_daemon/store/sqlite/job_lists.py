"""Reading jobs."""

import sqlite3
from typing import Any, Final

from jobctl.model import Job, JobSpec, ScheduleSpec
from jobctl_daemon.rows import Caller, JobFilter
from jobctl_daemon.store.sqlite import columns, facts, filters, owners, paging
from jobctl_daemon.store.sqlite.statements import load

SQL = load("job_lists")

_BEFORE_ALL: Final = ("", 0)
#: What may hold of a job whose state is another word.
_BESIDE: Final = ("failed", "paused", "running", "parked")
#: What an edit begins with where the schedule cannot be read.
_BY_HAND: Final = ScheduleSpec(timezone="UTC")


def one(connection: sqlite3.Connection, job_id: int) -> Job:
    """A job that is known to be there."""
    return facts.job(connection.execute(SQL.one, (job_id,)).fetchone())


def spec(connection: sqlite3.Connection, job_id: int) -> JobSpec:
    """The definition of a job that is known to be there."""
    row = connection.execute(SQL.spec, (job_id,)).fetchone()
    name, schedule, execution, policies, queue, priority, source, paused, hidden, declared = row
    spec = columns.schedule(schedule)
    return JobSpec(
        name=name,
        schedule=_BY_HAND if spec is columns.NO_SCHEDULE else spec,
        execution=columns.execution(execution),
        policies=columns.policies(policies),
        queue=queue,
        priority=priority,
        source=source,
        paused=bool(paused),
        hidden=bool(hidden),
        declared=declared,
    )


def page(connection: sqlite3.Connection, caller: Caller, wanted: JobFilter) -> tuple[list[Job], str | None]:
    """Jobs in order of name, and the cursor of the next page."""
    owner_id = owners.scope(connection, caller)
    asked = filters.shown(wanted.q, "job")
    statement = (SQL.of_all if owner_id is None else SQL.of_owner).format(asked=asked.sql)
    with filters.searching(connection, asked):
        rows = connection.execute(statement, _parameters(wanted, owner_id) | asked.values).fetchall()
    more = len(rows) > wanted.limit
    rows = rows[: wanted.limit]
    return [facts.job(row, listed=True) for row in rows], _cursor(rows[-1]) if more else None


def _parameters(wanted: JobFilter, owner_id: int | None) -> dict[str, object]:
    name, job_id = paging.key(wanted.cursor, tuple[str, int]) if wanted.cursor else _BEFORE_ALL
    return {
        "owner_id": owner_id,
        "name": name,
        "id": job_id,
        "done": wanted.done or "done" in wanted.states or filters.wants_done(wanted.q),
        "states": columns.text(wanted.states) if wanted.states else None,
        **{word: word in wanted.states for word in _BESIDE},
        "queue": wanted.queue,
        "source": wanted.source,
        "declared": wanted.declared,
        "owner": wanted.owner,
        "now_ms": wanted.now_ms,
        "tag": wanted.tag,
        "limit": wanted.limit + 1,
    }


def _cursor(row: tuple[Any, ...]) -> str:
    last = facts.JobFacts(*row)
    return paging.cursor((last.name, last.id))
