"""Rows of a screen's list of jobs: a job as it is shown, what it is at, and how its last runs ended."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from jobctl.states import FailureClass, RunState
from jobctl.windows import Active, JobLine, Last
from jobctl.wire import rfc3339, seconds
from jobctl_daemon.decide.skips import skips
from jobctl_daemon.decide.usual import LOOKED_AT, Usual, usual
from jobctl_daemon.shown import expression, scheduled
from jobctl_daemon.store.sqlite import columns, durations, facts
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.job_order import LATE, RANK, SQL

#: Runs of which a row tells how each ended.
_RECENT: Final = 10
_MARKS: Final = {
    "succeeded": ".", "again": "r", "failed": "x", "dead": "x", "discarded": "x", "skipped": "s", "superseded": "s",
    "cancelled": "k",
}  # fmt: skip
_RUNNING: Final = ">"
_CLASSES: Final = {str(each): each for each in FailureClass}
_LINES: Final = SQL.lines.format(busy=SQL.busy, rank=RANK, late_since=LATE)
_FACTS: Final = len(facts.JobFacts._fields)


class _Rest(NamedTuple):
    """What the statement `lines` knows of a job beside job_facts."""

    rank: int
    late_since: int | None
    retrying: int | None
    queued: int | None
    active_id: int | None
    active_state: str | None
    active_started: int | None
    active_due: int | None
    active_attempt: int | None
    active_spare: int | None
    active_class: str | None
    active_exit_code: int | None
    active_signal: int | None
    active_reason: str | None
    last_started: int | None
    last_class: str | None
    last_error: str | None
    recent: str
    skip_until: int | None


def lines(connection: sqlite3.Connection, job_ids: Sequence[int], now_ms: int) -> list[JobLine]:
    """The rows of jobs, in the order given; of those that are there."""
    wanted = {"ids": text(job_ids), "now_ms": now_ms, "recent": _RECENT}
    took = durations.succeeded(connection, job_ids, LOOKED_AT)
    found = {row[0]: _line(row, usual(took.get(row[0], ())), now_ms) for row in connection.execute(_LINES, wanted)}
    return [found[job_id] for job_id in job_ids if job_id in found]


def _line(row: tuple[Any, ...], usually: Usual | None, now_ms: int) -> JobLine:
    job, rest = facts.JobFacts(*row[:_FACTS]), _Rest(*row[_FACTS:])
    schedule, rules = columns.schedule(job.schedule), columns.policies(job.policies)
    wrong = _unreadable(job)
    active = _active(rest, rules.retries)
    return JobLine(
        id=job.id,
        name=job.name,
        owner=job.owner,
        state=_word(job, rest, by_hand=not scheduled(schedule), wrong=wrong is not None),
        rank=rest.rank,
        words=schedule.words,
        expression=expression(schedule, job.after),
        timezone=schedule.timezone,
        paused_why=facts.held_words(job),
        suspended_by=job.suspended_by,
        suspended_until=_at(job.suspended_until),
        quarantined=bool(job.quarantined and job.paused),
        next_run_at=_at(job.next_ms),
        skips=skips(schedule, rest.skip_until, now_ms),
        late_since=_at(rest.late_since),
        active=active,
        last=_last(job, rest),
        recent=_recent(rest),
        error=job.error or wrong or rest.last_error,
        dead=job.dead,
        tags=rules.tags,
        queue=job.queue,
        priority=job.priority,
        declared=job.declared,
        rev=job.rev,
        p50=None if usually is None else seconds(usually.p50_ms),
        p95=None if usually is None else seconds(usually.p95_ms),
    )


def _unreadable(job: facts.JobFacts) -> str | None:
    """What is wrong with its stored definition."""
    schedule, work = columns.schedule(job.schedule), columns.execution(job.execution)
    rules = columns.policies(job.policies)
    if schedule is columns.NO_SCHEDULE or work is columns.NO_EXECUTION or rules is columns.NO_POLICIES:
        return columns.unreadable(schedule=job.schedule, command=job.execution, policies=job.policies)
    return None


def _word(job: facts.JobFacts, rest: _Rest, *, by_hand: bool, wrong: bool) -> str:
    """The one word of a job: that of `ls`, and of a job that is ok what else there is to say."""
    if wrong:
        return "parked"
    if job.state == "paused" and job.quarantined and job.paused:
        return "quarantined"
    if job.state != "ok":
        return job.state
    if rest.late_since is not None:
        return "late"
    if rest.retrying:
        return "retrying"
    if rest.queued:
        return "queued"
    return "manual" if by_hand else "ok" if job.last_run_id is not None else "new"


def _active(rest: _Rest, retries: int) -> Active | None:
    if rest.active_id is None or rest.active_attempt is None or rest.active_due is None:
        return None
    spare = rest.active_spare or 0
    return Active(
        id=rest.active_id,
        state=facts.state(rest.active_state or ""),
        started_at=_at(rest.active_started) if rest.active_state == RunState.RUNNING else None,
        due_at=rfc3339(rest.active_due),
        attempt=rest.active_attempt,
        max_attempts=max(rest.active_attempt, spare + retries + 1),
        failure_class=_CLASSES.get(rest.active_class or ""),
        exit_code=rest.active_exit_code,
        signal=rest.active_signal,
        reason=rest.active_reason,
    )


def _last(job: facts.JobFacts, rest: _Rest) -> Last | None:
    if job.last_run_id is None or job.last_state is None or job.last_ms is None:
        return None
    began = rest.last_started
    return Last(
        id=job.last_run_id,
        state=facts.state(job.last_state),
        outcome=job.last_outcome,
        failure_class=_CLASSES.get(rest.last_class or ""),
        exit_code=job.last_exit_code,
        signal=job.last_signal,
        finished_at=rfc3339(job.last_ms),
        duration=None if began is None else seconds(max(0, job.last_ms - began)),
    )


def _recent(rest: _Rest) -> str:
    ended = "".join(_MARKS.get(state, "x") for state in reversed(columns.listed(rest.recent)))
    running = _RUNNING if rest.active_state == RunState.RUNNING else ""
    return (ended + running)[-_RECENT:]


def _at(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
