"""Runs asked for by hand, and runs that are to stop."""

import sqlite3
from typing import Literal

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
    if due_ms <= now_ms and policies(job.policies).overlap is Overlap.SKIP:
        _must_be_free(connection, job, now_ms)
    run_id = _make(connection, job, due_ms, now_ms, request.key if request else uid)
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
    run_id = _make(connection, job, due_ms, now_ms, request.key if request else uid)
    requests.remember(connection, owner_id, request, requests.Made(job_id, run_id), now_ms)
    return run_id, True


def stop(connection: sqlite3.Connection, caller: Caller, run_id: int, how: Stop, by: str, now_ms: int) -> int | None:
    """Ends an unstarted run, and answers None; a running one is marked, and the answer is the fence to stop."""
    shown = run_lists.run(connection, caller, run_id)
    row = connection.execute(SQL.active, (run_id,)).fetchone()
    if row is None:
        raise Conflict(f"run {run_id} has ended: {shown.state}", "nothing to stop", details={"state": shown.state})
    state, fence = row
    if state == RunState.RUNNING:
        connection.execute(SQL.want_stop, (how, by, run_id))
        return int(fence)
    end = retire.End(RunState.CANCELLED, RunState.CANCELLED.value, f"cancelled by {by}", None)
    retire.unstarted(connection, {run_id: end}, now_ms)
    return None


def _make(connection: sqlite3.Connection, job: Identity, due_ms: int, now_ms: int, key: str) -> int:
    run = NewRun(key=f"m:{key}", slot_ms=due_ms, due_ms=due_ms, start_by_ms=None, trigger=Trigger.MANUAL)
    wanted = expand.Placed(
        expand.next_run_id(connection), run, job.id, job.version, job.owner_id, job.name, job.priority
    )
    if not expand.make_runs(connection, [wanted], now_ms):
        raise Conflict(f"the key {key!r} has made a run of {job.name} before", "take a new key")
    return wanted.run_id


def _must_be_free(connection: sqlite3.Connection, job: Identity, now_ms: int) -> None:
    row = connection.execute(SQL.blocking, {"job_id": job.id, "now_ms": now_ms}).fetchone()
    if row is not None:
        raise Conflict(
            f"run {row[0]} of {job.name} is still active, and its overlap policy is skip",
            f"wait for it with `jobctl wait {row[0]}`, or stop it with `jobctl cancel {row[0]}`",
            details={"run_id": row[0]},
        )


def _run_of(made: requests.Made) -> int:
    if made.run_id is None:
        raise Conflict("the key stands for a job, not for a run", "take a new key", details={"job_id": made.job_id})
    return made.run_id
