"""What happens to a job again and again: skipped occurrences, dead letters."""

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("streaks")

#: Occurrences skipped in a row after which somebody should know.
SKIPS_TOLD: Final = 3
#: Dead letters in a row after which the job is paused.
DEATHS_MOST: Final = 5


class Skips(NamedTuple):
    """How many occurrences were skipped in a row, and whether that had become a habit before."""

    in_a_row: int
    habit: bool


def skipped(connection: sqlite3.Connection, job_id: int) -> Skips:
    """Counts one skipped occurrence. `SKIPS_TOLD` of them are a habit."""
    count, habit = connection.execute(SQL.skipped, (job_id,)).fetchone()
    if count >= SKIPS_TOLD and not habit:
        connection.execute(SQL.habit, (job_id,))
    return Skips(count, bool(habit))


def died(connection: sqlite3.Connection, job_id: int) -> int:
    """Counts one dead letter; returns how many there are in a row."""
    found: int = connection.execute(SQL.died, (job_id,)).fetchone()[0]
    return found


def ended(connection: sqlite3.Connection, job_ids: Iterable[int]) -> None:
    """Runs of these jobs have ended: what is skipped from now on begins a new row."""
    connection.execute(SQL.ended, (text(sorted(set(job_ids))),))


def succeeded(connection: sqlite3.Connection, job_ids: Iterable[int]) -> None:
    """Runs of these jobs have succeeded; called before `ended`, which forgets what was skipped beside them."""
    jobs = text(sorted(set(job_ids)))
    connection.execute(SQL.clean, (jobs,))
    connection.execute(SQL.succeeded, (jobs,))


def forget_deaths(connection: sqlite3.Connection, job_id: int) -> None:
    """Somebody resumed it."""
    connection.execute(SQL.forget_deaths, (job_id,))
