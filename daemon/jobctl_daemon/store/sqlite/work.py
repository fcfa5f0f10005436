"""What runs execute."""

import sqlite3

from jobctl.errors import NotFound
from jobctl.model import Execution
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import columns, owners
from jobctl_daemon.store.sqlite.statements import load

SQL = load("work")


def of_run(connection: sqlite3.Connection, caller: Caller, run_id: int) -> Execution:
    """Its own edit of a replay, else the definition of its version; `NotFound` when it is not the caller's."""
    row = connection.execute(SQL.of_run, {"run_id": run_id}).fetchone()
    if row is None or owners.scope(connection, caller) not in (None, row[1]):
        raise NotFound(f"no run {run_id}", "see `jobctl runs`; finished runs are kept for a limited time")
    return columns.execution(row[0])
