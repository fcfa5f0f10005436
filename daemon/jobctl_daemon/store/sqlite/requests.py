"""Idempotency keys: the same key never makes a second thing."""

import sqlite3
from typing import NamedTuple

import msgspec

from jobctl.errors import Conflict
from jobctl_daemon.rows import Caller, Request
from jobctl_daemon.store.sqlite import owners
from jobctl_daemon.store.sqlite.statements import load

SQL = load("requests")


class Made(NamedTuple):
    """What a key made before."""

    job_id: int
    """0 for what is of no single job."""
    run_id: int | None
    batch: int | None = None


def made_before(connection: sqlite3.Connection, owner_id: int, request: Request | None) -> Made | None:
    """What the key stands for; `Conflict` when it was used with another body."""
    if request is None:
        return None
    row = connection.execute(SQL.get, (owner_id, request.key, request.verb)).fetchone()
    if row is None:
        return None
    body_hash, job_id, run_id, batch = row
    if body_hash != request.body_hash:
        raise Conflict(
            f"the key {request.key!r} was used before with another request",
            "send the same request again, or take a new key",
            details={"job_id": job_id, "run_id": run_id},
        )
    return Made(job_id, run_id, batch)


def asked_before(connection: sqlite3.Connection, caller: Caller, request: Request) -> bool:
    """Whether the caller's key stands for something, and was sent with this body."""
    owner_id = owners.scope(connection, msgspec.structs.replace(caller, all_owners=False))
    row = connection.execute(SQL.get, (owner_id, request.key, request.verb)).fetchone()
    return row is not None and row[0] == request.body_hash


def remember(connection: sqlite3.Connection, owner_id: int, request: Request | None, made: Made, now_ms: int) -> None:
    """Keeps what the key made."""
    if request is not None:
        row = (owner_id, request.key, request.verb, request.body_hash, made.job_id, made.run_id, made.batch, now_ms)
        connection.execute(SQL.put, row)
