"""Retention: expired rows go, a bounded number of each kind at a time."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from jobctl_daemon.rows import Keep, Pruned
from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.statements import load

SQL = load("tidy")

_DAY_MS: Final = 86_400_000
_REQUEST_DAYS: Final = 30
_OCCURRENCE_DAYS: Final = 400
_ASKED_DAYS: Final = 30
_EVENT_MS: Final = 3_600_000
_EVENTS_MOST: Final = 100_000
#: However old: a reader that comes back after a quiet night goes on where it was.
_EVENTS_LEAST: Final = 1_000


def prune(connection: sqlite3.Connection, now_ms: int, limit: int, keep: Keep) -> Pruned:
    """Deletes up to `limit` expired rows of each kind. `more`: some kind reached the limit."""
    logs, runs = _prune_history(connection, now_ms, limit, keep)
    deleted = (
        runs,
        _prune_events(connection, now_ms, limit),
        _rows(connection, SQL.old_requests, now_ms - _REQUEST_DAYS * _DAY_MS, limit),
        _rows(connection, SQL.old_occurrences, now_ms - _OCCURRENCE_DAYS * _DAY_MS, limit),
        _rows(connection, SQL.old_asked, now_ms - _ASKED_DAYS * _DAY_MS, limit),
        _prune_jobs(connection, limit),
    )
    return Pruned(logs=tuple(logs), more=any(count >= limit for count in deleted))


def finished_logs(connection: sqlite3.Connection, limit: int, after: int) -> list[tuple[int, int, int]]:
    """(run id, fence, bytes) of ended attempts whose log is still there, oldest first, after a run id."""
    return connection.execute(SQL.finished_logs, (after, limit)).fetchall()


def log_bytes(connection: sqlite3.Connection) -> int:
    """The bytes of all of them."""
    total: int = connection.execute(SQL.log_bytes).fetchone()[0]
    return total


def logs_dropped(connection: sqlite3.Connection, logs: Iterable[tuple[int, int]]) -> None:
    """(run id, fence) of logs that are gone from disk."""
    connection.executemany(SQL.log_dropped, logs)


def _prune_history(
    connection: sqlite3.Connection, now_ms: int, limit: int, keep: Keep
) -> tuple[list[tuple[int, int]], int]:
    before_ms = now_ms - keep.days * _DAY_MS
    rows = connection.execute(SQL.old_history, {"limit": limit, "before_ms": before_ms}).fetchall()
    logs = _forget(connection, rows)
    surplus = _surplus(connection, limit - len(rows), keep.runs)
    logs += _forget(connection, surplus)
    return logs, len(rows) + len(surplus)


def _surplus(connection: sqlite3.Connection, limit: int, kept: int) -> list[tuple[int, int]]:
    """(run id, job id) of runs beyond the number that is kept of each job."""
    found: list[tuple[int, int]] = []
    for (job_id,) in connection.execute(SQL.crowded, (kept, max(limit, 0))).fetchall():
        if len(found) >= limit:
            break
        last = connection.execute(SQL.last_kept, (job_id, kept)).fetchone()
        if last is None:
            connection.execute(SQL.recount, (job_id,))
            continue
        found += connection.execute(SQL.surplus, (job_id, last[0], limit - len(found)))
    return found


def _forget(connection: sqlite3.Connection, rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Deletes finished runs with their attempts; returns (run id, fence) of those."""
    logs = [log for run_id, _ in rows for log in connection.execute(SQL.logs_of, (run_id,))]
    ids = [(run_id,) for run_id, _ in rows]
    connection.executemany(SQL.drop_attempts, ids)
    connection.executemany(SQL.drop_history, ids)
    fewer = Counter(job_id for _, job_id in rows)
    connection.executemany(SQL.fewer, [(count, job_id) for job_id, count in fewer.items()])
    return logs


def _prune_events(connection: sqlite3.Connection, now_ms: int, limit: int) -> int:
    parameters = {
        "newest": events.newest(connection),
        "keep_least": _EVENTS_LEAST,
        "keep_most": _EVENTS_MOST,
        "before_ms": now_ms - _EVENT_MS,
        "limit": limit,
    }
    return connection.execute(events.SQL.prune, parameters).rowcount


def _prune_jobs(connection: sqlite3.Connection, limit: int) -> int:
    ids = connection.execute(SQL.leaving, (limit,)).fetchall()
    for statement in (SQL.drop_versions, SQL.drop_cursor, SQL.drop_job):
        connection.executemany(statement, ids)
    return len(ids)


def _rows(connection: sqlite3.Connection, statement: str, before_ms: int, limit: int) -> int:
    return connection.execute(statement, (before_ms, limit)).rowcount
