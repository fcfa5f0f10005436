"""Running → final: matched by fence and state, into history, with an answer for each row."""

import sqlite3
from collections.abc import Sequence
from typing import Literal

from jobctl.states import RunState, may_move
from jobctl_daemon.rows import Finish, Verdict
from jobctl_daemon.store.sqlite import claimed, events, history, one_shots
from jobctl_daemon.store.sqlite.claimed import Claimed
from jobctl_daemon.store.sqlite.columns import GAP, gap, policies, text
from jobctl_daemon.store.sqlite.isolation import isolated
from jobctl_daemon.store.sqlite.statements import load

SQL = load("finish")

Answer = Literal["ok", "stale", "missing", "refused"]
_Accepted = list[tuple[Finish, Claimed]]


def finish(connection: sqlite3.Connection, results: Sequence[Finish], now_ms: int) -> list[Verdict]:
    """Records the ends; a bad one is refused alone."""
    if not results:
        return []
    parts = isolated(
        connection, results, lambda some: _finish(connection, some, now_ms), lambda bad, _: [_verdict(bad, "refused")]
    )
    return [verdict for part in parts for verdict in part]


def _finish(connection: sqlite3.Connection, results: Sequence[Finish], now_ms: int) -> list[Verdict]:
    found = claimed.read(connection, [result.run_id for result in results])
    accepted: _Accepted = []
    answers: list[Answer | None] = []
    for result in results:
        row = found.get(result.run_id)
        if row is None or not row.holds(result.fence):
            answers.append(None if row is None else "stale")
        elif not may_move(RunState.RUNNING, result.state) or result.state is RunState.READY:
            answers.append("refused")
        else:
            accepted.append((result, found.pop(result.run_id)))
            answers.append("ok")
    _record(connection, accepted, now_ms)
    return _verdicts(connection, results, answers)


def _record(connection: sqlite3.Connection, accepted: _Accepted, now_ms: int) -> None:
    connection.executemany(SQL.insert_attempt, [_attempt(result) for result, _ in accepted])
    history.move(connection, [_ending(result, row) for result, row in accepted])
    last = {row.job_id: (result, row) for result, row in accepted if row.deleted_ms is None}
    connection.executemany(SQL.put_last_run, [_last_run(result, row) for result, row in last.values()])
    events.append(connection, [_change(result, row, now_ms) for result, row in accepted])
    done = {row.job_id for _, row in accepted if row.one_shot}
    if done:
        one_shots.retire(connection, done, now_ms)


def _verdicts(
    connection: sqlite3.Connection, results: Sequence[Finish], answers: Sequence[Answer | None]
) -> list[Verdict]:
    """`None` stands for a run that is not active: finished before, or never there."""
    unknown = [result.run_id for result, answer in zip(results, answers, strict=True) if answer is None]
    ended = history.known(connection, unknown) if unknown else set()
    return [
        _verdict(result, answer or ("stale" if result.run_id in ended else "missing"))
        for result, answer in zip(results, answers, strict=True)
    ]


def _last_run(result: Finish, row: Claimed) -> tuple[object, ...]:
    return (
        row.job_id,
        row.id,
        1 if result.state is not RunState.SUCCEEDED and not row.hidden else 0,
        str(result.state),
        result.ended_ms,
        result.outcome,
        gap(result.exit_code),
        gap(result.signal),
    )


def _ending(result: Finish, row: Claimed) -> history.Ending:
    started_ms = row.started_ms if result.started_ms is None else result.started_ms
    began_ms = result.ended_ms if started_ms is None else started_ms
    late = began_ms - row.due_ms > policies(row.policies).late_after_ms
    return history.Ending(
        result.state,
        result.outcome,
        result.failure_class,
        result.reason,
        started_ms,
        result.ended_ms,
        result.exit_code,
        result.signal,
        late,
        row.id,
    )


def _attempt(result: Finish) -> tuple[object, ...]:
    return (
        gap(result.started_ms),
        gap(result.pid),
        gap(result.pid_start),
        result.ended_ms,
        gap(result.exit_code),
        gap(result.signal),
        str(result.failure_class) if result.failure_class else GAP,
        gap(result.detail),
        gap(result.cpu_ms),
        gap(result.max_rss_kb),
        gap(result.log_size),
        gap(result.log_dropped_from),
        gap(result.log_dropped_to),
        text(result.signals) if result.signals else GAP,
        text(result.left_behind) if result.left_behind else GAP,
        result.run_id,
    )


def _change(result: Finish, row: Claimed, now_ms: int) -> events.Change:
    facts: dict[str, object] = {"name": row.name, "key": row.key, "fence": row.fence, "outcome": result.outcome}
    if result.exit_code is not None:
        facts["exit_code"] = result.exit_code
    if result.reason is not None:
        facts["reason"] = result.reason
    return (now_ms, f"run.{result.state}", row.owner_id, row.job_id, row.id, text(facts))


def _verdict(result: Finish, answer: str) -> Verdict:
    return Verdict(run_id=result.run_id, fence=result.fence, answer=answer)
