"""A one-shot, or an ad-hoc run's job, is done when nothing more will come of it."""

import sqlite3
from collections.abc import Iterable

from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("one_shots")


def retire(connection: sqlite3.Connection, job_ids: Iterable[int], now_ms: int) -> None:
    """Marks those of the jobs as done that wait for no instant and have no active run. Others stay as they are."""
    done = connection.execute(SQL.retire, (text(list(job_ids)),)).fetchall()
    changes = [(now_ms, "job.done", owner, job_id, None, text({"name": name})) for job_id, owner, name in done]
    events.append(connection, changes)
