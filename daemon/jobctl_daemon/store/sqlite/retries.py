"""Retries that a person asks for."""

import sqlite3

from jobctl.errors import Conflict, Gone
from jobctl.model import Run
from jobctl.states import RunState
from jobctl_daemon.rows import Caller, DeadFilter, Replay, Request, Retried
from jobctl_daemon.store.sqlite import events, find, owners, replays, requests, run_lists, runs
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import identity


def retry(
    connection: sqlite3.Connection, caller: Caller, run_id: int, by: str, now_ms: int, request: Request | None, uid: str
) -> Retried:
    """A waiting retry is made due, a dead letter replayed, and of another ended run a new one is made."""
    owner_id = owners.known(connection, caller)
    made = requests.made_before(connection, owner_id, request)
    if made is not None and made.run_id is not None:
        word = "again" if made.run_id != run_id else "now" if made.batch is None else "replayed"
        return Retried(run=run_lists.run(connection, None, made.run_id), how=word)
    shown = run_lists.run(connection, caller, run_id)
    batch = None
    if shown.state is RunState.DEAD:
        how = Replay(by=by)
        batch = replays.replay(connection, caller, DeadFilter(ids=(run_id,)), how, now_ms, None).batch
        retried, word = run_id, "replayed"
    elif shown.state in (RunState.SCHEDULED, RunState.READY, RunState.RUNNING):
        _now(connection, shown, by, now_ms)
        retried, word = run_id, "now"
    else:
        retried, word = _again(connection, caller, shown, request.key if request else uid, now_ms), "again"
    requests.remember(connection, owner_id, request, requests.Made(shown.job_id, retried, batch), now_ms)
    return Retried(run=run_lists.run(connection, None, retried), how=word)


def _now(connection: sqlite3.Connection, run: Run, by: str, now_ms: int) -> None:
    row = connection.execute(runs.SQL.retry_now, {"run_id": run.id, "now_ms": now_ms}).fetchone()
    if row is None:
        raise Conflict(
            f"run {run.id} is {run.state}, there is nothing to retry", f"see `jobctl show {run.id}`",
            details={"state": run.state},
        )  # fmt: skip
    owner_id, job_id, state = row
    kind = "run.ready" if state == RunState.READY else "run.scheduled"
    data = text({"name": run.job, "reason": f"{by} asked for its retry now"})
    events.append(connection, [(now_ms, kind, owner_id, job_id, run.id, data)])


def _again(connection: sqlite3.Connection, caller: Caller, run: Run, key: str, now_ms: int) -> int:
    job = identity(connection, run.job_id)
    if job is None or job.deleted_ms is not None:
        raise Gone(f"the job of run {run.id} was removed", "add it again, or run its command by itself")
    find.owned(connection, caller, job.id)
    runs.must_be_free(connection, job, now_ms)
    slot_ms, execution = connection.execute(runs.SQL.again, (run.id,)).fetchone()
    return runs.make(connection, job, key, slot_ms, now_ms, now_ms, retry_of=run.id, execution=execution)
