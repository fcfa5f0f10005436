"""A run that has ended moves from `runs` to `history` and keeps its id."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jobctl.states import FailureClass, RunState
from jobctl_daemon.store.sqlite.columns import GAP, gap, text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("history")


class Ending(NamedTuple):
    """How a run ended, in the order of the statement `move`."""

    state: RunState
    outcome: str
    failure_class: FailureClass | None
    reason: str | None
    started_ms: int | None
    finished_ms: int
    exit_code: int | None
    signal: int | None
    late: bool
    run_id: int


def move(connection: sqlite3.Connection, endings: Sequence[Ending]) -> None:
    """Writes the endings and removes the active rows."""
    connection.executemany(SQL.move, [_columns(ending) for ending in endings])
    connection.execute(SQL.drop_active, (text([ending.run_id for ending in endings]),))


def known(connection: sqlite3.Connection, run_ids: Iterable[int]) -> set[int]:
    """Those of the runs that are finished and kept."""
    return {run_id for (run_id,) in connection.execute(SQL.known, (text(list(run_ids)),))}


def _columns(ending: Ending) -> tuple[object, ...]:
    state, outcome, failure_class, reason, started_ms, finished_ms, exit_code, signal, late, run_id = ending
    return (
        str(state),
        outcome,
        GAP if failure_class is None else str(failure_class),
        gap(reason),
        gap(started_ms),
        finished_ms,
        gap(exit_code),
        gap(signal),
        1 if late else 0,
        run_id,
    )
