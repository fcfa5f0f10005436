"""The output of runs by mail: the ends it is made of, and how much of it may wait."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from jobctl.defaults import JOB_RUNS_MAX
from jobctl.errors import NotFound
from jobctl.model import Event
from jobctl.states import RunState, SkipReason
from jobctl.wire import rfc3339
from jobctl_daemon.rows import Caller, Mailing
from jobctl_daemon.store.sqlite import retire, run_lists, work
from jobctl_daemon.store.sqlite.columns import data, policies
from jobctl_daemon.store.sqlite.statements import load

SQL = load("mails")

#: The queue of mails, and how many are delivered at once.
QUEUE: Final = "jobd-mail"
AT_ONCE: Final = 4
#: Mails of one owner that wait; of more the oldest go.
WAITING_MOST: Final = JOB_RUNS_MAX
_ALL: Final = Caller(uid=0, name="root", all_owners=True)


def ends(connection: sqlite3.Connection, after: int, limit: int) -> list[Event]:
    """Ends after a number, oldest first."""
    rows = connection.execute(SQL.ends, {"after": after, "limit": limit})
    return [
        Event(id=number, at=rfc3339(at_ms), kind=kind, job_id=job_id, run_id=run_id, data=data(facts))
        for number, at_ms, kind, job_id, run_id, facts in rows
    ]


def of_attempt(connection: sqlite3.Connection, run_id: int, fence: int) -> Mailing:
    """An attempt with its run and its job."""
    run = run_lists.run(connection, _ALL, run_id)
    attempts = [one for one in run_lists.attempts(connection, _ALL, run_id) if one.fence == fence]
    row = connection.execute(SQL.of_job, (run.job_id,)).fetchone()
    if not attempts or row is None:
        raise NotFound(f"of run {run_id} there is nothing to mail", "its attempts or its job are gone")
    owner, source, rules = row
    return Mailing(
        run=run,
        attempt=attempts[-1],
        owner=owner,
        source=source,
        execution=work.of_run(connection, _ALL, run_id),
        mail=policies(rules).mail,
    )


def bound(connection: sqlite3.Connection, carriers: Iterable[int], now_ms: int) -> None:
    """Of what these hidden jobs carry no more waits than may, the newest; the queue has its limit."""
    connection.execute(SQL.bound, (QUEUE, AT_ONCE))
    for job_id in carriers:
        over = connection.execute(SQL.waiting, {"job_id": job_id, "most": WAITING_MOST}).fetchall()
        why = retire.End(RunState.SKIPPED, "limit", f"over {WAITING_MOST} mails wait: the oldest go", SkipReason.LIMIT)
        retire.unstarted(connection, {run_id: why for (run_id,) in over}, now_ms)
