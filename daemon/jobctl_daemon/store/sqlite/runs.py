"""Runs asked for by hand, and runs that are to stop."""

import sqlite3
from typing import Literal

from jobctl.defaults import JOB_RUNS_MAX
from jobctl.errors import Conflict
from jobctl.model import JobSpec
from jobctl.states import Overlap, RunState, Trigger
from jobctl_daemon.rows import Caller, NewRun, Request
from jobctl_daemon.store.sqlite import expand, find, jobs, owners, requests, retire, run_lists
from jobctl_daemon.store.sqlite.columns import policies
from jobctl_daemon.store.sqlite.identity import Identity, identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("runs")

Stop = Literal["cancel", "kill"]


def trigger(
    connection: sqlite3.Connection,
    caller: Caller,
    job_id: int,
    due_ms: int,
    now_ms: int,
    request: Request | None,
    uid: str,
) -> tuple[int, bool]:
    """(run id, whether it is new). `Conflict` under overlap skip while a run of the job is active."""
    owner_id = owners.known(connection, caller)
    made = requests.made_before(connection, owner_id, request)
    if made is not None:
        return _run_of(made), False
    job = find.owned(connection, caller, job_id)
    if due_ms <= now_ms:
        must_be_free(connection, job, now_ms)
    run_id = make(connection, job, request.key if request else uid, due_ms, due_ms, now_ms)
    requests.remember(connection, owner_id, request, requests.Made(job.id, run_id), now_ms)
    return run_id, True


def run_adhoc(
    connection: sqlite3.Connection,
    caller: Caller,
    spec: JobSpec,
    due_ms: int,
    now_ms: int,
    request: Request | None,
    uid: str,
) -> tuple[int, bool]:
    """A hidden job and its one run: (run id, whether it is new)."""
    owner_id = owners.known(connection, caller)
    made = requests.made_before(connection, owner_id, request)
    if made is not None:
        return _run_of(made), False
    job_id = jobs.add(connection, caller, owner_id, spec, None, now_ms, uid)
    job = identity(connection, job_id)
    assert job is not None
    run_id = make(connection, job, request.key if request else uid, due_ms, due_ms, now_ms)
    requests.remember(connection, owner_id, request, requests.Made(job_id, run_id), now_ms)
    return run_id, True


def stop(connection: sqlite3.Connection, caller: Caller, run_id: int, how: Stop, by: str, now_ms: int) -> int | None:
    """Ends an unstarted run, and answers None; a running one is marked, and the answer is the fence to stop."""
    shown = run_lists.run(connection, caller, run_id)
    row = connection.execute(SQL.active, (run_id,)).fetchone()
    if row is None or row[0] == RunState.DEAD:
        raise Conflict(f"run {run_id} has ended: {shown.state}", "nothing to stop", details={"state": shown.state})
    state, fence = row
    if state == RunState.RUNNING:
        connection.execute(SQL.want_stop, (how, by, run_id))
        return int(fence)
    end = retire.End(RunState.CANCELLED, RunState.CANCELLED.value, f"cancelled by {by}", None)
    retire.unstarted(connection, {run_id: end}, now_ms)
    return None


def make(
    connection: sqlite3.Connection,
    job: Identity,
    key: str,
    slot_ms: int,
    due_ms: int,
    now_ms: int,
    *,
    retry_of: int | None = None,
    execution: str | None = None,
) -> int:
    """A run that a person asks for. `Conflict` when the key has made one before, or its job has too many."""
    (unended,) = connection.execute(SQL.unended, (job.id, JOB_RUNS_MAX)).fetchone()
    if unended >= JOB_RUNS_MAX:
        raise Conflict(f"{unended} runs of {job.name} have not ended", "wait for some of them, or cancel them")
    run = NewRun(key=f"m:{key}", slot_ms=slot_ms, due_ms=due_ms, start_by_ms=None, trigger=Trigger.MANUAL)
    number = expand.next_run_id(connection)
    placed = expand.Placed(
        number,
        run,
        job.id,
        job.version,
        job.owner_id,
        job.name,
        job.queue,
        job.priority,
        by_hand=True,
        retry_of=retry_of,
        execution=execution,
    )
    if not expand.make_runs(connection, [placed], now_ms):
        raise Conflict(f"the key {key!r} has made a run of {job.name} before", "take a new key")
    return number


def must_be_free(connection: sqlite3.Connection, job: Identity, now_ms: int) -> None:
    """`Conflict` when a run of the job could only be skipped: as many are active as may be, and none may wait."""
    rules = policies(job.policies)
    if rules.active_max is None or rules.overlap in (Overlap.QUEUE, Overlap.REPLACE):
        return
    rows = connection.execute(SQL.blocking, {"job_id": job.id, "now_ms": now_ms, "limit": rules.active_max}).fetchall()
    if len(rows) >= rules.active_max:
        run_id = rows[0][0]
        what = f"its overlap policy is {rules.overlap}" if rules.active_max == 1 else f"its limit is {rules.active_max}"
        raise Conflict(
            f"run {run_id} of {job.name} is still active, and {what}",
            f"wait for it with `jobctl wait {run_id}`, or stop it with `jobctl cancel {run_id}`",
            details={"run_id": run_id},
        )


def _run_of(made: requests.Made) -> int:
    if made.run_id is None:
        raise Conflict("the key stands for a job, not for a run", "take a new key", details={"job_id": made.job_id})
    return made.run_id
