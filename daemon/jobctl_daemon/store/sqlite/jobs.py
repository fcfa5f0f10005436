"""Creating and deleting jobs. Each function is one transaction's work over a plain connection."""

import sqlite3
from collections.abc import Iterable, Sequence
from shlex import quote

import msgspec

from jobctl.errors import Conflict, Gone
from jobctl.model import JobSpec, ScheduleSpec
from jobctl.states import RunState, SkipReason
from jobctl_daemon.rows import Caller, Request
from jobctl_daemon.shown import scheduled
from jobctl_daemon.store.sqlite import dependents, events, owners, pauses, requests, retire, versions
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import Identity, identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("jobs")


def create(
    connection: sqlite3.Connection,
    caller: Caller,
    spec: JobSpec,
    next_ms: int | None,
    now_ms: int,
    request: Request | None,
    uid: str,
) -> tuple[int, bool]:
    """(job id, whether it is new)."""
    owner_id = owners.known(connection, caller)
    made = requests.made_before(connection, owner_id, request)
    if made is not None:
        _must_live(connection, made.job_id)
        return made.job_id, False
    job_id = add(connection, caller, owner_id, spec, next_ms, now_ms, uid)
    requests.remember(connection, owner_id, request, requests.Made(job_id, None), now_ms)
    return job_id, True


def create_all(
    connection: sqlite3.Connection,
    caller: Caller,
    specs: Sequence[tuple[JobSpec, int | None]],
    now_ms: int,
    uids: Iterable[str],
) -> list[int]:
    """The ids of the new jobs, in order; an error undoes all of them."""
    owner_id = owners.known(connection, caller)
    return [
        add(connection, caller, owner_id, spec, next_ms, now_ms, uid)
        for (spec, next_ms), uid in zip(specs, uids, strict=False)
    ]


def add(
    connection: sqlite3.Connection,
    caller: Caller,
    owner_id: int,
    spec: JobSpec,
    next_ms: int | None,
    now_ms: int,
    uid: str,
    handled_ms: int | None = None,
) -> int:
    """Inserts the job, its version 1 and, when it has a schedule, its cursor, which counts from `handled_ms` or now."""
    if not spec.hidden:
        name_must_be_free(connection, owner_id, spec.name)
    added = pauses.Hold("job", f"the job was added paused by {caller.name}")
    held = added if spec.paused else pauses.holder(connection, spec.queue)
    job_id = _insert(connection, caller, owner_id, spec, now_ms, uid, held)
    versions.put(connection, job_id, 1, spec.schedule, spec.execution, caller.name, now_ms)
    if scheduled(spec.schedule):
        connection.execute(
            SQL.insert_cursor, (job_id, None if held else next_ms, now_ms if handled_ms is None else handled_ms)
        )
    if spec.schedule.after_job is not None:
        dependents.put(connection, job_id, spec.schedule)
    events.append_one(connection, now_ms, "job.created", owner_id, job_id, name=spec.name, source=spec.source)
    return job_id


def delete(connection: sqlite3.Connection, job: Identity, now_ms: int) -> None:
    """Nothing of the job starts any more; runs that have not begun are cancelled."""
    dependents.forget(connection, job.id)
    connection.execute(SQL.delete, (now_ms, job.id))
    connection.execute(SQL.delete_cursor, (job.id,))
    connection.execute(SQL.delete_last_run, (job.id,))
    connection.execute(SQL.delete_streak, (job.id,))
    unstarted = [number for (number,) in connection.execute(SQL.unstarted, (job.id,))]
    end = retire.End(RunState.CANCELLED, SkipReason.DELETED.value, "its job was deleted", SkipReason.DELETED)
    retire.unstarted(connection, dict.fromkeys(unstarted, end), now_ms)
    events.append_one(connection, now_ms, "job.deleted", job.owner_id, job.id, name=job.name)


def starts_kind(schedule: ScheduleSpec) -> str | None:
    """What starts a job that waits for no instant."""
    return "boot" if schedule.on_boot else "start" if schedule.on_start else None


def name_must_be_free(connection: sqlite3.Connection, owner_id: int, name: str) -> None:
    """`Conflict` when a live job of the owner has the name."""
    row = connection.execute(SQL.name_taken, (owner_id, name)).fetchone()
    if row is not None:
        raise Conflict(
            f"there is a job {name} already",
            f"take another name; see it: `jobctl show {quote(name)}`, or change it: `jobctl edit {quote(name)} …`",
            details={"id": row[0]},
        )


def with_free_name(connection: sqlite3.Connection, owner_id: int, spec: JobSpec, numbers: dict[str, int]) -> JobSpec:
    """The definition under its name, or under the next one with a number that no live job of the owner has.

    `numbers` remembers how far each name has been tried.
    """
    number = numbers.get(spec.name, 1)
    name = spec.name if number == 1 else f"{spec.name}-{number}"
    while connection.execute(SQL.name_taken, (owner_id, name)).fetchone() is not None:
        number += 1
        name = f"{spec.name}-{number}"
    numbers[spec.name] = number
    return msgspec.structs.replace(spec, name=name)


def _insert(
    connection: sqlite3.Connection,
    caller: Caller,
    owner_id: int,
    spec: JobSpec,
    now_ms: int,
    uid: str,
    held: pauses.Hold | None,
) -> int:
    """`held`: who holds it from its beginning."""
    row = {
        "uid": uid,
        "owner_id": owner_id,
        "name": spec.name,
        "source": spec.source,
        "queue": spec.queue,
        "priority": spec.priority,
        "starts_kind": starts_kind(spec.schedule),
        "one_shot": spec.schedule.at_ms is not None or spec.hidden,
        "hidden": spec.hidden,
        "paused": spec.paused,
        "paused_by": caller.name if spec.paused else None,
        "paused_since": now_ms if spec.paused else None,
        "suspended": held is not None,
        "suspended_since": None if held is None else now_ms,
        "suspended_why": held and held.words,
        "suspended_holder": held and held.holder,
        "told": bool(spec.policies.notify or spec.policies.mail),
        "policies": text(spec.policies),
        "declared": spec.declared,
        "now_ms": now_ms,
    }
    job_id = connection.execute(SQL.insert, row).lastrowid
    assert job_id is not None
    return job_id


def _must_live(connection: sqlite3.Connection, job_id: int) -> None:
    job = identity(connection, job_id)
    if job is None or job.deleted_ms is not None:
        raise Gone(f"job {job_id} was deleted", "take a new key to make it again", details={"job_id": job_id})
