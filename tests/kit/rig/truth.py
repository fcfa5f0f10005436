"""The daemon's word, read from its database when it has stopped, and its own account of itself."""

import collections
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kit.invariants import invariants
from kit.rig.verdict import Effort, Recorded, Row

_RUNS = """
    SELECT r.id, j.name, r.state, r.fence FROM
        (SELECT id, job_id, state, fence FROM runs UNION ALL SELECT id, job_id, state, fence FROM history) r
    JOIN jobs j ON j.id = r.job_id"""
_EFFORTS = "SELECT run_id, attempt, fence, failure_class, exit_code, signal FROM attempts"
_LEDGER = """
    SELECT j.name, o.from_ms, o.to_ms, o.run_id FROM occurrences o JOIN jobs j ON j.id = o.job_id
    WHERE substr(o.key, 1, 2) <> 'm:'"""
_EPOCH = re.compile(r"event=daemon\.ready .*?epoch=(\d+)")
_GRAVE = re.compile(r"level=(?:error|critical) event=(\S+)")


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that was recorded."""

    runs: dict[int, Recorded]
    efforts: dict[tuple[int, int], Effort]
    ledger: dict[str, list[Row]]
    broken: str
    """Invariants that do not hold; empty when all do."""


def read(database: Path) -> Truth:
    """Of a database that nobody has open."""
    with closing(sqlite3.connect(database)) as connection:
        runs = {row[0]: Recorded(*row) for row in connection.execute(_RUNS)}
        efforts = {(row[0], row[2]): Effort(*row) for row in connection.execute(_EFFORTS)}
        ledger: dict[str, list[Row]] = collections.defaultdict(list)
        for name, *row in connection.execute(_LEDGER):
            ledger[name].append(Row(*row))
        try:
            invariants(connection)
        except AssertionError as error:
            return Truth(runs, efforts, ledger, str(error))
        (fine,) = connection.execute("PRAGMA integrity_check").fetchone()
    return Truth(runs, efforts, ledger, "" if fine == "ok" else str(fine))


def epochs(log: str) -> list[int]:
    """Of each daemon that came up, in their order."""
    return [int(number) for number in _EPOCH.findall(log)]


def grave(log: str) -> collections.Counter[str]:
    """What the daemon itself called an error, by name."""
    return collections.Counter(_GRAVE.findall(log))
