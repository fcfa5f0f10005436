"""The event log: appended in the transaction that makes the change, read back after its commit."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from jobctl.wire import rfc3339
from jobctl_daemon.rows import Denial, Owned
from jobctl_daemon.store.sqlite.columns import data, text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("events")

#: at_ms, kind, owner id, job id, run id, data as JSON
Change = tuple[int, str, int, int | None, int | None, str]

_NO_LIMIT: Final = -1
#: The owner of what happens to a queue, the daemon or the clock.
NOBODY: Final = 0


def append(connection: sqlite3.Connection, changes: Iterable[Change]) -> None:
    connection.executemany(SQL.append, changes)


def append_one(
    connection: sqlite3.Connection, at_ms: int, kind: str, owner_id: int, job_id: int, **facts: object
) -> None:
    """One event of a job; `facts` are its data."""
    connection.execute(SQL.append, (at_ms, kind, owner_id, job_id, None, text(facts)))


def newest(connection: sqlite3.Connection) -> int:
    """The newest event's number; 0 when there never was one."""
    found: int = connection.execute(SQL.newest).fetchone()[0]
    return found


def span(connection: sqlite3.Connection) -> tuple[int, int]:
    """(oldest kept, newest); (1, 0) when there is none."""
    return connection.execute(SQL.oldest).fetchone()[0] or 1, newest(connection)


def since(
    connection: sqlite3.Connection, after: int, limit: int = _NO_LIMIT, owner_id: int | None = None
) -> list[Owned]:
    """Events after a number, oldest first; of one owner, or of all."""
    if owner_id is None:
        rows = connection.execute(SQL.since, (after, limit))
    else:
        rows = connection.execute(SQL.since_of_owner, (after, owner_id, limit))
    return _events(rows)


def changed_by(connection: sqlite3.Connection, job_id: int) -> str | None:
    """Who last changed a job, where an event tells."""
    row = connection.execute(SQL.last_change, (job_id,)).fetchone()
    return row[0] if row else None


def denied(connection: sqlite3.Connection, denial: Denial, now_ms: int) -> None:
    """Writes down that somebody was refused what is not his: of nobody, so that only who sees everything sees it."""
    append(connection, [(now_ms, "access.denied", NOBODY, None, None, text(denial))])


def _events(rows: Iterable[tuple[int, int, str, int | None, int | None, str, int]]) -> list[Owned]:
    texts: dict[int, str] = {}  # the events of one commit share a few instants
    found: list[Owned] = []
    for number, at_ms, kind, job_id, run_id, facts, owner_id in rows:
        at = texts.get(at_ms) or texts.setdefault(at_ms, rfc3339(at_ms))
        found.append(
            Owned(id=number, at=at, kind=kind, job_id=job_id, run_id=run_id, data=data(facts), owner_id=owner_id)
        )
    return found
