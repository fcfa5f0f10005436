"""Rows of a screen's list of runs."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from jobctl.states import RunState
from jobctl.windows import RunLine
from jobctl.wire import seconds
from jobctl_daemon.decide.usual import LOOKED_AT, Usual, usual
from jobctl_daemon.store.sqlite import durations, facts
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("run_windows")

_FACTS: Final = len(facts.RunFacts._fields)
#: How a run says itself why it has not begun; what it waits for is the rest.
_WAITS: Final = "waits for "
_HELD: Final = "held: "


def lines(connection: sqlite3.Connection, run_ids: Sequence[int], now_ms: int) -> list[RunLine]:
    """The rows of runs, in the order given; of those that are there."""
    ids = {"ids": text(run_ids)}
    rows = {row[0]: row for sql in (SQL.active_lines, SQL.ended_lines) for row in connection.execute(sql, ids)}
    ordered = [rows[run_id] for run_id in run_ids if run_id in rows]
    took = durations.succeeded(connection, sorted({facts.RunFacts(*row[:_FACTS]).job_id for row in ordered}), LOOKED_AT)
    usually = {job_id: usual(times) for job_id, times in took.items()}
    return [_line(row, usually, now_ms) for row in ordered]


def _line(row: tuple[Any, ...], usually: dict[int, Usual | None], now_ms: int) -> RunLine:
    run, due_ms = facts.run(row[:_FACTS]), facts.RunFacts(*row[:_FACTS]).due_ms
    owner, priority, concurrency = row[_FACTS:]
    times = usually.get(run.job_id)
    return RunLine(
        id=run.id,
        job_id=run.job_id,
        job=run.job,
        owner=owner,
        state=run.state,
        trigger=run.trigger,
        scheduled_at=run.scheduled_at,
        due_at=run.due_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        attempt=run.attempt,
        uncounted=run.uncounted,
        max_attempts=run.max_attempts,
        replays=run.replays,
        outcome=run.outcome,
        failure_class=run.failure_class,
        reason=run.reason,
        exit_code=run.exit_code,
        signal=run.signal,
        late=run.late,
        queue=run.queue,
        priority=priority,
        node=run.node,
        error=run.error,
        p50=None if times is None else seconds(times.p50_ms),
        p95=None if times is None else seconds(times.p95_ms),
        waits_for=_waits_for(run.state, run.reason or "", run.queue, concurrency) if due_ms <= now_ms else None,
    )


def _waits_for(state: RunState, reason: str, queue: str, concurrency: int | None) -> str | None:
    if state is RunState.SCHEDULED:
        said = [reason.removeprefix(begin) for begin in (_WAITS, _HELD) if reason.startswith(begin)]
        return said[0] if said else None
    if state is not RunState.READY:
        return None
    return "a free slot" if concurrency is None else f"a place in the queue {queue}, which runs {concurrency} at once"
