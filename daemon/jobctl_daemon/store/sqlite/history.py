"""A run that has ended moves from `runs` to `history` and keeps its id."""

import sqlite3
from collections import Counter
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


def count(connection: sqlite3.Connection, job_ids: Iterable[int]) -> None:
    """Notes one more kept row for each mention of a job."""
    connection.executemany(SQL.count, [(more, job_id) for job_id, more in Counter(job_ids).items()])


def known(connection: sqlite3.Connection, run_ids: Iterable[int]) -> set[int]:
    """Those of the runs that are finished and kept."""
    return {run_id for (run_id,) in connection.execute(SQL.known, (text(list(run_ids)),))}
