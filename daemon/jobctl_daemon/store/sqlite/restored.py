"""A copy that takes the place of a database: what must not be given out twice, and what is past and stays past."""

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from jobctl.states import FailureClass, OnFailure, RunState, Trigger
from jobctl_daemon.rows import CRONTABS_LIVE, DueJob, Finish, HeldAttempt, Life, Resumption, TakenOver, Unfinished
from jobctl_daemon.store.sqlite import dead, due, events, expand, finish, ledger, meta, one_shots, retire
from jobctl_daemon.store.sqlite.columns import policies, text
from jobctl_daemon.store.sqlite.opening import connect_untouching
from jobctl_daemon.store.sqlite.statements import load

SQL = load("restored")

#: The note of the last restore.
NOTE: Final = "restored"
_BOOT: Final = "boot"


class _Job(NamedTuple):
    """A row of the statement `job_of_uid`."""

    id: int
    version: int
    owner_id: int
    name: str
    queue: str
    priority: int


class _Moving(NamedTuple):
    """A row of the statement `moving`."""

    id: int
    revision: int
    version: int
    owner_id: int
    name: str
    queue: str
    priority: int


# ── what was given out ──────────────────────────────────────────────


def life_of(path: Path) -> Life | None:
    """What a database that is not open has given out, without touching it; None: it is not there, or not readable."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(connect_untouching(path)) as connection:
            return life(connection)
    except (sqlite3.Error, ValueError):
        return None


def life(connection: sqlite3.Connection) -> Life:
    """The same of an open one."""
    notes = dict(connection.execute(SQL.life_of_meta))
    marks = [notes.get(meta.WATERMARK), notes.get(meta.FENCE_FLOOR), *connection.execute(SQL.life_of_fences).fetchone()]
    return Life(
        epoch=int(notes.get(meta.EPOCH, 0)),
        generation=int(notes.get(meta.GENERATION, 0)),
        fence=max(int(mark) for mark in marks if mark is not None),
        ids=dict(connection.execute(SQL.life_of_sequences)),
        boot=notes.get(_BOOT),
        live=notes.get(CRONTABS_LIVE) == "1",
    )


def outlive(connection: sqlite3.Connection, lives: Iterable[Life], told: Iterable[str]) -> None:
    """Nothing that any of these lives has given out is given out again: fences, ids, epochs, the boot's own runs.

    Whose the crontabs of the host are is as it was at last: cron has been stopped, or begun again, since the copy.

    `told` are the notes of how far people have been told: what the copy has not told yet was told since, or is past.
    """
    for one in lives:
        for name, seq in one.ids.items():
            connection.execute(SQL.raise_sequence, {"name": name, "seq": seq})
            connection.execute(SQL.begin_sequence, {"name": name, "seq": seq})
        own = life(connection)
        notes = {
            meta.EPOCH: str(max(own.epoch, one.epoch)),
            meta.FENCE_FLOOR: str(max(own.fence, one.fence)),
            **dict.fromkeys(told, str(max(events.newest(connection), 0))),
        }
        if max(own.generation, one.generation):
            notes[meta.GENERATION] = str(max(own.generation, one.generation))
        if one.boot is not None:
            notes[_BOOT] = one.boot
        if one.live is not None:
            notes[CRONTABS_LIVE] = "1" if one.live else "0"
        meta.write(connection, notes)


# ── what runners hold ──────────────────────────────────────────────


def take_over(connection: sqlite3.Connection, held: Sequence[HeldAttempt], node: str, now_ms: int) -> TakenOver:
    """Attempts that runners hold become attempts of their runs, so that their ends are recorded.

    `known` were so already, `taken` are so now, `unknown` belong to jobs that are not there. The end of a run that the
    copy knows is left as it is.
    """
    known: list[str] = []
    taken: list[str] = []
    unknown: list[str] = []
    for attempt in held:
        row = _without_older(connection, attempt, now_ms)
        if row is not None and row[2] >= attempt.fence:
            known.append(attempt.name)
        elif row is not None and row[1] != "running":
            _again(connection, attempt, row, node, now_ms)
            taken.append(attempt.name)
        elif row is None and connection.execute(SQL.ended_run, (attempt.run_id,)).fetchone() is not None:
            known.append(attempt.name)
        elif row is None and _invented(connection, attempt, node, now_ms):
            taken.append(attempt.name)
        else:
            unknown.append(attempt.name)
    return TakenOver(known=tuple(known), taken=tuple(taken), unknown=tuple(unknown))


def _without_older(connection: sqlite3.Connection, held: HeldAttempt, now_ms: int) -> tuple[Any, ...] | None:
    """The run of an attempt, if it has not ended. What the copy believes to run before this attempt is over."""
    row: tuple[Any, ...] | None = connection.execute(SQL.held_run, (held.run_id,)).fetchone()
    if row is None or row[1] != "running" or row[2] >= held.fence:
        return row
    over = Finish(
        run_id=held.run_id,
        fence=row[2],
        state=RunState.READY,
        outcome=FailureClass.LOST.value,
        failure_class=FailureClass.LOST,
        reason="a later attempt has begun: how this one ended is not in the copy that was restored",
        started_ms=None,
        ended_ms=now_ms,
        retry_ms=now_ms,
        counted="lost",
    )
    finish.finish(connection, [over], now_ms)
    found: tuple[Any, ...] | None = connection.execute(SQL.held_run, (held.run_id,)).fetchone()
    return found


def _again(connection: sqlite3.Connection, held: HeldAttempt, row: tuple[Any, ...], node: str, now_ms: int) -> None:
    _, state, _, _, job_id, owner_id, name = row
    connection.execute(SQL.take_over, _facts(held, node))
    steps = {"dead": ("replayed", "ready"), "scheduled": ("ready",), "ready": ()}[state]
    _tell(connection, (*steps, "running"), name, owner_id, job_id, held, now_ms)


def _invented(connection: sqlite3.Connection, held: HeldAttempt, node: str, now_ms: int) -> bool:
    found = connection.execute(SQL.job_of_uid, (held.job_uid,)).fetchone()
    if found is None:
        return False
    job = _Job(*found)
    slot_ms = _slot_ms(held)
    if not ledger.claim_keys(connection, [(job.id, held.key, slot_ms, slot_ms, held.run_id, now_ms)]):
        return False
    by_schedule = held.key.startswith("s:")
    facts = {
        **_facts(held, node),
        "job_id": job.id,
        "owner_id": job.owner_id,
        "version": job.version,
        "key": held.key,
        "slot_ms": slot_ms,
        "trigger": str(Trigger.SCHEDULE if by_schedule else Trigger.MANUAL),
        "by_hand": 0 if by_schedule else 1,
        "note": "it began after the copy was made that was restored",
        "queue": job.queue,
        "priority": job.priority,
    }
    connection.execute(SQL.invent, facts)
    _tell(connection, ("scheduled", "ready", "running"), job.name, job.owner_id, job.id, held, now_ms)
    return True


def _slot_ms(held: HeldAttempt) -> int:
    word = held.key.split(":")[1] if held.key.startswith("s:") else ""
    return int(word) if word.isascii() and word.isdigit() else held.claimed_ms


def _facts(held: HeldAttempt, node: str) -> dict[str, object]:
    return {
        "run_id": held.run_id,
        "fence": held.fence,
        "node": node,
        "boot_id": held.boot_id,
        "runner": held.runner,
        "pid": held.pid,
        "pid_start": held.pid_start,
        "claimed_ms": held.claimed_ms,
        "started_ms": held.started_ms,
    }


def _tell(
    connection: sqlite3.Connection,
    steps: Sequence[str],
    name: str,
    owner_id: int,
    job_id: int,
    held: HeldAttempt,
    now_ms: int,
) -> None:
    data = text({"name": name, "key": held.key, "fence": held.fence, "restored": True})
    events.append(connection, [(now_ms, f"run.{step}", owner_id, job_id, held.run_id, data) for step in steps])


# ── what is past ──────────────────────────────────────────────


def unfinished(connection: sqlite3.Connection, after: int, limit: int) -> list[Unfinished]:
    """Runs that have not ended, by id, after an id."""
    rows = connection.execute(SQL.unfinished, {"after": after, "limit": limit})
    return [
        Unfinished(
            run_id=run_id,
            job_id=job_id,
            state=state,
            attempt=attempt,
            fence=fence,
            due_ms=due_ms,
            waits=waits,
            letter=replays > 0 or policies(rules).on_failure is OnFailure.DEAD,
        )
        for run_id, job_id, state, attempt, fence, due_ms, waits, replays, rules in rows
    ]


def bury(connection: sqlite3.Connection, run_ids: Iterable[int], reason: str, now_ms: int) -> int:
    """What waited for a retry or a turn becomes a dead letter; returns how many."""
    buried = [
        row
        for run_id in run_ids
        for row in connection.execute(SQL.bury, {"run_id": run_id, "reason": reason, "now_ms": now_ms}).fetchall()
    ]
    changes = []
    for run_id, job_id, owner_id, key, fence, attempt, name in buried:
        facts = {"name": name, "key": key, "fence": fence, "outcome": "lost", "reason": reason, "class": "lost"}
        facts |= {"fingerprint": "restored", "attempt": attempt}
        changes.append((now_ms, "run.dead", owner_id, job_id, run_id, text(facts)))
    events.append(connection, changes)
    for job_id in {row[1] for row in buried}:
        dead.make_room(connection, job_id, now_ms)
    return len(buried)


def drop(connection: sqlite3.Connection, run_ids: Iterable[int], reason: str, now_ms: int) -> int:
    """What waited for a retry of a job that keeps no dead letters is cancelled; returns how many."""
    end = retire.End(RunState.CANCELLED, RunState.CANCELLED.value, reason, None)
    return retire.unstarted(connection, dict.fromkeys(run_ids, end), now_ms)


def cursors(connection: sqlite3.Connection, after: int, limit: int) -> list[DueJob]:
    """Live jobs with a cursor that is not parked, by id, after an id."""
    return due.jobs(connection.execute(SQL.cursors, {"after": after, "limit": limit}))


def move(connection: sqlite3.Connection, moves: Sequence[Resumption], now_ms: int) -> int:
    """Cursors go where they are told to, with rows and runs; each under its revision. Returns how many did."""
    ids = text([move.job_id for move in moves])
    found = {row.id: row for row in map(_Moving._make, connection.execute(SQL.moving, (ids,)))}
    moved = 0
    for wanted in moves:
        job = found.get(wanted.job_id)
        if job is None or job.revision != wanted.revision:
            continue
        place = {"job_id": job.id, "next_ms": wanted.next_ms, "handled_ms": wanted.handled_ms}
        connection.execute(SQL.move_cursor, place)
        ledger.append_skips(connection, [(row, job.owner_id, job.name) for row in wanted.rows], now_ms)
        expand.make_runs(connection, expand.place(connection, ((job, run) for run in wanted.runs)), now_ms)
        moved += 1
    one_shots.retire(connection, [move.job_id for move in moves], now_ms)
    return moved


def note(connection: sqlite3.Connection, facts: dict[str, object], now_ms: int) -> None:
    """Remembers the restore, with its event."""
    meta.write(connection, {NOTE: text(facts), meta.STOPPED: str(now_ms)})
    meta.raise_watermark(connection, now_ms)
    events.append(connection, [(now_ms, "daemon.restored", events.NOBODY, None, None, text(facts))])
