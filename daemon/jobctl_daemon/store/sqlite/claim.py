"""Ready → running: fence, attempt, event and watermark in one commit, before anything is started."""

import sqlite3
from typing import NamedTuple

from jobctl_daemon.rows import Claim
from jobctl_daemon.store.sqlite import columns, events, meta, ready
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.statements import load

SQL = load("claim")


class _Ready(NamedTuple):
    """A row of the statement `chosen`."""

    run_id: int
    fence: int
    attempt: int
    key: str
    job_id: int
    job_uid: str
    job_name: str
    version: int
    owner_uid: int
    owner_name: str
    owner_id: int
    slot_ms: int
    due_ms: int
    trigger: str
    schedule: str
    execution: str
    policies: str
    probe: int
    returns: int
    limited: int


def claim(
    connection: sqlite3.Connection,
    turns: ready.Turns,
    now_ms: int,
    limit: int,
    node: str,
    boot_id: str,
    free: int | None = None,
) -> list[Claim]:
    """Up to `limit` runs in the order of their turns. fence := max(fence + 1, now, the watermark)."""
    chosen = ready.due_now(connection, turns, now_ms, limit, free)
    if not chosen:
        return []
    found = {row[0]: _Ready._make(row) for row in connection.execute(SQL.chosen, (text(chosen),))}
    rows = [found[run_id] for run_id in chosen if run_id in found]
    if len(rows) < len(chosen):
        connection.executemany(SQL.set_aside, [(run_id,) for run_id in chosen if run_id not in found])
    floor = meta.raise_watermark(connection, now_ms)
    claims = [_claim(row, max(row.fence + 1, floor)) for row in rows]
    connection.executemany(SQL.take, [(c.fence, c.attempt, node, boot_id, now_ms, c.run_id) for c in claims])
    events.append(connection, [_change(row, c, now_ms) for row, c in zip(rows, claims, strict=True)])
    return claims


def _claim(row: _Ready, fence: int) -> Claim:
    work, rules = columns.execution(row.execution), columns.policies(row.policies)
    spoilt = work is columns.NO_EXECUTION or rules is columns.NO_POLICIES
    return Claim(
        run_id=row.run_id,
        fence=fence,
        attempt=row.attempt + 1,
        key=row.key,
        job_id=row.job_id,
        job_uid=row.job_uid,
        job_name=row.job_name,
        version=row.version,
        owner_uid=row.owner_uid,
        owner_name=row.owner_name,
        slot_ms=row.slot_ms,
        due_ms=row.due_ms,
        trigger=columns.trigger(row.trigger),
        timezone=columns.schedule(row.schedule).timezone,
        execution=work,
        policies=rules,
        unreadable=columns.unreadable(command=row.execution, policies=row.policies) if spoilt else None,
        probe=bool(row.probe),
        returns=row.returns,
        limited=bool(row.limited),
    )


def _change(row: _Ready, claim: Claim, now_ms: int) -> events.Change:
    data = text({"name": row.job_name, "fence": claim.fence, "attempt": claim.attempt})
    return (now_ms, "run.running", row.owner_id, row.job_id, row.run_id, data)
