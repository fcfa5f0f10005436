"""Pauses of jobs, of queues and of the daemon. A job is *suspended* while any of the three holds it.

Suspending takes the cursor out of the due index and holds what has not started. When nothing holds a job any more it is
*resuming*: a service decides what becomes of the time that was missed, and `unsuspend` writes it.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from jobctl.errors import Conflict
from jobctl.states import SkipReason
from jobctl_daemon.rows import DueJob, Pause, Resumption
from jobctl_daemon.shown import QUARANTINED, pause_words
from jobctl_daemon.store.sqlite import due, events, expand, gates, ledger, meta, one_shots, streaks
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import Identity
from jobctl_daemon.store.sqlite.isolation import isolated
from jobctl_daemon.store.sqlite.statements import load

SQL = load("pauses")

#: The daemon as a whole, among the queues.
DAEMON: Final = ""

_PLAIN: Final = "plain"
_CATCH_UP: Final = "catch_up"


class _Resuming(NamedTuple):
    """A row of the statement `resuming`."""

    id: int
    revision: int
    version: int
    owner_id: int
    name: str
    queue: str
    priority: int


class Hold(NamedTuple):
    """Whose pause holds jobs, job, queue or daemon; and who paused what, and why."""

    holder: str
    words: str


# ── holding ──────────────────────────────────────────────


def pause_job(
    connection: sqlite3.Connection, job: Identity, pause: Pause, now_ms: int, *, quarantined: bool = False
) -> None:
    """Nothing of the job starts but what is asked for by hand."""
    facts = {"by": pause.by, "until_ms": pause.until_ms, "why": pause.why, "now_ms": now_ms}
    connection.execute(SQL.pause_job, {"job_id": job.id, "quarantined": quarantined, **facts})
    kind = "job.quarantined" if quarantined else "job.paused"
    events.append_one(connection, now_ms, kind, job.owner_id, job.id, name=job.name, by=pause.by, why=pause.why)
    words = pause.why or QUARANTINED if quarantined else pause_words("job", job.queue, pause.by, pause.why)
    suspend(connection, [job.id], Hold("job", words), now_ms)


def pause_queue(connection: sqlite3.Connection, name: str, pause: Pause, now_ms: int) -> int:
    """The same for all jobs of a queue, or of the daemon; returns how many it holds now."""
    facts = {"by": pause.by, "until_ms": pause.until_ms, "why": pause.why, "now_ms": now_ms}
    connection.execute(SQL.pause_queue, {"name": name, **facts})
    _tell(connection, name, "paused", now_ms, by=pause.by, why=pause.why)
    ids = _jobs_of(connection, name)
    suspend(connection, ids, _hold(name, pause), now_ms)
    return len(ids)


def holder(connection: sqlite3.Connection, queue: str) -> Hold | None:
    """Who holds the jobs of this queue, by its pause or the daemon's, and why; None: nobody."""
    row = connection.execute(SQL.queue_paused, (queue,)).fetchone()
    return None if row is None else _hold(row[0], Pause(by=row[1], until_ms=row[2], why=row[3]))


def suspend(connection: sqlite3.Connection, job_ids: Sequence[int], hold: Hold, now_ms: int) -> None:
    """Holds jobs; those that are held already stay so, with the newest words of the pause that held them first."""
    facts = {"ids": text(job_ids), "words": hold.words, "holder": hold.holder}
    connection.execute(SQL.reword, facts)
    fresh = connection.execute(SQL.suspend, {**facts, "now_ms": now_ms}).fetchall()
    ids = text([job_id for (job_id,) in fresh])
    connection.execute(SQL.stop_cursors, (ids,))
    held = sorted(connection.execute(SQL.hold, (ids,)))
    changes = [
        (now_ms, "run.held", owner_id, job_id, run_id, text({"name": name, "reason": SkipReason.PAUSED.value}))
        for run_id, job_id, owner_id, name in held
    ]
    events.append(connection, changes)
    gates.freed(connection, {job_id for _, job_id, _, _ in held}, now_ms)  # for what was asked for by hand


# ── letting go ──────────────────────────────────────────────


def resume_job(connection: sqlite3.Connection, job: Identity, now_ms: int, *, catch_up: bool) -> bool:
    """Ends the job's own pause. False: its queue or the daemon holds it still."""
    if not connection.execute(SQL.resume_job, (job.id,)).rowcount:
        raise Conflict(f"{job.name} is not paused", "see `jobctl show` for its state")
    streaks.forget_deaths(connection, job.id)
    events.append_one(connection, now_ms, "job.resumed", job.owner_id, job.id, name=job.name)
    return let_go(connection, [job.id], catch_up=catch_up) > 0


def resume_queue(connection: sqlite3.Connection, name: str, now_ms: int, *, catch_up: bool) -> int:
    """Ends the pause of a queue or of the daemon; returns how many jobs nothing holds any more."""
    if not connection.execute(SQL.resume_queue, (name,)).rowcount:
        raise Conflict(f"{_called(name)} is not paused", "see `jobctl queue ls`")
    _tell(connection, name, "resumed", now_ms)
    return let_go(connection, _jobs_of(connection, name), catch_up=catch_up)


def let_go(connection: sqlite3.Connection, job_ids: Sequence[int], *, catch_up: bool = False) -> int:
    """Those of the jobs that nothing holds become *resuming*; returns how many."""
    how = _CATCH_UP if catch_up else _PLAIN
    return connection.execute(SQL.let_go, {"ids": text(job_ids), "how": how}).rowcount


def some_ended(connection: sqlite3.Connection, now_ms: int) -> bool:
    """Whether a pause is over."""
    return any(connection.execute(sql, (now_ms,)).fetchone() for sql in (SQL.ended_jobs, SQL.ended_queues))


def end(connection: sqlite3.Connection, now_ms: int) -> int:
    """Ends the pauses whose time has come; returns how many."""
    names = [name for (name,) in connection.execute(SQL.ended_queues, (now_ms,)).fetchall()]
    jobs = connection.execute(SQL.ended_jobs, (now_ms,)).fetchall()
    for name in names:
        resume_queue(connection, name, now_ms, catch_up=False)
    for job_id, name, owner_id in jobs:
        connection.execute(SQL.resume_job, (job_id,))
        streaks.forget_deaths(connection, job_id)
        events.append_one(connection, now_ms, "job.resumed", owner_id, job_id, name=name)
    let_go(connection, [job_id for job_id, _, _ in jobs])
    return len(names) + len(jobs)


def resumable(connection: sqlite3.Connection, limit: int) -> list[DueJob]:
    """Jobs that wait for `unsuspend`."""
    return due.jobs(connection.execute(SQL.resumable, (limit,)))


def unsuspend(connection: sqlite3.Connection, resumptions: Sequence[Resumption], now_ms: int, epoch: int) -> int:
    """Jobs go on as decided; one that was paused or edited meanwhile stays. Returns how many went on; none under an
    old epoch, for what was missed is expanded."""
    if not resumptions or not meta.holds_epoch(connection, epoch):
        return 0
    parts = isolated(
        connection,
        resumptions,
        lambda some: _unsuspend(connection, some, now_ms),
        lambda bad, error: _park(connection, bad, error, now_ms),
    )
    return sum(parts)


def _unsuspend(connection: sqlite3.Connection, resumptions: Sequence[Resumption], now_ms: int) -> int:
    ids = text([resumption.job_id for resumption in resumptions])
    found = {row.id: row for row in map(_Resuming._make, connection.execute(SQL.resuming, (ids,)))}
    current = [
        (resumption, job)
        for resumption in resumptions
        if (job := found.pop(resumption.job_id, None)) and job.revision == resumption.revision
    ]
    for resumption, job in current:
        _go_on(connection, resumption, job, now_ms)
    one_shots.retire(connection, [job.id for _, job in current], now_ms)
    return len(current)


def _go_on(connection: sqlite3.Connection, resumption: Resumption, job: _Resuming, now_ms: int) -> None:
    connection.execute(SQL.unsuspend, (job.id,))
    aim = {"job_id": job.id, "next_ms": resumption.next_ms, "handled_ms": resumption.handled_ms}
    connection.execute(SQL.aim_cursor, aim)
    ledger.append_skips(connection, [(row, job.owner_id, job.name) for row in resumption.rows], now_ms)
    expand.make_runs(connection, expand.place(connection, ((job, run) for run in resumption.runs)), now_ms)
    due.release(connection, job, now_ms)


def _park(connection: sqlite3.Connection, bad: Resumption, error: Exception, now_ms: int) -> int:
    due.park(connection, bad.job_id, bad.revision, f"its occurrences cannot be stored: {error}", now_ms)
    return 0


def _jobs_of(connection: sqlite3.Connection, name: str) -> list[int]:
    rows = connection.execute(SQL.all_jobs) if name == DAEMON else connection.execute(SQL.jobs_in_queue, (name,))
    return [job_id for (job_id,) in rows]


def _tell(connection: sqlite3.Connection, name: str, what: str, now_ms: int, **facts: object) -> None:
    kind = f"daemon.{what}" if name == DAEMON else f"queue.{what}"
    events.append(connection, [(now_ms, kind, events.NOBODY, None, None, text({"name": name, **facts}))])


def _hold(name: str, pause: Pause) -> Hold:
    kind = "daemon" if name == DAEMON else "queue"
    return Hold(kind, pause_words(kind, name, pause.by, pause.why))


def _called(name: str) -> str:
    return "the daemon" if name == DAEMON else f"the queue {name}"
