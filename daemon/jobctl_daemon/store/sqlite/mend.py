"""What a disk, or a hand in the file, has spoilt so that nobody would see it is put in plain view: at the start, at a
reload and now and then."""

import os
import sqlite3

from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("mend")


def needed(connection: sqlite3.Connection) -> bool:
    """Whether there is anything of that kind."""
    return any(connection.execute(look).fetchone() is not None for look in (SQL.strange, SQL.orphans))


def mend(connection: sqlite3.Connection, now_ms: int) -> None:
    """Runs in no known state become dead letters; jobs of no known owner are the daemon's user's."""
    buried = sorted(connection.execute(SQL.bury))
    changes = [
        (now_ms, "run.dead", owner_id, job_id, run_id, text({"key": key, "reason": reason}))
        for run_id, job_id, owner_id, key, reason in buried
    ]
    events.append(connection, changes)
    if connection.execute(SQL.orphans).fetchone() is not None:
        connection.execute(SQL.put_me, {"uid": os.geteuid()})
        for statement in (SQL.take_jobs, SQL.take_runs):
            connection.execute(statement, {"uid": os.geteuid()})
