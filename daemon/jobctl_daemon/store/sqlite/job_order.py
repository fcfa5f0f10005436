"""In which order jobs come on a screen, from narrow tables and indexes: no job is read to find its place.

What is in trouble is few: it is worked out job by job (some 6 us each). What waits for its time lies in order in the
index of cursors, the rest in order of name. So a part near the top of a list without a filter, by attention, next time
or name, costs what is in trouble and what lies above the part; any other part or order costs a walk over all jobs.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl_daemon.store.sqlite import columns, filters
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("job_windows")

#: Since when a job is late.
LATE: Final = SQL.late_since.format(late_after=filters.SQL.late_after)
#: The place of a job in the order of attention.
RANK: Final = SQL.rank.format(late_since=LATE)
_TROUBLE: Final = SQL.trouble.format(
    busy=SQL.busy, rank=RANK, urgency=SQL.urgency.format(rank=RANK, late_since=LATE), late_after=filters.SQL.late_after
)
_TIMED, _HELD, _IDLE, _DONE = 5, 6, 7, 8

Values = Mapping[str, object]


class Trouble(NamedTuple):
    """A job that comes before those that only wait for their time."""

    job_id: int
    rank: int
    timed: bool
    """It waits for its next time all the same."""


def trouble(connection: sqlite3.Connection, values: Values) -> list[Trouble]:
    """All of it that the caller sees, in the order of attention."""
    return [Trouble(*row) for row in _json(connection, _TROUBLE, values)]


def top(
    connection: sqlite3.Connection, sort: str, first: Sequence[Trouble], offset: int, limit: int
) -> list[int] | None:
    """A part of the list of all live jobs, if it lies where no walk over all of them is needed to find it. `first` is
    what is in trouble, where that comes first."""
    if sort == "name":
        return _ids(connection, SQL.by_name, {"limit": limit, "offset": offset})
    timed: int = connection.execute(SQL.timed).fetchone()[0] - sum(each.timed for each in first)
    if sort not in ("attention", "next") or offset + limit > len(first) + timed:
        return None
    ids = [each.job_id for each in first[offset : offset + limit]]
    place = {"offset": max(0, offset - len(first)), "limit": limit - len(ids)}
    return ids + _ids(connection, SQL.by_next, {**place, "but": text([each.job_id for each in first])})


def place(connection: sqlite3.Connection, sort: str, first: Sequence[Trouble], job_id: int) -> int | None:
    """Where a job is in the list of all live jobs, if a count of what lies above it in an index says so."""
    if sort == "name":
        return _count(connection, SQL.place_by_name, {"job_id": job_id})
    if sort not in ("attention", "next"):
        return None
    in_trouble = [each.job_id for each in first]
    if job_id in in_trouble:
        return in_trouble.index(job_id)
    before = _count(connection, SQL.place, {"job_id": job_id, "but": text(in_trouble)})
    return None if before is None else len(in_trouble) + before


def ordered(
    connection: sqlite3.Connection, jobs: Sequence[int], sort: str, values: Values, *, reverse: bool
) -> list[int]:
    """Jobs that are given in order of name, in the order that is asked for. What has no value comes last either way."""
    if sort == "name":
        return list(reversed(jobs)) if reverse else list(jobs)
    members = set(jobs)
    if sort in _BY_VALUE:
        with_value = [job_id for job_id in _json(connection, _BY_VALUE[sort], values) if job_id in members]
        rest = members.difference(with_value)
        return [*(reversed(with_value) if reverse else with_value), *(job_id for job_id in jobs if job_id in rest)]
    found = _attention(connection, jobs, members, values) if sort == "attention" else _state(connection, jobs, values)
    return found[::-1] if reverse else found


_BY_VALUE: Final = {"next": SQL.all_by_next, "last": SQL.all_by_last, "duration": SQL.all_by_duration}


def _attention(connection: sqlite3.Connection, jobs: Sequence[int], members: set[int], values: Values) -> list[int]:
    first = [each.job_id for each in trouble(connection, values) if each.job_id in members]
    left = members.difference(first)
    timed = [job_id for job_id in _json(connection, SQL.all_by_next, values) if job_id in left]
    left.difference_update(timed)
    rest = [job_id for job_id in jobs if job_id in left]
    return [*first, *timed, *_by_rank(rest, _ranks(connection, values))]


def _state(connection: sqlite3.Connection, jobs: Sequence[int], values: Values) -> list[int]:
    ranks = dict.fromkeys(_json(connection, SQL.all_by_next, values), _TIMED)
    return _by_rank(
        jobs, ranks | _ranks(connection, values) | {each.job_id: each.rank for each in trouble(connection, values)}
    )


def _ranks(connection: sqlite3.Connection, values: Values) -> dict[int, int]:
    """Of jobs that wait for no time: those that are done, and those that are held."""
    done = dict.fromkeys(_json(connection, SQL.done, values), _DONE)
    return done | dict.fromkeys(_json(connection, SQL.held, values), _HELD)


def _by_rank(jobs: Iterable[int], ranks: Mapping[int, int]) -> list[int]:
    return sorted(jobs, key=lambda job_id: ranks.get(job_id, _IDLE))


def _json(connection: sqlite3.Connection, statement: str, values: Values) -> list[Any]:
    """What a statement answers as one JSON text: a row for each id would hand the interpreter's lock over each time."""
    return columns.listed(connection.execute(statement, values).fetchone()[0])


def _count(connection: sqlite3.Connection, statement: str, values: Values) -> int | None:
    row = connection.execute(statement, values).fetchone()
    return None if row is None else int(row[0])


def _ids(connection: sqlite3.Connection, statement: str, values: Values) -> list[int]:
    return [job_id for (job_id,) in connection.execute(statement, values)]
