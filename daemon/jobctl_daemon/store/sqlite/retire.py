"""Ending runs that never started: skipped by a policy, cancelled by hand, or with their job."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from jobctl.states import RunState, SkipReason, Trigger
from jobctl_daemon.store.sqlite import dependents, events, gates, history, ledger, one_shots, replays, streaks
from jobctl_daemon.store.sqlite.columns import policies, text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("retire")

_REPEATED = frozenset({SkipReason.OVERLAP, SkipReason.LIMIT})


class End(NamedTuple):
    """How a run ends: `outcome` is the word, `reason` the sentence; `skip` is noted in the ledger as well."""

    state: RunState
    outcome: str
    reason: str | None
    skip: SkipReason | None


class _Row(NamedTuple):
    id: int
    job_id: int
    owner_id: int
    key: str
    slot_ms: int
    due_ms: int
    trigger: str
    gate: int | None
    batch: int | None
    waits: int
    name: str
    policies: str
    exit_code: int | None
    signal: int | None
    started_ms: int | None


def unstarted(connection: sqlite3.Connection, ends: Mapping[int, End], now_ms: int) -> int:
    """Moves those runs to history that are still scheduled or ready; returns how many."""
    if not ends:
        return 0
    found = connection.execute(SQL.unstarted, (text(list(ends)),)).fetchall()
    rows = [(_Row(*row), ends[row[0]]) for row in found]
    history.move(connection, [_ending(row, end, now_ms) for row, end in rows])
    ledger.note(connection, [(end.skip, end.reason, row.slot_ms, row.job_id, row.key) for row, end in rows if end.skip])
    events.append(connection, [_change(row, end, now_ms) for row, end in rows])
    gates.freed(connection, {row.job_id for row, _ in rows if row.gate is not None}, now_ms)
    begun = [(row, end) for row, end in rows if row.started_ms is not None]  # what never ran starts nothing
    dependents.start(connection, [dependents.End(row.job_id, row.id, end.state, now_ms) for row, end in begun], now_ms)
    for row, _ in rows:
        if row.batch is not None and row.waits != replays.IN_TURN:
            replays.go_on(connection, row.batch, row.id, now_ms, failed=False)
    _count_skips(connection, rows, now_ms)
    one_shots.retire(connection, {row.job_id for row, _ in rows}, now_ms)
    return len(rows)


def _count_skips(connection: sqlite3.Connection, rows: list[tuple[_Row, End]], now_ms: int) -> None:
    """Occurrences that an active run keeps from starting, again and again, are told of once in a row. A message that
    goes is no occurrence."""
    for row, end in rows:
        if end.state is RunState.SKIPPED and end.skip in _REPEATED and row.trigger != Trigger.NOTICE:
            skips = streaks.skipped(connection, row.job_id)
            if skips.in_a_row == streaks.SKIPS_TOLD:
                facts = {"name": row.name, "count": skips.in_a_row, "reason": end.skip, "detail": end.reason}
                facts |= {"again": skips.habit}
                events.append_one(connection, now_ms, "job.skipping", row.owner_id, row.job_id, **facts)


def _ending(row: _Row, end: End, now_ms: int) -> history.Ending:
    late = now_ms - row.due_ms > policies(row.policies).late_after_ms
    return history.Ending(
        run_id=row.id,
        state=end.state,
        outcome=end.outcome,
        reason=end.reason,
        started_ms=row.started_ms,
        finished_ms=now_ms,
        exit_code=row.exit_code,
        signal=row.signal,
        late=late,
    )


def _change(row: _Row, end: End, now_ms: int) -> events.Change:
    data = text({"name": row.name, "key": row.key, "reason": end.outcome, "detail": end.reason})
    return (now_ms, f"run.{end.state}", row.owner_id, row.job_id, row.id, data)
