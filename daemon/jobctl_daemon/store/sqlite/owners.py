"""Who owns jobs, and what a caller may see."""

import sqlite3
from typing import Final

from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite.statements import load

SQL = load("owners")

#: The owner of nothing: a caller who never made a job.
NOBODY: Final = -1


def known(connection: sqlite3.Connection, caller: Caller) -> int:
    """The caller's owner id, made when it is new."""
    connection.execute(SQL.put, (caller.uid, caller.name))
    return _id(connection, caller.uid)


def scope(connection: sqlite3.Connection, caller: Caller | None) -> int | None:
    """Whose rows a caller sees: an owner id, or None for everybody's."""
    return None if caller is None or caller.all_owners else _id(connection, caller.uid)


def _id(connection: sqlite3.Connection, uid: int) -> int:
    row = connection.execute(SQL.id_of_uid, (uid,)).fetchone()
    return row[0] if row else NOBODY
