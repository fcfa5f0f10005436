"""Who owns jobs, and what a caller may see. An owner is an account as it was: its uid with the name it had."""

import sqlite3
from typing import Final

from jobctl.errors import Conflict, NotFound
from jobctl_daemon.rows import Caller, Owning
from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("owners")

#: The owner of nothing: a caller who never made a job.
NOBODY: Final = -1


def known(connection: sqlite3.Connection, caller: Caller) -> int:
    """The caller's owner id, made when it is new."""
    connection.execute(SQL.put, (caller.uid, caller.name))
    return own(connection, caller)


def own(connection: sqlite3.Connection, caller: Caller) -> int:
    """The caller's owner id, whatever else he may see; `NOBODY` when it has never made anything."""
    row = connection.execute(SQL.id_of, (caller.uid, caller.name)).fetchone()
    return row[0] if row else NOBODY


def scope(connection: sqlite3.Connection, caller: Caller | None) -> int | None:
    """Whose rows a caller sees: an owner id, or None for everybody's."""
    return None if caller is None or caller.all_owners else own(connection, caller)


def reach(connection: sqlite3.Connection, caller: Caller) -> int | None:
    """As `scope`, but None for the only owner that there is as well: with nobody else's rows there is nothing to tell
    apart, and indexes without the owner can be used."""
    owner_id = scope(connection, caller)
    everybody = [number for (number,) in connection.execute(SQL.first_two)]
    return None if everybody == [owner_id] else owner_id


def follow(connection: sqlite3.Connection, uid: int, name: str) -> None:
    """The daemon's own account keeps its jobs when it is renamed: nobody else can have its number and run this."""
    connection.execute(SQL.follow, {"uid": uid, "name": name})


def of_job(connection: sqlite3.Connection, caller: Caller, job_id: int) -> Caller:
    """The owner of a job that the caller sees, also of one that is no more; `NotFound` when there is none."""
    row = connection.execute(SQL.of_job, (job_id,)).fetchone()
    if row is None or scope(connection, caller) not in (None, row[0]):
        raise NotFound(f"no job {job_id}", "see `jobctl ls`")
    return Caller(uid=row[1], name=row[2])


def listing(connection: sqlite3.Connection) -> list[Owning]:
    """All owners, by name."""
    return [Owning(uid=uid, name=name, jobs=jobs) for uid, name, jobs in connection.execute(SQL.all)]


def rename(
    connection: sqlite3.Connection, old: str, old_uid: int | None, account: Caller, by: Caller, now_ms: int
) -> Owning:
    """What the old owner has is the account's from now on, with what that has already."""
    owner_id, uid = _the_one(connection, old, old_uid)
    taken = own(connection, account)
    if taken == owner_id:
        raise Conflict(f"{account.name} (uid {account.uid}) has these jobs already", "there is nothing to do")
    if taken != NOBODY:
        _merge(connection, taken, owner_id, account.name)
    connection.execute(SQL.rename, {"id": owner_id, "uid": account.uid, "name": account.name})
    facts = {"name": account.name, "uid": account.uid, "old": old, "old_uid": uid, "by": by.name, "by_uid": by.uid}
    events.append(connection, [(now_ms, "owner.renamed", owner_id, None, None, text(facts))])
    return next(one for one in listing(connection) if (one.uid, one.name) == (account.uid, account.name))


def _the_one(connection: sqlite3.Connection, name: str, uid: int | None) -> tuple[int, int]:
    found = connection.execute(SQL.named, {"name": name, "uid": uid}).fetchall()
    if not found:
        which = name if uid is None else f"{name} with uid {uid}"
        raise NotFound(f"no owner {which}", "see `jobctl owner ls`")
    if len(found) > 1:
        uids = [number for _, number in found]
        numbers = ", ".join(map(str, uids))
        raise Conflict(
            f"several accounts were called {name}: uid {numbers}", "say which: --uid", details={"uids": uids}
        )
    return found[0][0], found[0][1]


def _merge(connection: sqlite3.Connection, from_id: int, to_id: int, name: str) -> None:
    ids = {"from_id": from_id, "to_id": to_id}
    both = [job for (job,) in connection.execute(SQL.clashes, ids)]
    if both:
        raise Conflict(
            f"{name} has jobs of the same name already: {', '.join(both)}", "rename or remove them first: jobctl edit"
        )
    for statement in (
        SQL.give_runs, SQL.give_history, SQL.give_jobs, SQL.give_requests, SQL.drop_requests, SQL.give_replays,
        SQL.give_events,
    ):  # fmt: skip
        connection.execute(statement, ids if ":to_id" in statement else {"from_id": from_id})
    connection.execute(SQL.drop, {"from_id": from_id})
