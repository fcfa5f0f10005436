"""Replays: dead letters run again, under the same id and key with a higher fence."""

import hashlib
import sqlite3
from typing import Any, Final, NamedTuple

from jobctl.errors import Conflict, InternalError
from jobctl.model import Replayed
from jobctl.states import ACTIVE
from jobctl_daemon.rows import Caller, DeadFilter, Replay, Request
from jobctl_daemon.store.sqlite import columns, dead, events, owners, requests
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("replays")

_AT_ONCE: Final = 0
#: Keeps the order of those whose turn is still to come.
_APART_MS = 1
#: What `waits` says of a run whose turn in a replay has not come.
IN_TURN: Final = 2


class _Back(NamedTuple):
    """A row of the statement `put_back`."""

    id: int
    job_id: int
    owner_id: int
    key: str
    reason: str | None
    name: str


def replay(
    connection: sqlite3.Connection,
    caller: Caller,
    wanted: DeadFilter,
    how: Replay,
    now_ms: int,
    request: Request | None,
) -> Replayed:
    """All of them in this transaction. The same request key answers what it answered before."""
    owner_id = owners.known(connection, caller)
    made = requests.made_before(connection, owner_id, request)
    if made is not None:
        return _answered(connection, made.batch)
    ids = dead.matching(connection, caller, wanted)
    if len(ids) > 1 and not how.force:
        _must_promise(connection, caller, ids)
    batch = _begin(connection, owner_id, how, now_ms)
    letters = dead.letters(connection, ids)
    for place, letter in enumerate(letters):
        connection.execute(SQL.replay, _columns(letter, how, batch, place, now_ms))
    events.append(connection, [_change(letter, how, now_ms) for letter in letters])
    known = {letter.id for letter in letters}
    asked = sorted(set(wanted.ids or ()) - known)
    skipped = [{"id": run_id, "reason": _why_not(connection, caller, run_id)} for run_id in asked]
    connection.execute(SQL.answer, (text([letter.id for letter in letters]), text(skipped), batch))
    requests.remember(connection, owner_id, request, requests.Made(0, None, batch), now_ms)
    return Replayed(batch=batch, replayed=[letter.id for letter in letters], skipped=skipped)


def go_on(connection: sqlite3.Connection, batch: int, run_id: int, now_ms: int, *, failed: bool) -> None:
    """The run of a replay whose turn it was has ended: the next one's turn comes, or the rest is put back."""
    row = connection.execute(SQL.pace, (batch,)).fetchone()
    if row is None:
        return
    pace_ms, in_turn, current = row
    if not in_turn:
        return
    if failed:
        _put_back(connection, batch, run_id, now_ms)
        return
    following = connection.execute(SQL.next_of_batch, (batch,)).fetchone()
    if following is not None:
        run_id, job_id, owner_id, name = following
        turn = {"run_id": run_id, "due_ms": now_ms + pace_ms, "current": current}
        connection.execute(SQL.its_turn, turn)
        data = text({"name": name, "turn": True})
        events.append(connection, [(now_ms, "run.scheduled", owner_id, job_id, run_id, data)])


def _put_back(connection: sqlite3.Connection, batch: int, run_id: int, now_ms: int) -> None:
    parameters = {"batch": batch, "run_id": run_id, "now_ms": now_ms}
    rows = sorted(map(_Back._make, connection.execute(SQL.put_back, parameters)))
    changes = []
    for row in rows:
        facts = {"name": row.name, "key": row.key, "reason": row.reason, "put_back": f"run {run_id} failed again"}
        changes.append((now_ms, "run.dead", row.owner_id, row.job_id, row.id, text(facts)))
    events.append(connection, changes)
    for job_id in sorted({row.job_id for row in rows}):
        dead.make_room(connection, job_id, now_ms)


def _must_promise(connection: sqlite3.Connection, caller: Caller, ids: list[int]) -> None:
    parameters = {"owner_id": owners.scope(connection, caller), "ids": text(ids)}
    row = connection.execute(SQL.failing_again, parameters).fetchone()
    if row is not None:
        raise Conflict(
            f"replays of the failure {row[0]} have died again {row[1]} times",
            "mend the cause and replay one of them first, or use force",
            details={"fingerprint": row[0], "replays": row[1]},
        )


def _begin(connection: sqlite3.Connection, owner_id: int, how: Replay, now_ms: int) -> int:
    asked = {"by": how.by, "pace_ms": how.pace_ms, "stop": how.stop_on_failure, "current": how.current}
    row = {"owner_id": owner_id, "now_ms": now_ms, **asked}
    batch = connection.execute(SQL.put, row).lastrowid
    assert batch is not None
    return batch


def _columns(letter: dead.Letter, how: Replay, batch: int, place: int, now_ms: int) -> dict[str, Any]:
    in_turn = how.stop_on_failure
    later = in_turn and place > 0
    return {
        "run_id": letter.id,
        "due_ms": now_ms + place * (_APART_MS if in_turn else how.pace_ms),
        "waits": IN_TURN if later else _AT_ONCE,
        "batch": batch,
        "version": letter.version if how.current and not later else None,
        "execution": None if how.execution is None else text(how.execution),
        "queue": letter.queue,
        "priority": letter.priority,
        "by": how.by,
    }


def _change(letter: dead.Letter, how: Replay, now_ms: int) -> events.Change:
    facts = {"name": letter.name, "key": letter.key, "by": how.by, "replays": letter.replays + 1}
    if how.execution is not None:
        facts |= {"edited": hashlib.sha256(text(how.execution).encode()).hexdigest()[:32]}
    return (now_ms, "run.replayed", letter.owner_id, letter.job_id, letter.id, text(facts))


def _why_not(connection: sqlite3.Connection, caller: Caller, run_id: int) -> str:
    row = connection.execute(SQL.state_of, {"run_id": run_id}).fetchone()
    if row is None or owners.scope(connection, caller) not in (None, row[1]):
        return "there is no such run"
    return f"it is active: {row[0]}" if row[0] in ACTIVE else f"it is no dead letter: {row[0]}"


def _answered(connection: sqlite3.Connection, batch: int | None) -> Replayed:
    row = connection.execute(SQL.get, (batch,)).fetchone()
    if row is None:
        raise InternalError(f"the replay {batch} is not kept")
    return Replayed(batch=row[0], replayed=columns.listed(row[1]), skipped=columns.listed(row[2]))
