"""Scheduled runs whose time has come: reading them, and recording what was decided."""

import heapq
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from jobctl.defaults import JOB_RUNS_MAX
from jobctl.states import Overlap, RunState, SkipReason
from jobctl_daemon.rows import Admission, Admitted, Pending
from jobctl_daemon.store.sqlite import columns, events, retire
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("admit")

#: Runs that may wait for a gate and are looked at; more than any overlap_queue.
_WAITING_MAX = 1_001
#: More than are looked at together.
_BATCH = 1_000
#: A run that replaces others must know them all, also those that were let in under a higher limit.
_ALL = -1
_BEFORE_ALL = -(1 << 62)


def pending(connection: sqlite3.Connection, now_ms: int, limit: int) -> list[Pending]:
    """Scheduled runs that are due, neither held nor waiting, by (due, id), with what of their jobs is active.

    What is ready counts as active, or two would get in. When there are more than `limit`, owners take turns: whoever
    has a hundred thousand that are due holds up his own.
    """
    rows = connection.execute(SQL.pending, (now_ms, limit)).fetchall()
    if len(rows) == limit and len(owners := _owners(connection)) > 1:
        chosen = connection.execute(SQL.chosen, (text(_by_turns(connection, owners, now_ms, limit)),))
        rows = sorted(chosen, key=lambda row: (row[3], row[0]))
    return _pending(connection, rows)


def _owners(connection: sqlite3.Connection) -> list[int]:
    owners: list[int] = []
    last = _BEFORE_ALL
    while (row := connection.execute(SQL.next_owner, (last,)).fetchone()) is not None:
        (last,) = row
        owners.append(last)
    return owners


def _by_turns(connection: sqlite3.Connection, owners: Iterable[int], now_ms: int, limit: int) -> list[int]:
    """The oldest run of each owner, then the second of each, and so on."""
    turns = [
        (turn, due_ms, run_id)
        for owner_id in owners
        for turn, (due_ms, run_id) in enumerate(connection.execute(SQL.due_of, (owner_id, now_ms, limit)))
    ]
    return [run_id for _, _, run_id in heapq.nsmallest(limit, turns)]


def too_late(connection: sqlite3.Connection, now_ms: int, limit: int) -> list[Pending]:
    """Ready and scheduled runs whose `start_by` has passed; those held are not looked at."""
    found: list[Pending] = []
    for statement in (SQL.too_late_ready, SQL.too_late_pending, SQL.too_late_waiting):
        rows = connection.execute(statement, {"now_ms": now_ms, "limit": limit - len(found)}).fetchall()
        found += _pending(connection, rows)
    return found


def admit(connection: sqlite3.Connection, admissions: Sequence[Admission], now_ms: int) -> Admitted:
    """Records the answers; what makes room for another run goes first."""
    stops: list[tuple[int, int]] = []
    for admission in admissions:
        if admission.replaces:
            stops += _replace(connection, admission, now_ms)
    ready = [one.run_id for one in admissions if one.reason is None and not one.waits]
    waits = [one.run_id for one in admissions if one.waits]
    skips = {
        one.run_id: retire.End(RunState.SKIPPED, one.reason.value, one.detail, one.reason)
        for one in admissions
        if one.reason is not None
    }
    moved = _move(connection, SQL.make_ready, "run.ready", ready, now_ms)
    waiting = _move(connection, SQL.make_wait, "run.waiting", waits, now_ms)
    moved += retire.unstarted(connection, skips, now_ms)
    return Admitted(moved=moved, stops=tuple(stops), waiting=waiting)


def _replace(connection: sqlite3.Connection, admission: Admission, now_ms: int) -> list[tuple[int, int]]:
    """Ends what has not begun, or waits for a retry; returns the attempts that must be stopped."""
    by = f"run {admission.run_id}, which replaces it"
    running: list[tuple[int, int]] = []
    for run_id in admission.replaces:
        running += connection.execute(SQL.replace_running, {"run_id": run_id, "by": by}).fetchall()
    known = {run_id for run_id, _ in running}
    end = retire.End(
        RunState.SUPERSEDED, RunState.SUPERSEDED.value, f"replaced by run {admission.run_id}", SkipReason.OVERLAP
    )
    retire.unstarted(connection, {run_id: end for run_id in admission.replaces if run_id not in known}, now_ms)
    return running


def _move(connection: sqlite3.Connection, statement: str, kind: str, run_ids: list[int], now_ms: int) -> int:
    if not run_ids:
        return 0
    moved = sorted(connection.execute(statement, (text(run_ids),)))
    changes = [
        (now_ms, kind, owner_id, job_id, run_id, text({"name": name})) for run_id, job_id, owner_id, name in moved
    ]
    events.append(connection, changes)
    return len(moved)


def _pending(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> list[Pending]:
    found: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    unended: dict[int, int] = {}
    answer = []
    for run_id, job_id, slot_ms, due_ms, start_by_ms, trigger, policies, by_hand, begun in rows:
        rules = columns.policies(policies)
        if rules.active_max is not None and job_id not in found:
            most = _ALL if rules.overlap is Overlap.REPLACE else rules.active_max
            found[job_id] = _of_job(connection, job_id, most)
        active, waiting = found.get(job_id, ((), ()))
        if rules.active_max is None and job_id not in unended:
            (unended[job_id],) = connection.execute(SQL.unended, (job_id, JOB_RUNS_MAX + _BATCH)).fetchone()
        answer.append(
            Pending(
                run_id=run_id,
                job_id=job_id,
                slot_ms=slot_ms,
                due_ms=due_ms,
                start_by_ms=start_by_ms,
                trigger=columns.trigger(trigger),
                policies=rules,
                active=active,
                waiting=waiting,
                by_hand=bool(by_hand),
                begun=bool(begun),
                unended=unended.get(job_id, 0),
            )
        )
    return answer


def _of_job(connection: sqlite3.Connection, job_id: int, most: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    active = connection.execute(SQL.active_of, (job_id, most)).fetchall()
    waiting = connection.execute(SQL.waiting_of, (job_id, _WAITING_MAX)).fetchall()
    return tuple(run_id for (run_id,) in active), tuple(run_id for (run_id,) in waiting)
