"""From what a person typed to a job: exact name, id, or a prefix of the uid. Others' jobs do not exist."""

import re
import sqlite3
from difflib import get_close_matches
from typing import Final, NamedTuple

from jobctl.errors import Conflict, NotFound
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import owners
from jobctl_daemon.store.sqlite.identity import Identity, identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("find")

_UID_PREFIX: Final = re.compile(r"[0-9a-f]{4,16}")
_ID: Final = re.compile(r"[0-9]{1,18}")
#: Names looked at for a suggestion: comparing a million would take minutes.
_NAMES_MAX: Final = 1_000


class _Scope(NamedTuple):
    owner_id: int | None
    own_id: int
    """Of the caller, whatever else he sees: his own job comes before another's of the same name."""

    def sees(self, owner_id: int) -> bool:
        return self.owner_id is None or self.owner_id == owner_id


def job_id(connection: sqlite3.Connection, caller: Caller, selector: str) -> int:
    """The job a selector means. `NotFound` names the nearest, `Conflict` says that it means several."""
    scope = _scope(connection, caller)
    for look in (_by_name, _by_id, _by_uid):
        found = look(connection, scope, selector)
        if found is not None:
            return found
    raise not_found(connection, scope.owner_id, selector)


def owned(connection: sqlite3.Connection, caller: Caller, number: int) -> Identity:
    """A live job by id, if the caller may see it; else `NotFound`."""
    job = identity(connection, number)
    scope = _scope(connection, caller)
    if job is None or job.deleted_ms is not None or not scope.sees(job.owner_id):
        raise not_found(connection, scope.owner_id, str(number))
    return job


def _scope(connection: sqlite3.Connection, caller: Caller) -> _Scope:
    own_id = owners.own(connection, caller)
    return _Scope(None if caller.all_owners else own_id, own_id)


def not_found(connection: sqlite3.Connection, owner_id: int | None, selector: str) -> NotFound:
    """The error for a job that is not there, with the names that are nearest."""
    if owner_id is None:
        rows = connection.execute(SQL.names_of_all, (_NAMES_MAX,))
    else:
        rows = connection.execute(SQL.names, (owner_id, _NAMES_MAX))
    near = get_close_matches(selector, [name for (name,) in rows], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `jobctl ls`"
    return NotFound(f"no job {selector}", hint, details={"nearest": near})


def _by_name(connection: sqlite3.Connection, scope: _Scope, selector: str) -> int | None:
    """A live job before a one-shot that is done and has left the name to others."""
    row = connection.execute(SQL.job_by_name, (scope.own_id, selector)).fetchone()
    if row is None and scope.owner_id is not None:
        row = connection.execute(SQL.done_by_name, (scope.own_id, selector)).fetchone()
    if row is not None or scope.owner_id is not None:
        return row[0] if row else None
    found = connection.execute(SQL.jobs_by_name, (selector,)).fetchall()
    found = found or connection.execute(SQL.done_by_name_of_all, (selector,)).fetchall()
    return _the_one([number for (number,) in found if number], f"several owners have a job {selector}")


def _by_id(connection: sqlite3.Connection, scope: _Scope, selector: str) -> int | None:
    if not _ID.fullmatch(selector):
        return None
    row = connection.execute(SQL.job_by_id, (int(selector),)).fetchone()
    return row[0] if row and scope.sees(row[1]) else None


def _by_uid(connection: sqlite3.Connection, scope: _Scope, selector: str) -> int | None:
    if not _UID_PREFIX.fullmatch(selector):
        return None
    parameters = {"first": selector, "beyond": selector + "g", "owner_id": scope.owner_id}
    found = connection.execute(SQL.jobs_by_uid, parameters).fetchall()
    return _the_one([number for (number,) in found], f"several jobs begin with {selector}")


def _the_one(found: list[int], several: str) -> int | None:
    if len(found) > 1:
        raise Conflict(several, "use the id", details={"job_ids": found})
    return found[0] if found else None
