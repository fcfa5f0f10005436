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
    by_hand: int
    replays: int
    returns: int
    batch: int | None
    probe: int
    stop_wanted: str | None
    stop_by: str | None
    name: str
    policies: str
    one_shot: int
    hidden: int
    suspended: int
    deleted_ms: int | None

    def holds(self, fence: int) -> bool:
        """Whether `fence` is that of the attempt that runs now."""
        return self.state == "running" and self.fence == fence

    @property
    def held(self) -> bool:
        """Whether a pause holds what it does next."""
        return bool(self.suspended) and not self.by_hand

    @property
    def unwanted(self) -> bool:
        """Whether it must not be started: somebody stopped it, or its job was deleted (but for a replay since)."""
        return self.stop_wanted is not None or (self.deleted_ms is not None and not self.replays)


def read(connection: sqlite3.Connection, run_ids: Iterable[int]) -> dict[int, Claimed]:
    """The active ones of these runs, whatever their state."""
    rows = connection.execute(SQL.claimed, (text(list(run_ids)),))
    return {row.id: row for row in map(Claimed._make, rows)}
