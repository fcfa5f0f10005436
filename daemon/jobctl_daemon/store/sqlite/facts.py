"""From rows of the database to the values the API shows."""

from typing import Any, Final, NamedTuple

from jobctl.model import Attempt, Job, LastRun, PutBack, Run
from jobctl.states import FailureClass, RunState
from jobctl.wire import rfc3339
from jobctl_daemon.shown import QUARANTINED, definition, pause_words
from jobctl_daemon.store.sqlite import columns

_STATES: Final = {str(state): state for state in RunState}
_CLASSES: Final = {str(each): each for each in FailureClass}


class JobFacts(NamedTuple):
    """A row of the view job_facts."""

    id: int
    uid: str
    name: str
    owner: str
    enabled: int
    paused: int
    paused_by: str | None
    paused_since: int | None
    paused_until: int | None
    paused_why: str | None
    quarantined: int
    schedule: str
    execution: str
    policies: str
    queue: str
    priority: int
    version: int
    rev: int
    next_ms: int | None
    last_run_id: int | None
    last_state: str | None
    last_ms: int | None
    last_outcome: str | None
    last_exit_code: int | None
    last_signal: int | None
    running: int
    retrying: int
    dead: int
    skipping: int
    error: str | None
    source: str
    declared: str | None
    created_ms: int
    state: str
    suspended_by: str | None
    suspended_since: int | None
    suspended_until: int | None
    held_by: str | None
    held_why: str | None
    after: str | None
    owner_id: int
    done: int
    hidden: int
    deleted_ms: int | None


class RunFacts(NamedTuple):
    """A row of the views active_facts and finished_facts."""

    id: int
    key: str
    job_uid: str
    job_id: int
    job: str
    queue: str
    version: int
    edited: int
    trigger: str
    slot_ms: int
    due_ms: int
    started_ms: int | None
    finished_ms: int | None
    state: str
    outcome: str | None
    failure_class: str | None
    reason: str | None
    attempt: int
    spare: int
    replays: int
    put_back_ms: int | None
    put_back_by: int | None
    retry_of: int | None
    error: str | None
    fingerprint: str | None
    fence: int
    node: str | None
    exit_code: int | None
    signal: int | None
    late: int | None
    coalesced: int
    policies: str
    owner_id: int


class AttemptFacts(NamedTuple):
    """A row of attempts; the statement `attempts_of` selects these columns."""

    run_id: int
    attempt: int
    fence: int
    node: str
    pid: int | None
    claimed_ms: int
    started_ms: int | None
    ended_ms: int | None
    exit_code: int | None
    signal: int | None
    failure_class: str | None
    detail: str | None
    cpu_ms: int | None
    max_rss_kb: int | None
    log_size: int | None
    log_dropped_from: int | None
    log_dropped_to: int | None
    signals: str | None
    left_behind: str | None


def job(row: tuple[Any, ...], *, listed: bool = False) -> Job:
    """A job as the API shows it. In a list it carries neither standard input nor environment."""
    facts = JobFacts(*row)
    schedule, work = columns.schedule(facts.schedule), columns.execution(facts.execution)
    rules = columns.policies(facts.policies)
    asked = definition(schedule, work, rules, facts.after, listed=listed)
    spoilt = schedule is columns.NO_SCHEDULE or work is columns.NO_EXECUTION or rules is columns.NO_POLICIES
    wrong = (
        columns.unreadable(schedule=facts.schedule, command=facts.execution, policies=facts.policies)
        if spoilt
        else None
    )
    return Job(
        id=facts.id,
        uid=facts.uid,
        name=facts.name,
        owner=facts.owner,
        state="parked" if wrong else facts.state,
        enabled=bool(facts.enabled),
        paused=bool(facts.paused),
        paused_by=facts.paused_by,
        paused_since=_at(facts.paused_since),
        paused_until=_at(facts.paused_until),
        paused_why=facts.paused_why,
        suspended_by=facts.suspended_by,
        suspended_since=_at(facts.suspended_since),
        suspended_until=_at(facts.suspended_until),
        suspended_why=held_words(facts),
        quarantined=bool(facts.quarantined and facts.paused),
        queue=facts.queue,
        priority=facts.priority,
        version=facts.version,
        rev=facts.rev,
        next_run_at=_at(facts.next_ms),
        last_run=_last_run(facts),
        running=facts.running,
        retrying=facts.retrying,
        dead=facts.dead,
        skipping=facts.skipping,
        error=facts.error or wrong,
        source=facts.source,
        declared=facts.declared,
        created_at=rfc3339(facts.created_ms),
        **asked,
    )


def run(row: tuple[Any, ...]) -> Run:
    """A run as the API shows it. Its key is what the command sees in JOBCTL_RUN_KEY."""
    facts = RunFacts(*row)
    return Run(
        id=facts.id,
        key=f"{facts.job_uid}/{facts.key}",
        job_id=facts.job_id,
        job=facts.job,
        queue=facts.queue,
        version=facts.version,
        edited=bool(facts.edited),
        trigger=columns.trigger(facts.trigger),
        scheduled_at=rfc3339(facts.slot_ms),
        due_at=rfc3339(facts.due_ms),
        started_at=_at(facts.started_ms),
        finished_at=_at(facts.finished_ms),
        state=state(facts.state),
        outcome=facts.outcome,
        failure_class=_class(facts.failure_class),
        reason=facts.reason if facts.state in _STATES else f"its row is spoilt: its state is {facts.state!r}",
        attempt=facts.attempt,
        uncounted=facts.spare,
        max_attempts=max(facts.attempt, facts.spare + columns.policies(facts.policies).retries + 1),
        replays=facts.replays,
        put_back=_put_back(facts),
        retry_of=facts.retry_of,
        error=facts.error,
        fingerprint=facts.fingerprint,
        fence=facts.fence or None,
        node=facts.node,
        lease_until=None,
        exit_code=facts.exit_code,
        signal=facts.signal,
        late=_late(facts),
        coalesced=facts.coalesced,
    )


def attempt(row: tuple[Any, ...]) -> Attempt:
    """An attempt as the API shows it."""
    facts = AttemptFacts(*row)
    return Attempt(
        run_id=facts.run_id,
        attempt=facts.attempt,
        fence=facts.fence,
        node=facts.node,
        pid=facts.pid,
        claimed_at=rfc3339(facts.claimed_ms),
        started_at=_at(facts.started_ms),
        ended_at=_at(facts.ended_ms),
        exit_code=facts.exit_code,
        signal=facts.signal,
        failure_class=_class(facts.failure_class),
        detail=facts.detail,
        cpu=None if facts.cpu_ms is None else facts.cpu_ms / 1000,
        max_rss=None if facts.max_rss_kb is None else facts.max_rss_kb * 1024,
        log_size=facts.log_size,
        log_dropped=(facts.log_dropped_to or 0) - (facts.log_dropped_from or 0),
        signals=[[rfc3339(at_ms), name] for at_ms, name in columns.listed(facts.signals)],
        left_behind=columns.listed(facts.left_behind),
    )


def held_words(facts: JobFacts) -> str | None:
    if facts.suspended_by is None:
        return None
    if facts.quarantined and facts.paused:
        return facts.held_why or QUARANTINED
    return pause_words(facts.suspended_by, facts.queue, facts.held_by, facts.held_why)


def _last_run(facts: JobFacts) -> LastRun | None:
    if facts.last_run_id is None or facts.last_state is None or facts.last_ms is None:
        return None
    return LastRun(
        id=facts.last_run_id,
        state=state(facts.last_state),
        finished_at=rfc3339(facts.last_ms),
        outcome=facts.last_outcome,
        exit_code=facts.last_exit_code,
        signal=facts.last_signal,
    )


def _put_back(facts: RunFacts) -> PutBack | None:
    if facts.put_back_ms is None or facts.put_back_by is None:
        return None
    return PutBack(at=rfc3339(facts.put_back_ms), run=facts.put_back_by)


def _late(facts: RunFacts) -> bool:
    if facts.late is not None:
        return bool(facts.late)
    after_ms = columns.policies(facts.policies).late_after_ms
    return facts.started_ms is not None and facts.started_ms - facts.due_ms > after_ms


def state(word: str) -> RunState:
    """What is in no known state will never run."""
    return _STATES.get(word, RunState.FAILED)


def _class(word: str | None) -> FailureClass | None:
    return None if word is None else _CLASSES.get(word)


def _at(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
