"""Which logs are on disk by what the attempts say, and which of those on disk are known."""

import sqlite3
from collections.abc import Iterable, Sequence

from jobctl_daemon.rows import LogsKept
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("logs")


def kept(connection: sqlite3.Connection, after: tuple[int, int], limit: int) -> LogsKept:
    """The bytes of up to `limit` of them after a (run id, fence)."""
    place = {"run_id": after[0], "fence": after[1], "limit": limit}
    size, count, last = connection.execute(SQL.kept, place).fetchone()
    if count < limit:
        return LogsKept(bytes=size, after=None)
    (fence,) = connection.execute(SQL.last_of, {**place, "last": last}).fetchone()
    return LogsKept(bytes=size, after=(last, fence))


def finished(connection: sqlite3.Connection, limit: int, after: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """(run id, fence, bytes, owner's number) of ended attempts whose log is still there, oldest first, after one."""
    return connection.execute(SQL.finished, (*after, limit)).fetchall()


def owners(connection: sqlite3.Connection, run_ids: Iterable[int]) -> dict[int, int]:
    """The numbers of the owners of active runs."""
    return dict(connection.execute(SQL.owners, (text(list(run_ids)),)).fetchall())


def dropped(connection: sqlite3.Connection, logs: Iterable[tuple[int, int]]) -> None:
    """(run id, fence) of logs that are gone from disk."""
    connection.executemany(SQL.dropped, logs)


def unknown(connection: sqlite3.Connection, logs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the logs that nothing refers to."""
    return connection.execute(SQL.unknown, (text(logs),)).fetchall()


def at_rest(connection: sqlite3.Connection, first_run: int, last_run: int) -> bool:
    """Whether no log of these runs will be written any more."""
    row = connection.execute(SQL.busy, {"first": first_run, "last": last_run}).fetchone()
    return not row[0]
