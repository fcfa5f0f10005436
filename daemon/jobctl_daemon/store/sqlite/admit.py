"""Scheduled runs whose time has come: reading them, and recording what was decided."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from jobctl.states import RunState
from jobctl_daemon.rows import Admission, Pending
from jobctl_daemon.store.sqlite import columns, events, retire
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("admit")


def pending(connection: sqlite3.Connection, now_ms: int, limit: int) -> list[Pending]:
    """Scheduled runs that are due and not held, by (due, id). What is ready counts as active, or two would get in."""
    return _pending(connection.execute(SQL.pending, (now_ms, limit)))


def too_late(connection: sqlite3.Connection, now_ms: int, limit: int) -> list[Pending]:
    """Ready and scheduled runs whose `start_by` has passed; those held are not looked at."""
    found: list[Pending] = []
    for statement in (SQL.too_late_ready, SQL.too_late_pending):
        found += _pending(connection.execute(statement, {"now_ms": now_ms, "limit": limit - len(found)}))
    return found


def admit(connection: sqlite3.Connection, admissions: Sequence[Admission], now_ms: int) -> int:
    """Records the answers; returns how many runs moved."""
    ready = [admission.run_id for admission in admissions if admission.reason is None]
    skips = {
        admission.run_id: retire.End(RunState.SKIPPED, admission.reason.value, admission.detail, admission.reason)
        for admission in admissions
        if admission.reason is not None
    }
    return _make_ready(connection, ready, now_ms) + retire.unstarted(connection, skips, now_ms)


def _make_ready(connection: sqlite3.Connection, run_ids: list[int], now_ms: int) -> int:
    if not run_ids:
        return 0
    moved = sorted(connection.execute(SQL.make_ready, (text(run_ids),)))
    changes = [
        (now_ms, "run.ready", owner_id, job_id, run_id, text({"name": name}))
        for run_id, job_id, owner_id, name in moved
    ]
    events.append(connection, changes)
    return len(moved)


def _pending(rows: Iterable[tuple[Any, ...]]) -> list[Pending]:
    return [
        Pending(
            run_id=run_id,
            job_id=job_id,
            slot_ms=slot_ms,
            due_ms=due_ms,
            start_by_ms=start_by_ms,
            trigger=columns.TRIGGERS[trigger],
            policies=columns.policies(policies),
            active_run_id=active,
        )
        for run_id, job_id, slot_ms, due_ms, start_by_ms, trigger, policies, active in rows
    ]
