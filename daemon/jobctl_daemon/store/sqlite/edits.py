"""Changed definitions, and occurrences to come that are left out."""

import sqlite3

from jobctl.errors import Conflict
from jobctl.states import RunState, SkipReason
from jobctl_daemon.rows import Caller, Edit, LedgerRow, Unskip
from jobctl_daemon.shown import scheduled
from jobctl_daemon.store.sqlite import dependents, events, gates, jobs, ledger, one_shots, pauses, retire, versions
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import Identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("edits")


def edit(connection: sqlite3.Connection, caller: Caller, job: Identity, change: Edit, now_ms: int) -> None:
    """The new definition holds from this transaction on. `Conflict` when the job is not what the editor saw."""
    rev, before, done = connection.execute(SQL.rev, (job.id,)).fetchone()
    if rev != change.rev:
        raise Conflict(
            f"{job.name} was changed meanwhile", f"look again: `jobctl show {job.name}`", details={"rev": rev}
        )
    if change.name != job.name or (done and change.schedule_changed):  # one that is done had left its name to others
        jobs.name_must_be_free(connection, job.owner_id, change.name)
    was = versions.fingerprint_of(connection, job.id)
    version = before + 1 if change.schedule_changed or change.execution_changed else before
    connection.execute(SQL.put, _columns(change, version))
    if version != before:
        versions.put(connection, job.id, version, change.schedule, change.execution, caller.name, now_ms)
    _tell(connection, caller, job, change, version, was, now_ms)
    if change.schedule_changed:
        _aim(connection, job, change, now_ms)
    if version != before:
        connection.execute(SQL.take_version, {"job_id": job.id, "version": version})
    window = {"within_ms": change.policies.misfire_within_ms, "queue": change.queue, "priority": change.priority}
    connection.execute(SQL.take_policies, {"job_id": job.id, **window})
    gates.freed(connection, [job.id], now_ms)
    _move_queue(connection, job, change, now_ms)
    one_shots.retire(connection, [job.id], now_ms)


def skip_next(
    connection: sqlite3.Connection, job: Identity, row: LedgerRow, revision: int, next_ms: int | None, now_ms: int
) -> None:
    """Writes down what is left out and moves the cursor behind it. `Conflict` when it has moved meanwhile."""
    move = {"job_id": job.id, "revision": revision, "next_ms": next_ms, "until_ms": row.to_ms, "held": job.suspended}
    if not connection.execute(SQL.skip, move).rowcount:
        raise Conflict(f"{job.name} has just started, or was changed", f"look again: `jobctl show {job.name}`")
    ledger.append_skips(connection, [(row, job.owner_id, job.name)], now_ms)
    one_shots.retire(connection, [job.id], now_ms)


def unskip(connection: sqlite3.Connection, caller: Caller, job: Identity, wanted: Unskip, now_ms: int) -> None:
    """Takes back what is left out and has not passed. `Conflict` when the cursor has moved meanwhile."""
    done = connection.execute(SQL.rev, (job.id,)).fetchone()[2]
    if done:  # it had left its name to others
        jobs.name_must_be_free(connection, job.owner_id, job.name)
    move = {"job_id": job.id, "revision": wanted.revision, "next_ms": wanted.next_ms, "held": job.suspended}
    if not connection.execute(SQL.unskip, {**move, "handled_ms": wanted.handled_ms}).rowcount:
        raise Conflict(f"{job.name} has just started, or was changed", f"look again: `jobctl show {job.name}`")
    connection.execute(SQL.wake, (job.id,))
    ledger.amend(connection, job.id, wanted.amended)
    events.append_one(connection, now_ms, "job.unskipped", job.owner_id, job.id, name=job.name, by=caller.name)


def _aim(connection: sqlite3.Connection, job: Identity, change: Edit, now_ms: int) -> None:
    """No surprise: what the old schedule had waiting is superseded, and the new one counts from now."""
    row = connection.execute(SQL.revision, (job.id,)).fetchone()
    if change.revision is not None and change.revision != (row[0] if row else 0):
        raise Conflict(f"{job.name} has just become due", "try again")
    ledger.amend(connection, job.id, change.amended)
    ledger.append_skips(connection, [(row, job.owner_id, change.name) for row in change.rows], now_ms)
    dependents.put(connection, job.id, change.schedule)
    place = {"job_id": job.id, "handled_ms": change.handled_ms, "skip_until_ms": change.skip_until_ms}
    if scheduled(change.schedule):
        connection.execute(SQL.put_cursor, {**place, "next_ms": None if job.suspended else change.next_ms})
    else:
        connection.execute(SQL.rest_cursor, place)
    unstarted = [run_id for (run_id,) in connection.execute(SQL.unstarted, (job.id,))]
    end = retire.End(
        RunState.SUPERSEDED, RunState.SUPERSEDED.value, "the schedule was edited before it began", SkipReason.EDITED
    )
    retire.unstarted(connection, dict.fromkeys(unstarted, end), now_ms)


def _move_queue(connection: sqlite3.Connection, job: Identity, change: Edit, now_ms: int) -> None:
    """Another queue may be paused, or not be."""
    if change.queue == job.queue:
        return
    hold = pauses.holder(connection, change.queue)
    if hold is None:
        pauses.let_go(connection, [job.id])
    else:
        pauses.suspend(connection, [job.id], hold, now_ms)


def _columns(change: Edit, version: int) -> dict[str, object]:
    return {
        "job_id": change.job_id,
        "name": change.name,
        "policies": text(change.policies),
        "queue": change.queue,
        "priority": change.priority,
        "told": bool(change.policies.notify or change.policies.mail),
        "source": change.source,
        "starts_kind": jobs.starts_kind(change.schedule),
        "one_shot": change.schedule.at_ms is not None,
        "aimed": change.schedule_changed,
        "version": version,
    }


def _tell(
    connection: sqlite3.Connection,
    caller: Caller,
    job: Identity,
    change: Edit,
    version: int,
    was: str | None,
    now_ms: int,
) -> None:
    """Who did it, as the kernel says, and what tells the definitions before and after apart."""
    becomes = versions.fingerprint_of(connection, job.id)
    facts = {"name": change.name, "by": caller.name, "version": version, "schedule": change.schedule_changed,
             "uid": caller.uid, "before": was, "after": becomes}  # fmt: skip
    events.append_one(connection, now_ms, "job.edited", job.owner_id, job.id, **facts)
