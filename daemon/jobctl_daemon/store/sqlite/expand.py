"""From a due cursor to runs: ledger, runs, cursor and events in one transaction, each expansion under its own guard."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from jobctl_daemon.rows import Expansion, NewRun
from jobctl_daemon.store.sqlite import due, events, ledger, meta
from jobctl_daemon.store.sqlite.columns import gap, text
from jobctl_daemon.store.sqlite.isolation import isolated
from jobctl_daemon.store.sqlite.statements import load

SQL = load("expand")


class _Guard(NamedTuple):
    """A row of the statement `guards`."""

    id: int
    revision: int
    version: int
    owner_id: int
    name: str
    queue: str
    priority: int


class OfJob(Protocol):
    """What a run takes from its job."""

    @property
    def id(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def owner_id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def priority(self) -> int: ...


class Placed(NamedTuple):
    """A run to be made, with its id and what its job says. `execution` is JSON and stands for its version's."""

    run_id: int
    run: NewRun
    job_id: int
    version: int
    owner_id: int
    name: str
    queue: str
    priority: int
    by_hand: bool = False
    retry_of: int | None = None
    execution: str | None = None


def expand(connection: sqlite3.Connection, expansions: Sequence[Expansion], now_ms: int, epoch: int) -> int:
    """Returns the runs made. An expansion under an old epoch, revision or version changes nothing.

    One whose rows the database refuses is parked with the error, so that it neither blocks the others nor comes back.
    """
    if not expansions or not meta.holds_epoch(connection, epoch):
        return 0
    made = isolated(
        connection,
        expansions,
        lambda some: _expand(connection, some, now_ms),
        lambda bad, error: _park(connection, bad, error, now_ms),
    )
    return sum(made)


def make_runs(connection: sqlite3.Connection, wanted: Sequence[Placed], now_ms: int) -> list[Placed]:
    """Makes those runs whose occurrence is not covered yet, ledger first, and returns them."""
    fresh = [placed for placed in wanted if not placed.run.once_ever or not _has_run(connection, placed)]
    taken = ledger.claim_keys(connection, [_occurrence(placed, now_ms) for placed in fresh])
    made = [placed for placed in wanted if placed.run_id in taken]
    connection.executemany(SQL.insert_run, [_run(placed) for placed in made])
    events.append(connection, [_change(placed, now_ms) for placed in made])
    return made


def place(connection: sqlite3.Connection, wanted: Iterable[tuple[OfJob, NewRun]]) -> list[Placed]:
    """Runs to be made, each under a new id, with what their jobs say."""
    return [
        Placed(run_id, run, job.id, job.version, job.owner_id, job.name, job.queue, job.priority)
        for run_id, (job, run) in enumerate(wanted, next_run_id(connection))
    ]


def next_run_id(connection: sqlite3.Connection) -> int:
    """An id that no run ever had."""
    row = connection.execute(SQL.last_run_id).fetchone()
    return (row[0] if row else 0) + 1


def _expand(connection: sqlite3.Connection, expansions: Sequence[Expansion], now_ms: int) -> int:
    current = list(_current(connection, expansions))
    places = [(gap(e.next_ms), e.handled_ms, gap(e.skip_until_ms), e.job_id, e.revision) for e, _ in current]
    connection.executemany(SQL.advance, places)
    made = make_runs(connection, place(connection, ((guard, run) for e, guard in current for run in e.runs)), now_ms)
    skips = [(row, guard.owner_id, guard.name) for e, guard in current for row in e.skips]
    if skips:
        ledger.append_skips(connection, skips, now_ms)
    return len(made)


def _current(connection: sqlite3.Connection, expansions: Iterable[Expansion]) -> Iterator[tuple[Expansion, _Guard]]:
    """The expansions that nothing has overtaken; of two for one job the first."""
    ids = text([expansion.job_id for expansion in expansions])
    guards = {guard.id: guard for guard in map(_Guard._make, connection.execute(SQL.guards, (ids,)))}
    for expansion in expansions:
        guard = guards.get(expansion.job_id)
        if guard and guard.revision == expansion.revision and guard.version == expansion.version:
            del guards[expansion.job_id]
            yield expansion, guard


def _has_run(connection: sqlite3.Connection, placed: Placed) -> bool:
    """Whether the instant has run before, under another count of the clock's steps."""
    return connection.execute(SQL.ran_before, (placed.run.slot_ms, placed.job_id)).fetchone() is not None


def _park(connection: sqlite3.Connection, bad: Expansion, error: Exception, now_ms: int) -> int:
    due.park(connection, bad.job_id, bad.revision, f"its occurrences cannot be stored: {error}", now_ms)
    return 0


def _occurrence(placed: Placed, now_ms: int) -> ledger.Occurrence:
    run = placed.run
    return (placed.job_id, run.key, run.slot_ms, run.slot_ms, placed.run_id, now_ms)


def _run(placed: Placed) -> tuple[object, ...]:
    run = placed.run
    return (
        placed.run_id,
        placed.job_id,
        placed.owner_id,
        placed.version,
        run.key,
        run.slot_ms,
        run.due_ms,
        gap(run.start_by_ms),
        str(run.trigger),
        run.coalesced,
        gap(run.note),
        placed.queue,
        placed.priority + run.gives_way,
        1 if placed.by_hand else 0,
        gap(placed.retry_of),
        gap(placed.execution),
    )


def _change(placed: Placed, now_ms: int) -> events.Change:
    data = text({"name": placed.name, "key": placed.run.key})
    return (now_ms, "run.scheduled", placed.owner_id, placed.job_id, placed.run_id, data)
