"""The ledger of occurrences: one run for each key, and a row for everything that did not run."""

import sqlite3
from collections.abc import Iterable, Sequence

from jobctl.states import SkipReason
from jobctl_daemon.rows import Amendment, LedgerRow
from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("ledger")

#: job id, key, slot, slot, run id, now
Occurrence = tuple[int, str, int, int, int, int]


def claim_keys(connection: sqlite3.Connection, rows: Sequence[Occurrence]) -> set[int]:
    """Writes a row for each run to be made; returns the run ids whose key was still free."""
    if connection.executemany(SQL.put_run, rows).rowcount == len(rows):
        return {row[4] for row in rows}
    return {row[4] for row in rows if _run_of(connection, row) == row[4]}


def append_skips(connection: sqlite3.Connection, skips: Iterable[tuple[LedgerRow, int, str]], now_ms: int) -> None:
    """(row, owner id, job name): occurrences without a run. What is covered already is left as it is."""
    changes: list[events.Change] = []
    for row, owner_id, name in skips:
        if connection.execute(SQL.put_skip, _columns(row)).rowcount:
            facts = {"name": name, "key": row.key, "reason": row.reason, "count": row.count, "detail": row.detail}
            changes.append((now_ms, "occurrence.skipped", owner_id, row.job_id, row.run_id, text(facts)))
    events.append(connection, changes)


def amend(connection: sqlite3.Connection, job_id: int, amended: Iterable[Amendment]) -> None:
    """Shortens rows of what was asked to be left out; a row of nothing goes."""
    for change in amended:
        facts = {"job_id": job_id, "from_ms": change.from_ms, "key": change.key}
        if change.count:
            connection.execute(SQL.shorten, {**facts, "to_ms": change.to_ms, "count": change.count})
        else:
            connection.execute(SQL.retract, facts)


def left_out(connection: sqlite3.Connection, job_id: int, now_ms: int) -> list[LedgerRow]:
    """The rows of what was asked to be left out that reach beyond now, oldest first."""
    return [_row(row) for row in connection.execute(SQL.left_out, {"job_id": job_id, "now_ms": now_ms})]


def note(
    connection: sqlite3.Connection, reasons: Sequence[tuple[SkipReason | None, str | None, int, int, str]]
) -> None:
    """(reason, detail, slot, job id, key): why these runs never started."""
    connection.executemany(SQL.note, reasons)


def span(connection: sqlite3.Connection, job_id: int, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
    """The rows that touch [from, to], oldest first."""
    found = connection.execute(SQL.span, {"job_id": job_id, "from_ms": from_ms, "to_ms": to_ms, "limit": limit})
    return [_row(row) for row in found]


def _run_of(connection: sqlite3.Connection, row: Occurrence) -> int | None:
    job_id, key, slot_ms = row[:3]
    found = connection.execute(SQL.run_of, (slot_ms, job_id, key)).fetchone()
    return found[0] if found else None


def _columns(row: LedgerRow) -> tuple[object, ...]:
    return (
        row.job_id,
        row.key,
        row.from_ms,
        row.to_ms,
        row.count,
        row.run_id,
        row.reason,
        row.detail,
        row.at_ms,
    )


def _row(row: tuple[int, str, int, int, int, int | None, str | None, str | None, int]) -> LedgerRow:
    job_id, key, from_ms, to_ms, count, run_id, reason, detail, at_ms = row
    return LedgerRow(
        job_id=job_id,
        key=key,
        from_ms=from_ms,
        to_ms=to_ms,
        count=count,
        run_id=run_id,
        reason=None if reason is None else SkipReason(reason),
        detail=detail,
        at_ms=at_ms,
    )
