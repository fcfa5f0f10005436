"""A run that has ended moves from `runs` to `history` and keeps its id."""

import sqlite3
from collections.abc import Iterable, Sequence

from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("history")

#: state, outcome, class, reason, started, finished, exit code, signal, late, run id
Ending = tuple[str, str, str | None, str | None, int | None, int, int | None, int | None, bool, int]


def move(connection: sqlite3.Connection, endings: Sequence[Ending]) -> None:
    """Writes the endings and removes the active rows."""
    connection.executemany(SQL.move, endings)
    connection.executemany(SQL.drop_active, [ending[-1:] for ending in endings])


def known(connection: sqlite3.Connection, run_ids: Iterable[int]) -> set[int]:
    """Those of the runs that are finished and kept."""
    return {run_id for (run_id,) in connection.execute(SQL.known, (text(list(run_ids)),))}
