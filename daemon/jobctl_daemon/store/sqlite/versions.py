"""What a job ran and when: every change is a version of its own, which its runs refer to."""

import hashlib
import sqlite3
from typing import Final

from jobctl.model import Execution, ScheduleSpec
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("versions")

#: Versions of a job that are kept although no run has them: who changes a job each minute must not fill the disk.
KEPT: Final = 50
_LOOKED_AT: Final = 5_000


def fingerprint(schedule: str, execution: str, policies: str) -> str:
    """What tells two definitions apart in an audit: SHA-256 of their JSON texts, its first 32 hex digits."""
    return hashlib.sha256("\0".join((schedule, execution, policies)).encode()).hexdigest()[:32]


def fingerprint_of(connection: sqlite3.Connection, job_id: int) -> str | None:
    """The same of a job as it is stored; None when its version is not kept."""
    row = connection.execute(SQL.definition, (job_id,)).fetchone()
    return None if row is None else fingerprint(*row)


def put(
    connection: sqlite3.Connection,
    job_id: int,
    version: int,
    schedule: ScheduleSpec,
    execution: Execution,
    author: str,
    now_ms: int,
) -> None:
    """The newest version. Of the old ones go those beyond `KEPT` that no run has."""
    connection.execute(SQL.put, (job_id, version, text(schedule), text(execution), author, now_ms))
    if version > KEPT:
        place = {"job_id": job_id, "before": version - KEPT, "looked_at": _LOOKED_AT}
        connection.execute(SQL.drop_old, place)
