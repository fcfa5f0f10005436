"""How long runs took: of one job run by run, and of many jobs as lists of numbers."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from jobctl.states import RunState
from jobctl_daemon.rows import Took
from jobctl_daemon.store.sqlite.columns import listed, text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("durations")

#: Rows of history that are looked at for each run that is wanted: most of a job's rows may be skips.
_LOOKED_AT: Final = 10


def ended(connection: sqlite3.Connection, job_id: int, limit: int) -> list[Took]:
    """The newest runs of a job that began and ended, newest first."""
    rows = connection.execute(SQL.ended, {"job_id": job_id, "limit": limit, "looked_at": limit * _LOOKED_AT})
    return [
        Took(run_id=run_id, state=RunState(state), outcome=outcome, started_ms=started_ms, finished_ms=finished_ms)
        for run_id, state, outcome, started_ms, finished_ms in rows
    ]


def succeeded(connection: sqlite3.Connection, job_ids: Sequence[int], limit: int) -> dict[int, list[int]]:
    """How many ms the newest runs of these jobs took that succeeded; a clock that was set back makes none negative."""
    wanted = {"job_ids": text(list(job_ids)), "limit": limit, "looked_at": limit * _LOOKED_AT}
    rows = connection.execute(SQL.succeeded, wanted)
    return {job_id: [max(0, took) for took in listed(found)] for job_id, found in rows if found != "[]"}
