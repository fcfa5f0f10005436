"""A claimed run, as giving it back and ending it read it."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("attempts")


class Claimed(NamedTuple):
    """A row of the statement `claimed`."""

    id: int
    fence: int
    state: str
    attempt: int
    job_id: int
    owner_id: int
    key: str
    due_ms: int
    started_ms: int | None
    trigger: str
    stop_wanted: str | None
    name: str
    policies: str
    one_shot: int
    hidden: int
    paused: int
    deleted_ms: int | None

    def holds(self, fence: int) -> bool:
        """Whether `fence` is that of the attempt that runs now."""
        return self.state == "running" and self.fence == fence


def read(connection: sqlite3.Connection, run_ids: Iterable[int]) -> dict[int, Claimed]:
    """The active ones of these runs, whatever their state."""
    rows = connection.execute(SQL.claimed, (text(list(run_ids)),))
    return {row.id: row for row in map(Claimed._make, rows)}
