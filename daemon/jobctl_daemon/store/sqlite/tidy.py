"""Retention: expired rows go, a bounded number of each kind at a time. No counter is kept that could be wrong."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from jobctl_daemon.rows import AdhocPage, Expired, Keep
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


# ── finished runs: reads, so that their logs can go first ──────────────────────────────────────────────
def aged(connection: sqlite3.Connection, before_ms: int, after: int, limit: int) -> Expired:
    """Of the next runs by id those that ended before; those that were due before and ended later are passed over."""
    rows = connection.execute(SQL.oldest, (after, limit)).fetchall()
    old = [run_id for run_id, _, ended_ms in rows if ended_ms < before_ms]
    over = len(rows) < limit or all(due_ms >= before_ms for _, due_ms, _ in rows)
    return _expired(connection, old, None if over else rows[-1][0])


def surplus(connection: sqlite3.Connection, job_ids: Sequence[int], kept: int, limit: int) -> Expired:
    """Runs beyond those kept of each job. `after` is a job of which more may be left."""
    found: list[int] = []
    for job_id in job_ids:
        last = connection.execute(SQL.last_kept, (job_id, kept)).fetchone()
        if last is not None:
            rows = connection.execute(SQL.surplus, (job_id, last[0], limit - len(found)))
            found += [run_id for (run_id,) in rows]
        if len(found) >= limit:
            return _expired(connection, found, job_id)
    return _expired(connection, found, None)


def jobs_with_history(connection: sqlite3.Connection, after: int, limit: int) -> list[int]:
    """Jobs that have finished runs, by id, after one."""
    found: list[int] = []
    while len(found) < limit and (row := connection.execute(SQL.next_job, (after,)).fetchone()) is not None:
        after = row[0]
        found.append(after)
    return found


def adhoc_before(connection: sqlite3.Connection, job_id: int, wanted: int, limit: int) -> AdhocPage:
    """A page of jobs, from the newest back, that ends with the last one wanted."""
    count = 0
    rows = connection.execute(SQL.adhoc_before, (job_id, limit)).fetchall()
    for lowest, ended in rows:
        count += ended
        if count == wanted:
            return AdhocPage(ended=count, lowest=lowest, more=True)
    return AdhocPage(ended=count, lowest=rows[-1][0] if rows else 0, more=len(rows) == limit)


def adhoc_runs(connection: sqlite3.Connection, after: int, until: int, limit: int) -> Expired:
    """The finished runs of the next ad-hoc jobs up to one."""
    jobs = connection.execute(SQL.adhoc_jobs, (after, until, limit)).fetchall()
    found = [run_id for job_id, ended in jobs if ended for (run_id,) in connection.execute(SQL.of_job, (job_id, limit))]
    return _expired(connection, found, jobs[-1][0] if len(jobs) == limit else None)


def ledger_before(connection: sqlite3.Connection, job_id: int, kept: int) -> int | None:
    """The instant up to which a job's rows are too many."""
    row = connection.execute(SQL.ledger_last_kept, (job_id, kept)).fetchone()
    return None if row is None else int(row[0])


def _expired(connection: sqlite3.Connection, run_ids: Sequence[int], after: int | None) -> Expired:
    logs = [log for run_id in run_ids for log in connection.execute(SQL.logs_of, (run_id,))]
    return Expired(runs=tuple(run_ids), logs=tuple(logs), after=after)


# ── writes ──────────────────────────────────────────────
def forget(connection: sqlite3.Connection, run_ids: Sequence[int]) -> int:
    """Deletes finished runs with their attempts, and their jobs when these were waiting for it."""
    found = connection.execute(SQL.finished, (text(run_ids),)).fetchall()
    ids = [(run_id,) for run_id, _ in found]
    connection.executemany(SQL.drop_attempts, ids)
    connection.executemany(SQL.drop_history, ids)
    if found:
        newest = max(int(meta.get(connection, meta.TIDIED) or 0), *(run_id for run_id, _ in found))
        meta.write(connection, {meta.TIDIED: str(newest)})
    forget_jobs(connection, {job_id for _, job_id in found})
    return len(found)


def prune(connection: sqlite3.Connection, now_ms: int, limit: int, keep: Keep) -> bool:
    """Deletes up to `limit` expired rows of each kind but finished runs. True: some kind reached the limit."""
    requests = connection.execute(SQL.old_requests, (now_ms - _REQUEST_DAYS * _DAY_MS, limit)).fetchall()
    deleted = (
        len(requests),
        _prune_events(connection, now_ms, limit),
        _rows(connection, SQL.old_occurrences, now_ms - _OCCURRENCE_DAYS * _DAY_MS, limit),
        _rows(connection, SQL.old_asked, now_ms - _ASKED_DAYS * _DAY_MS, limit),
        _rows(connection, SQL.old_replays, now_ms - _ASKED_DAYS * _DAY_MS, limit),
        dead.expire(connection, now_ms - keep.days * _DAY_MS, keep.days, limit, now_ms),
    )
    forget_jobs(connection, {job_id for (job_id,) in requests})
    return any(count >= limit for count in deleted)


def prune_ledger(connection: sqlite3.Connection, job_id: int, before_ms: int, limit: int) -> bool:
    """Deletes up to `limit` of a job's rows up to an instant, oldest first. True: the limit was reached."""
    return connection.execute(SQL.ledger_surplus, (job_id, before_ms, limit)).rowcount >= limit


def forget_jobs(connection: sqlite3.Connection, job_ids: Iterable[int]) -> None:
    """Removes those of the jobs that are deleted, or of an ad-hoc run, and to which nothing refers any more."""
    ids = connection.execute(SQL.leaving, (text(list(job_ids)),)).fetchall()
    for statement in _OF_A_JOB:
        connection.executemany(statement, ids)


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


_OF_A_JOB: Final = (
    SQL.drop_versions,
    SQL.drop_last_run,
    SQL.drop_streak,
    SQL.drop_cursor,
    SQL.drop_dependent,
    SQL.drop_job,
)
