"""Jobs that a file owns: what is there of them, and one transaction for all that a change of the file means."""

import sqlite3
from collections.abc import Iterable, Iterator

import msgspec

from jobctl.errors import Conflict
from jobctl.model import ScheduleSpec
from jobctl_daemon.rows import Caller, Declaration, DeclaredJob, Edit
from jobctl_daemon.store.sqlite import dependents, due, edits, job_lists, jobs, owners
from jobctl_daemon.store.sqlite.identity import Identity, identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("declared")


def of_path(connection: sqlite3.Connection, path: str, after: int, limit: int) -> list[DeclaredJob]:
    """Live jobs of the file, by id, after an id."""
    rows = connection.execute(SQL.of_path, {"path": path, "after": after, "limit": limit}).fetchall()
    return [
        DeclaredJob(
            job_id=job_id,
            owner_uid=uid,
            owner_name=name,
            rev=rev,
            spec=job_lists.spec(connection, job_id),
            cursor=due.one(connection, job_id),
        )
        for job_id, uid, name, rev in rows
    ]


def paths(connection: sqlite3.Connection) -> list[str]:
    """The files that own live jobs."""
    return [path for (path,) in connection.execute(SQL.paths)]


def declare(
    connection: sqlite3.Connection, caller: Caller, wanted: Declaration, now_ms: int, uids: Iterable[str]
) -> list[str]:
    """The names of the jobs that were made, in order. What goes leaves its name to what comes.

    `Conflict` when a job is no longer what the decision was made from, or a given name is taken; then nothing changes.
    """
    _adopt(connection, caller, wanted)
    left = _removed(connection, wanted.path, wanted.removed, now_ms)
    connection.executemany(SQL.move, [(source, job_id, wanted.path) for job_id, source in wanted.moved])
    awaited = dict(wanted.awaiting)
    for change in wanted.edits:
        if change.name not in awaited:
            _edit(connection, caller, wanted.path, change, now_ms)
    left = _removed(connection, wanted.path, left, now_ms)
    made = list(_created(connection, caller, wanted, now_ms, uids))
    for change in wanted.edits:
        if change.name in awaited:
            schedule = _behind(connection, wanted.path, change.schedule, awaited[change.name])
            _edit(connection, caller, wanted.path, msgspec.structs.replace(change, schedule=schedule), now_ms)
    for job in filter(None, (_of_file(connection, wanted.path, job_id) for job_id in left)):
        after = ", ".join(dependents.names_after(connection, job.id))
        if after:
            raise Conflict(f"{job.name} cannot be removed: {after} comes after it", "change or remove that first")
        jobs.delete(connection, job, now_ms)
    return made


def _removed(connection: sqlite3.Connection, path: str, wanted: Iterable[int], now_ms: int) -> list[int]:
    """Removes what nothing comes after, and what only came before that; the ids of those that are left."""
    left = dict.fromkeys(wanted)
    to_try = list(left)  # from the end: what comes after another is mostly younger
    while to_try:
        job_id = to_try.pop()
        if job_id not in left or dependents.has_after(connection, job_id):
            continue
        del left[job_id]
        before = dependents.upstream_of(connection, job_id)
        job = _of_file(connection, path, job_id)
        if job is not None:
            jobs.delete(connection, job, now_ms)
        if before is not None:
            to_try.append(before)
    return list(left)


def _adopt(connection: sqlite3.Connection, caller: Caller, wanted: Declaration) -> None:
    owner_id = owners.known(connection, caller) if wanted.adopted else 0
    for job_id, rev, was in wanted.adopted:
        job = {"path": wanted.path, "job_id": job_id, "rev": rev, "owner_id": owner_id, "was": was}
        if not connection.execute(SQL.adopt, job).rowcount:
            raise Conflict(f"job {job_id} was changed meanwhile", "look again: jobctl diff")


def _edit(connection: sqlite3.Connection, caller: Caller, path: str, change: Edit, now_ms: int) -> None:
    job = _of_file(connection, path, change.job_id)
    if job is None:
        raise Conflict(f"{change.name} was removed meanwhile", "the file is read again")
    edits.edit(connection, caller, job, change, now_ms)


def _created(
    connection: sqlite3.Connection, caller: Caller, wanted: Declaration, now_ms: int, uids: Iterable[str]
) -> Iterator[str]:
    awaited = dict(wanted.awaiting)
    if not wanted.created:
        return
    owner_id = owners.known(connection, caller)
    numbers: dict[str, int] = {}
    for one, uid in zip(wanted.created, uids, strict=False):
        spec = one.spec
        if spec.name in awaited:
            schedule = _behind(connection, wanted.path, spec.schedule, awaited[spec.name])
            spec = msgspec.structs.replace(spec, schedule=schedule)
        if not one.named:
            spec = jobs.with_free_name(connection, owner_id, spec, numbers)
        jobs.add(connection, caller, owner_id, spec, one.next_ms, now_ms, uid, one.handled_ms)
        yield spec.name


def _behind(connection: sqlite3.Connection, path: str, schedule: ScheduleSpec, upstream: str) -> ScheduleSpec:
    """The schedule with the id of the job that it comes after, which has one now."""
    found = connection.execute(SQL.named, (path, upstream)).fetchone()
    if found is None:
        raise Conflict(f"{upstream} was removed meanwhile", "the file is read again")
    return msgspec.structs.replace(schedule, after_job=found[0])


def _of_file(connection: sqlite3.Connection, path: str, job_id: int) -> Identity | None:
    found = connection.execute(SQL.owner, (job_id, path)).fetchone()
    return identity(connection, job_id) if found else None
