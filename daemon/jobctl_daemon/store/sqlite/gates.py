"""Runs that wait for an earlier one of their job: let go whenever one of its active runs leaves."""

import sqlite3
from collections.abc import Iterable

from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("gates")


def freed(connection: sqlite3.Connection, job_ids: Iterable[int], now_ms: int) -> None:
    """A run of these jobs is no longer active, or more of them may be: who waits is admitted, or waits again."""
    ids = sorted(set(job_ids))
    if not ids:
        return
    rows = sorted(connection.execute(SQL.freed, (text(ids),)))
    events.append(
        connection,
        [
            (now_ms, "run.scheduled", owner_id, job_id, run_id, text({"name": name, "freed": True}))
            for run_id, job_id, owner_id, name in rows
        ],
    )


def freed_all(connection: sqlite3.Connection) -> int:
    """Every waiting run is looked at again; returns how many there are."""
    return connection.execute(SQL.freed_all).rowcount
