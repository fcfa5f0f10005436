"""Messages to people: the events they are made of, and the runs that deliver them."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from jobctl.model import Event, Execution, JobSpec, Policies, ScheduleSpec
from jobctl.states import OnFailure, Overlap, Trigger
from jobctl.wire import rfc3339
from jobctl_daemon.rows import Caller, NewRun, Notice
from jobctl_daemon.store.sqlite import events, expand, jobs, mails, meta, owners
from jobctl_daemon.store.sqlite.columns import data, text
from jobctl_daemon.store.sqlite.identity import Identity, identity
from jobctl_daemon.store.sqlite.isolation import isolated
from jobctl_daemon.store.sqlite.statements import load

SQL = load("tell")

#: The source of the hidden jobs whose runs are deliveries, and their queue: no other queue's limit or pause is theirs.
SOURCE: Final = "notice"
QUEUE: Final = "notices"
_MAIL: Final = "mail"
#: Behind everything that a user may ask for.
_LAST: Final = 10

#: Four attempts within some eight minutes: a receiver may be away for as long as it takes to start it again.
_POLICIES: Final = Policies(
    timeout_ms=60_000,
    overlap=Overlap.ALLOW,
    retries=3,
    lost_retries=3,
    backoff_ms=60_000,
    on_failure=OnFailure.RECORD,
    log_max=100_000,
)
#: Each run has its own; this one is never run.
_EMPTY: Final = Execution(shell="echo 'each of its runs carries a message of its own' >&2; exit 64")


def notices(connection: sqlite3.Connection, after: int, limit: int) -> list[Event]:
    """Events after a number, oldest first."""
    rows = connection.execute(SQL.notices, {"after": after, "limit": limit, "source": SOURCE})
    return [
        Event(id=number, at=rfc3339(at_ms), kind=kind, job_id=job_id, run_id=run_id, data=data(facts))
        for number, at_ms, kind, job_id, run_id, facts in rows
    ]


def tell(connection: sqlite3.Connection, wanted: Sequence[Notice], notes: Mapping[str, str | None], now_ms: int) -> int:
    """A run for each notice, and the notes (None: removed). One that cannot be stored harms no other."""
    made = isolated(connection, wanted, lambda some: _deliver(connection, some, now_ms), lambda _bad, _error: 0)
    meta.write(connection, {key: value for key, value in notes.items() if value is not None})
    connection.executemany(SQL.forget, [(key,) for key, value in notes.items() if value is None])
    return sum(made)


def _deliver(connection: sqlite3.Connection, wanted: Sequence[Notice], now_ms: int) -> int:
    found = [(notice, _carrier(connection, notice, now_ms)) for notice in wanted]
    carried = [(notice, carrier) for notice, carrier in found if carrier]
    runs = expand.place(connection, ((carrier, _run(notice, now_ms)) for notice, carrier in carried))
    placed = [run._replace(execution=text(notice.execution)) for run, (notice, _) in zip(runs, carried, strict=True)]
    made = expand.make_runs(connection, placed, now_ms)
    mailing = {carrier.id for notice, carrier in carried if notice.mail}
    if mailing:
        mails.bound(connection, mailing, now_ms)
    held = {carrier.id for _, carrier in found if carrier and carrier.suspended}
    _hold(connection, [run for run in made if run.job_id in held], now_ms)
    return len(made)


def _run(notice: Notice, now_ms: int) -> NewRun:
    return NewRun(key=notice.key, slot_ms=now_ms, due_ms=now_ms, start_by_ms=None, trigger=Trigger.NOTICE)


def _hold(connection: sqlite3.Connection, runs: Sequence[expand.Placed], now_ms: int) -> None:
    connection.executemany(SQL.hold, [(run.run_id,) for run in runs])
    changes = [
        (now_ms, "run.held", run.owner_id, run.job_id, run.run_id, text({"name": run.name, "reason": "paused"}))
        for run in runs
    ]
    events.append(connection, changes)


def _carrier(connection: sqlite3.Connection, notice: Notice, now_ms: int) -> Identity | None:
    """The hidden job of the owner that carries messages of this name; None when the job they are about is gone.

    Its uid is made of the owner and the name, so that it is found again by an index.
    """
    row = connection.execute(SQL.owner_of, (notice.job_id,)).fetchone()
    if row is None:
        return None
    owner = Caller(uid=row[0], name=row[1])
    source = _MAIL if notice.mail else SOURCE
    uid = hashlib.sha256(f"{source}\0{owner.uid}\0{owner.name}\0{notice.name}".encode()).hexdigest()[:16]
    known = connection.execute(SQL.carrier, (uid,)).fetchone()
    if known is None:
        job_id = jobs.add(connection, owner, owners.known(connection, owner), _job(notice), None, now_ms, uid)
    else:
        job_id, deleted_ms = known
        if deleted_ms is not None:
            connection.execute(SQL.revive, (job_id,))
    return identity(connection, job_id)


def _job(notice: Notice) -> JobSpec:
    return JobSpec(
        name=notice.name,
        schedule=ScheduleSpec(timezone="UTC"),
        execution=_EMPTY,
        policies=_POLICIES,
        queue=mails.QUEUE if notice.mail else QUEUE,
        priority=_LAST if notice.mail else 0,
        source=_MAIL if notice.mail else SOURCE,
        hidden=True,
    )
