"""Running → what was decided: matched by fence and state, with an answer for each row, all of it in one transaction."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from jobctl.states import FailureClass, OnFailure, RunState, may_move
from jobctl_daemon.rows import Finish, Pause, Verdict
from jobctl_daemon.store.sqlite import (
    claimed,
    dead,
    dependents,
    events,
    gates,
    history,
    one_shots,
    pauses,
    replays,
    streaks,
)
from jobctl_daemon.store.sqlite.claimed import Claimed
from jobctl_daemon.store.sqlite.columns import GAP, gap, policies, text
from jobctl_daemon.store.sqlite.identity import Identity, identity
from jobctl_daemon.store.sqlite.isolation import isolated
from jobctl_daemon.store.sqlite.statements import load

SQL = load("finish")

Answer = Literal["ok", "stale", "missing", "refused"]
_Accepted = list[tuple[Finish, Claimed]]
_FAILING = frozenset({RunState.FAILED, RunState.DEAD})


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
    taken: set[int] = set()
    answers: list[Answer | None] = []
    for result in results:
        row = found.get(result.run_id)
        if row is None:
            answers.append("stale" if result.run_id in taken else None)
        elif not row.holds(result.fence):
            answers.append("stale")
        elif not _possible(result):
            answers.append("refused")
        else:
            accepted.append((_as_it_stands(result, row), found.pop(result.run_id)))
            taken.add(result.run_id)
            answers.append("ok")
    _record(connection, accepted, now_ms)
    return _verdicts(connection, results, answers)


def _possible(result: Finish) -> bool:
    if result.state is RunState.READY:
        return result.retry_ms is not None
    return may_move(RunState.RUNNING, result.state) and result.state is not RunState.SCHEDULED


def _as_it_stands(result: Finish, row: Claimed) -> Finish:
    """What only the row knows: that it was asked about, or that nobody wants its retry any more.

    Somebody may have stopped the run, or removed its job, while it failed by itself.
    """
    if row.probe and result.state is RunState.SUCCEEDED:
        return msgspec.structs.replace(result, reason="it was done before it was lost, says its on-lost command")
    if result.state is not RunState.READY:
        return result
    if row.stop_wanted is not None:
        return msgspec.structs.replace(
            result,
            state=RunState.CANCELLED,
            outcome=FailureClass.CANCELLED.value,
            failure_class=FailureClass.CANCELLED,
            reason=f"cancelled by {row.stop_by}; it had ended by itself: {result.reason}",
        )
    if row.deleted_ms is not None:
        kept = policies(row.policies).on_failure is OnFailure.DEAD
        return msgspec.structs.replace(
            result,
            state=RunState.DEAD if kept else RunState.FAILED,
            reason=f"{result.reason}; not retried: its job was removed",
        )
    return result


def _record(connection: sqlite3.Connection, accepted: _Accepted, now_ms: int) -> None:
    connection.executemany(SQL.insert_attempt, [_attempt(result) for result, _ in accepted])
    retried = [(result, row) for result, row in accepted if result.state is RunState.READY]
    deaths = [(result, row) for result, row in accepted if result.state is RunState.DEAD]
    final = [(result, row) for result, row in accepted if result.state not in (RunState.READY, RunState.DEAD)]
    if retried:
        connection.executemany(SQL.retry, [_retry(result, row) for result, row in retried])
    if deaths:
        connection.executemany(SQL.bury, [_death(result, row) for result, row in deaths])
    history.move(connection, [_ending(result, row) for result, row in final])
    ended = [(result, row) for result, row in accepted if result.state is not RunState.READY]
    recovered = _recovered(connection, ended)
    connection.executemany(SQL.put_last_run, [_last_run(result, row) for result, row in _last(ended)])
    events.append(connection, [change for result, row in accepted for change in _changes(result, row, now_ms)])
    events.append(connection, [_recovery(row, now_ms) for row in recovered])
    if ended:
        _follow(connection, ended, now_ms)
    if deaths:
        _mourn(connection, ended, now_ms)


def _last(ended: _Accepted) -> _Accepted:
    """The last end of each job; all of them where one was cancelled, which says nothing about whether a job works."""
    living = [(result, row) for result, row in ended if row.deleted_ms is None]
    if any(result.state is RunState.CANCELLED for result, _ in living):
        return living
    return list({row.job_id: (result, row) for result, row in living}.values())


def _follow(connection: sqlite3.Connection, ended: _Accepted, now_ms: int) -> None:
    """What an end sets going: runs that wait for the gate, jobs that come after, the next one of a replay."""
    jobs = {row.job_id for _, row in ended}
    gates.freed(connection, jobs, now_ms)
    streaks.succeeded(connection, {row.job_id for result, row in ended if result.state is RunState.SUCCEEDED})
    streaks.ended(connection, jobs)
    dependents.start(
        connection, [dependents.End(row.job_id, row.id, result.state, result.ended_ms) for result, row in ended], now_ms
    )
    for result, row in ended:
        if row.batch is not None:
            replays.go_on(connection, row.batch, row.id, now_ms, failed=result.state in _FAILING)
    done = {row.job_id for _, row in ended if row.one_shot}
    if done:
        one_shots.retire(connection, done, now_ms)


def _mourn(connection: sqlite3.Connection, ended: _Accepted, now_ms: int) -> None:
    """Of too many dead letters the oldest make room. A job whose runs die every time is paused; what died before a
    success is not counted, nor what a person asked for: who replays a letter sees how it ends."""
    good = {row.job_id: place for place, (result, row) in enumerate(ended) if result.state is RunState.SUCCEEDED}
    for place, (result, row) in enumerate(ended):
        if result.state is RunState.DEAD:
            dead.make_room(connection, row.job_id, now_ms)
            job = identity(connection, row.job_id)
            if job is not None and job.deleted_ms is None and not row.by_hand and place > good.get(row.job_id, -1):
                _count_death(connection, result, job, now_ms)


def _count_death(connection: sqlite3.Connection, result: Finish, job: Identity, now_ms: int) -> None:
    in_a_row = streaks.died(connection, job.id)
    if in_a_row >= streaks.DEATHS_MOST and not job.suspended:
        why = f"quarantined: {in_a_row} dead letters in a row, the last one: {result.reason}"
        pauses.pause_job(connection, job, Pause(by="jobd", why=why), now_ms, quarantined=True)


def _recovered(connection: sqlite3.Connection, ended: _Accepted) -> list[Claimed]:
    """The first success of each job after a failure, be that one of these or of before."""
    good = {row.job_id for result, row in ended if result.state is RunState.SUCCEEDED and not row.hidden}
    if not good:
        return []
    failing = {job_id for (job_id,) in connection.execute(SQL.failing, (text(sorted(good)),))}
    found = []
    for result, row in ended:
        if result.state in _FAILING:
            failing.add(row.job_id)
        elif result.state is RunState.SUCCEEDED and row.job_id in failing and not row.hidden:
            failing.remove(row.job_id)
            found.append(row)
    return found


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


def _retry(result: Finish, row: Claimed) -> dict[str, object]:
    return {"held": row.held, "due_ms": result.retry_ms, "probe": result.probe, **_facts(result)}


def _death(result: Finish, row: Claimed) -> dict[str, object]:  # noqa: ARG001 - the two statements are fed alike
    facts = {"started_ms": result.started_ms, "error": result.error, "fingerprint": result.fingerprint or "unknown"}
    return {**facts, **_facts(result)}


def _facts(result: Finish) -> dict[str, object]:
    return {
        "run_id": result.run_id,
        "fence": result.fence,
        "failed": result.counted == "failed",
        "lost": result.counted == "lost",
        "outcome": result.outcome,
        "failure_class": None if result.failure_class is None else str(result.failure_class),
        "reason": result.reason,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "ended_ms": result.ended_ms,
    }


def _last_run(result: Finish, row: Claimed) -> tuple[object, ...]:
    return (
        row.job_id,
        row.id,
        1 if result.state in _FAILING and not row.hidden else 0,
        str(result.state),
        result.ended_ms,
        result.outcome,
        gap(result.exit_code),
        gap(result.signal),
    )


def _ending(result: Finish, row: Claimed) -> history.Ending:
    started_ms = row.started_ms if result.started_ms is None else result.started_ms
    began_ms = result.ended_ms if started_ms is None else started_ms
    return history.Ending(
        run_id=row.id,
        state=result.state,
        outcome=result.outcome,
        failure_class=result.failure_class,
        reason=result.reason,
        started_ms=started_ms,
        finished_ms=result.ended_ms,
        exit_code=result.exit_code,
        signal=result.signal,
        late=began_ms - row.due_ms > policies(row.policies).late_after_ms,
        error=result.error,
        fingerprint=result.fingerprint,
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


def _changes(result: Finish, row: Claimed, now_ms: int) -> Iterable[events.Change]:
    facts: dict[str, object] = {"name": row.name, "key": row.key, "fence": row.fence, "outcome": result.outcome}
    if result.exit_code is not None:
        facts["exit_code"] = result.exit_code
    if result.reason is not None:
        facts["reason"] = result.reason
    if result.state in (RunState.DEAD, RunState.FAILED):
        facts |= {"class": result.failure_class, "error": result.error, "fingerprint": result.fingerprint}
        facts |= {"attempt": row.attempt}
    if result.state is not RunState.READY:
        if policies(row.policies).mail is not None:
            facts |= {"mail": result.log_size or 0}
        yield (now_ms, f"run.{result.state}", row.owner_id, row.job_id, row.id, text(facts))
        return
    facts |= {"class": result.failure_class, "attempt": row.attempt, "due_ms": result.retry_ms}
    yield (now_ms, "run.retrying", row.owner_id, row.job_id, row.id, text(facts))
    if row.held:
        yield (now_ms, "run.held", row.owner_id, row.job_id, row.id, text({"name": row.name, "reason": "paused"}))


def _recovery(row: Claimed, now_ms: int) -> events.Change:
    return (now_ms, "job.recovered", row.owner_id, row.job_id, row.id, text({"name": row.name}))


def _verdict(result: Finish, answer: str) -> Verdict:
    return Verdict(run_id=result.run_id, fence=result.fence, answer=answer)
