"""Dead letters: finding them, grouping them, and discarding them into history."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl.filters import WORK_MAX, Search
from jobctl.model import DeadGroup, Run
from jobctl.states import FailureClass, RunState
from jobctl.wire import rfc3339
from jobctl_daemon.rows import Caller, DeadFilter
from jobctl_daemon.store.sqlite import columns, events, facts, filters, history, one_shots, owners, paging
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("dead")

#: Dead letters kept of one job.
KEPT_MAX: Final = 100
_AFTER_ALL: Final = ((1 << 62), 0)
_NAMES_SHOWN: Final = 10
#: Of a pattern by which dead letters are replayed or discarded: nothing else is written meanwhile.
_WORK_MAX: Final = WORK_MAX // 10


class Letter(NamedTuple):
    """A row of the statement `facts`."""

    id: int
    job_id: int
    owner_id: int
    key: str
    outcome: str
    failure_class: str | None
    reason: str | None
    started_ms: int | None
    exit_code: int | None
    signal: int | None
    error: str | None
    fingerprint: str
    replays: int
    name: str
    version: int
    queue: str
    priority: int
    deleted_ms: int | None


def page(connection: sqlite3.Connection, caller: Caller, wanted: DeadFilter) -> tuple[list[Run], str | None]:
    """Newest death first, and the cursor of the next page."""
    before_ms, before_id = paging.key(wanted.cursor, tuple[int, int]) if wanted.cursor else _AFTER_ALL
    place = {"before_ms": before_ms, "before_id": before_id, "limit": wanted.limit + 1}
    rows = _matching(connection, SQL.page, caller, wanted, place)
    more, rows = len(rows) > wanted.limit, rows[: wanted.limit]
    return [facts.run(row) for row in rows], _cursor(rows[-1]) if more else None


def groups(connection: sqlite3.Connection, caller: Caller, wanted: DeadFilter) -> list[DeadGroup]:
    """By what they failed of, the largest group first."""
    return [_group(row) for row in _matching(connection, SQL.groups, caller, wanted, {"limit": wanted.limit})]


def matching(connection: sqlite3.Connection, caller: Caller, wanted: DeadFilter) -> list[int]:
    """The ids that a filter means, oldest death first; at most its limit."""
    rows = _matching(connection, SQL.matching, caller, wanted, {"limit": wanted.limit}, _WORK_MAX)
    return [run_id for (run_id,) in rows]


def letters(connection: sqlite3.Connection, run_ids: Sequence[int]) -> list[Letter]:
    """Those of the runs that are dead, in this order."""
    return list(map(Letter._make, connection.execute(SQL.facts, (text(run_ids),))))


def discard(connection: sqlite3.Connection, run_ids: Sequence[int], words: str, now_ms: int) -> list[int]:
    """Moves dead letters to history for good; `words` say who did it, or why. Returns those that were dead."""
    found = letters(connection, run_ids)
    history.move(connection, [_ending(letter, words, now_ms) for letter in found])
    changes = [
        (
            now_ms,
            "run.discarded",
            letter.owner_id,
            letter.job_id,
            letter.id,
            text({"name": letter.name, "key": letter.key, "reason": words}),
        )
        for letter in found
    ]
    events.append(connection, changes)
    connection.executemany(SQL.given_up, [(letter.job_id, letter.id) for letter in found])
    one_shots.retire(connection, {letter.job_id for letter in found}, now_ms)
    return [letter.id for letter in found]


def make_room(connection: sqlite3.Connection, job_id: int, now_ms: int) -> None:
    """Discards the oldest of too many dead letters of a job."""
    surplus = [run_id for (run_id,) in connection.execute(SQL.surplus, (job_id, KEPT_MAX))]
    if surplus:
        discard(connection, surplus, f"discarded as the oldest of over {KEPT_MAX} dead letters", now_ms)


def expire(connection: sqlite3.Connection, before_ms: int, days: int, limit: int, now_ms: int) -> int:
    """Discards dead letters that are over their time; returns how many."""
    old = [run_id for (run_id,) in connection.execute(SQL.expired, (before_ms, limit))]
    return len(discard(connection, old, f"discarded after {days} days", now_ms)) if old else 0


def _matching(
    connection: sqlite3.Connection,
    statement: str,
    caller: Caller,
    wanted: DeadFilter,
    place: Mapping[str, object],
    work_max: int = WORK_MAX,
) -> list[tuple[Any, ...]]:
    asked = filters.condition(wanted.q, "dead")
    parameters = {**_parameters(connection, caller, wanted), **place, **asked.values}
    with filters.searching(connection, asked, search=Search(work_max)):
        return connection.execute(statement.format(asked=asked.sql), parameters).fetchall()


def _parameters(connection: sqlite3.Connection, caller: Caller, wanted: DeadFilter) -> dict[str, object]:
    return {
        "owner_id": owners.scope(connection, caller),
        "ids": None if wanted.ids is None else text(wanted.ids),
        "job_id": wanted.job_id,
        "failure_class": None if wanted.failure_class is None else str(wanted.failure_class),
        "fingerprint": wanted.fingerprint,
        "since_ms": wanted.since_ms,
        "until_ms": wanted.until_ms,
        "now_ms": wanted.now_ms,
    }


def _cursor(row: tuple[Any, ...]) -> str:
    last = facts.RunFacts(*row)
    return paging.cursor((last.finished_ms, last.id))


def _group(row: tuple[Any, ...]) -> DeadGroup:
    fingerprint, count, names, failure_class, reason, error, first_ms, last_ms, replays, newest = row
    return DeadGroup(
        fingerprint=fingerprint,
        count=count,
        jobs=sorted(columns.listed(names))[:_NAMES_SHOWN],
        failure_class=None if failure_class is None else FailureClass(failure_class),
        reason=reason,
        error=error,
        first_at=rfc3339(first_ms),
        last_at=rfc3339(last_ms),
        replays=replays,
        newest_run_id=newest,
    )


def _ending(letter: Letter, words: str, now_ms: int) -> history.Ending:
    return history.Ending(
        run_id=letter.id,
        state=RunState.DISCARDED,
        outcome=letter.outcome,
        failure_class=None if letter.failure_class is None else FailureClass(letter.failure_class),
        reason=f"{words}; it had failed: {letter.reason}",
        started_ms=letter.started_ms,
        finished_ms=now_ms,
        exit_code=letter.exit_code,
        signal=letter.signal,
        late=False,
        error=letter.error,
        fingerprint=letter.fingerprint,
    )
