"""What guards and events need of a job."""

import sqlite3
from typing import NamedTuple

from jobctl_daemon.store.sqlite.statements import load

SQL = load("identity")


class Identity(NamedTuple):
    """What guards and events need of a job; in the order of the statement `identity`."""

    id: int
    owner_id: int
    name: str
    uid: str
    suspended: int
    version: int
    queue: str
    priority: int
    policies: str
    deleted_ms: int | None


def identity(connection: sqlite3.Connection, job_id: int) -> Identity | None:
    """A job, also a deleted one."""
    row = connection.execute(SQL.identity, (job_id,)).fetchone()
    return Identity(*row) if row else None
