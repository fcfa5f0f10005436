"""Retention: expired rows go, a bounded number of each kind at a time. No counter is kept that could be wrong."""

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from jobctl_daemon.rows import Keep, Pruned
from jobctl_daemon.store.sqlite import dead, events, meta
from jobctl_daemon.store.sqlite.columns import text
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


class _Finished(NamedTuple):
    run_id: int
    job_id: int


def prune(connection: sqlite3.Connection, now_ms: int, limit: int, keep: Keep) -> Pruned:
    """Deletes up to `limit` expired rows of each kind. `more`: some kind reached the limit."""
    old = _old(connection, now_ms - keep.days * _DAY_MS, limit)
    logs = _forget(connection, old)
    surplus, looked_all = _surplus(connection, limit, keep.runs)
    logs += _forget(connection, surplus)
    requests = connection.execute(SQL.old_requests, (now_ms - _REQUEST_DAYS * _DAY_MS, limit)).fetchall()
    deleted = (
        len(old),
        len(requests),
        _prune_events(connection, now_ms, limit),
        _rows(connection, SQL.old_occurrences, now_ms - _OCCURRENCE_DAYS * _DAY_MS, limit),
        _rows(connection, SQL.old_asked, now_ms - _ASKED_DAYS * _DAY_MS, limit),
        _rows(connection, SQL.old_replays, now_ms - _ASKED_DAYS * _DAY_MS, limit),
        dead.expire(connection, now_ms - keep.days * _DAY_MS, keep.days, limit, now_ms),
    )
    forget_jobs(connection, {run.job_id for run in old + surplus} | {job_id for (job_id,) in requests})
    return Pruned(logs=tuple(logs), more=not looked_all or any(count >= limit for count in deleted))


def forget_jobs(connection: sqlite3.Connection, job_ids: Iterable[int]) -> None:
    """Removes those of the jobs that are deleted, or of an ad-hoc run, and to which nothing refers any more."""
    ids = connection.execute(SQL.leaving, (text(list(job_ids)),)).fetchall()
    for statement in (SQL.drop_versions, SQL.drop_last_run, SQL.drop_job):
        connection.executemany(statement, ids)


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


def _old(connection: sqlite3.Connection, before_ms: int, limit: int) -> list[_Finished]:
    """The oldest finished runs that are over their time.

    Those that ended long after they were due, as a dead letter that was kept and discarded, are passed over: among the
    oldest by id they would be in the way of what came after them.
    """
    found: list[_Finished] = []
    after = 0
    while len(found) < limit:
        rows = connection.execute(SQL.oldest, (after, limit)).fetchall()
        found += [_Finished(run_id, job_id) for run_id, job_id, _, ended_ms in rows if ended_ms < before_ms]
        if len(rows) < limit or all(due_ms >= before_ms for _, _, due_ms, _ in rows):
            break
        after = rows[-1][0]
    return found[:limit]


def _surplus(connection: sqlite3.Connection, limit: int, kept: int) -> tuple[list[_Finished], bool]:
    """Runs beyond those kept of each job that had news since the last look, and whether all jobs were looked at."""
    looked_through = int(meta.get(connection, meta.TIDIED) or 0)
    recent = [_Finished(*row) for row in connection.execute(SQL.recent, (looked_through, limit))]
    found: list[_Finished] = []
    for job_id in {run.job_id: None for run in recent}:
        last = connection.execute(SQL.last_kept, (job_id, kept)).fetchone()
        if last is not None:
            rows = connection.execute(SQL.surplus, (job_id, last[0], limit - len(found)))
            found += [_Finished(*row) for row in rows]
        if len(found) >= limit:
            return found, False
    if recent:
        meta.write(connection, {meta.TIDIED: str(recent[-1].run_id)})
    return found, len(recent) < limit


def _forget(connection: sqlite3.Connection, runs: Iterable[_Finished]) -> list[tuple[int, int]]:
    """Deletes finished runs with their attempts; returns (run id, fence) of those."""
    ids = [(run.run_id,) for run in runs]
    logs = [log for run_id in ids for log in connection.execute(SQL.logs_of, run_id)]
    connection.executemany(SQL.drop_attempts, ids)
    connection.executemany(SQL.drop_history, ids)
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


def _rows(connection: sqlite3.Connection, statement: str, before_ms: int, limit: int) -> int:
    return connection.execute(statement, (before_ms, limit)).rowcount
