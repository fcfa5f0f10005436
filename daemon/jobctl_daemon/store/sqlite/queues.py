"""Queues: jobs with a limit of their own, together."""

import sqlite3

from jobctl.model import Queue
from jobctl.wire import rfc3339
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import events, owners
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("queues")

_Row = tuple[str, int | None, int, int, int, int, str | None, int | None, int | None, str | None]


def queues(connection: sqlite3.Connection, caller: Caller, *, known: bool) -> list[Queue]:
    """Those that the caller's jobs are in, with `known` also those that somebody set; by name. Counts are of what the
    caller sees."""
    parameters = {"owner_id": owners.scope(connection, caller), "name": None, "known": known}
    return [_queue(row) for row in connection.execute(SQL.of_all, parameters)]


def named(connection: sqlite3.Connection, caller: Caller, name: str) -> Queue | None:
    """A queue that somebody set or that jobs of the caller are in, with counts of what he sees."""
    parameters = {"owner_id": owners.scope(connection, caller), "name": name, "known": False}
    row = connection.execute(SQL.of_all, parameters).fetchone()
    return _queue(row) if row else None


def daemon(connection: sqlite3.Connection) -> Queue | None:
    """The pause of the daemon as a whole."""
    row = connection.execute(SQL.daemon).fetchone()
    return _queue(row) if row else None


def put(connection: sqlite3.Connection, name: str, concurrency: int | None, now_ms: int) -> None:
    """Sets the limit of a queue; None: as many as there are slots."""
    connection.execute(SQL.set, (name, concurrency))
    data = text({"name": name, "concurrency": concurrency})
    events.append(connection, [(now_ms, "queue.set", events.NOBODY, None, None, data)])


def _queue(row: _Row) -> Queue:
    name, concurrency, jobs, ready, running, paused, by, since_ms, until_ms, why = row
    return Queue(
        name=name,
        concurrency=concurrency,
        jobs=jobs,
        ready=ready,
        running=running,
        paused=bool(paused),
        paused_by=by,
        paused_since=None if since_ms is None else rfc3339(since_ms),
        paused_until=None if until_ms is None else rfc3339(until_ms),
        paused_why=why,
    )
