"""A run that has ended moves from `runs` to `history` and keeps its id."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jobctl.states import FailureClass, RunState
from jobctl_daemon.store.sqlite.columns import GAP, gap, text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("history")


class Ending(NamedTuple):
    """How a run ended."""

    run_id: int
    state: RunState
    outcome: str
    finished_ms: int
    late: bool
    failure_class: FailureClass | None = None
    reason: str | None = None
    started_ms: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    error: str | None = None
    fingerprint: str | None = None


def move(connection: sqlite3.Connection, endings: Sequence[Ending]) -> None:
    """Writes the endings and removes the active rows."""
    connection.executemany(SQL.move, [_columns(ending) for ending in endings])
    connection.execute(SQL.drop_active, (text([ending.run_id for ending in endings]),))


def known(connection: sqlite3.Connection, run_ids: Iterable[int]) -> set[int]:
    """Those of the runs that are finished and kept."""
    return {run_id for (run_id,) in connection.execute(SQL.known, (text(list(run_ids)),))}


def _columns(ending: Ending) -> tuple[object, ...]:
    """In the order of the statement `move`."""
    return (
        str(ending.state),
        ending.outcome,
        GAP if ending.failure_class is None else str(ending.failure_class),
        gap(ending.reason),
        gap(ending.started_ms),
        ending.finished_ms,
        gap(ending.exit_code),
        gap(ending.signal),
        1 if ending.late else 0,
        gap(ending.error),
        gap(ending.fingerprint),
        ending.run_id,
    )
