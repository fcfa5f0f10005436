"""The wall clock was set: a new generation, cursors that go back, and starts that keep the time they had left."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from jobctl.wire import rfc3339
from jobctl_daemon.rows import ClockState, ClockStep, DueJob, Expansion
from jobctl_daemon.store.sqlite import due, events, ledger, meta
from jobctl_daemon.store.sqlite.columns import text
from jobctl_daemon.store.sqlite.identity import identity
from jobctl_daemon.store.sqlite.statements import load

SQL = load("clock")

#: The newest step, and the step back whose cursors are not all aimed yet.
LAST: Final = "clock_step"
BACK: Final = "clock_back"

#: A run by hand that waits for up to so long was put off; one that waits for longer has a time of the wall clock.
_PUT_OFF_MS: Final = 3_600_000

#: Before every instant; the statements know it as well.
_NEVER_MS: Final = -(1 << 62)

_decode: Final = msgspec.json.Decoder(ClockStep).decode


def state(connection: sqlite3.Connection) -> ClockState:
    """What is known of the wall clock. Every change has its event, so the newest one is a sign of life."""
    notes = meta.read(connection)
    signs = [notes.get(meta.WATERMARK), *connection.execute(SQL.newest_event).fetchone()]
    seen_ms = max((int(sign) for sign in signs if sign is not None), default=None)
    return ClockState(
        seen_ms=seen_ms,
        clean=seen_ms is not None and notes.get(meta.STOPPED) == str(seen_ms),
        generation=int(notes.get(meta.GENERATION, 0)),
        last=_decode(notes[LAST]) if LAST in notes else None,
        back=_decode(notes[BACK]) if BACK in notes else None,
    )


def seen(connection: sqlite3.Connection, now_ms: int) -> None:
    """The daemon stops."""
    meta.raise_watermark(connection, now_ms)
    meta.write(connection, {meta.STOPPED: str(now_ms)})


def stepped(connection: sqlite3.Connection, step: ClockStep, epoch: int) -> int | None:
    """Writes a step down, with its event; returns the generation, None under an old epoch.

    A step back begins a new generation: fences stay above what the clock has shown, the watermark begins anew, and
    what waits for its start keeps the real time that it had left.
    """
    if not meta.holds_epoch(connection, epoch):
        return None
    notes = {LAST: text(step)}
    generation = int(meta.get(connection, meta.GENERATION) or 0)
    if step.to_ms < step.from_ms:
        generation += 1
        notes |= {meta.GENERATION: str(generation), BACK: notes[LAST]}
        meta.lower_watermark(connection, step.from_ms, step.to_ms)
        connection.execute(SQL.end_skips, (step.from_ms,))
        _keep_remaining(connection, step)
    meta.write(connection, notes)
    data = text({"from": rfc3339(step.from_ms), "to": rfc3339(step.to_ms), "generation": generation})
    events.append(connection, [(step.to_ms, "clock.stepped", events.NOBODY, None, None, data)])
    return generation


def ahead(connection: sqlite3.Connection, now_ms: int, after: int, limit: int) -> list[DueJob]:
    """Jobs whose cursor stands beyond now, by id, after an id."""
    return due.jobs(connection.execute(SQL.ahead, {"now_ms": now_ms, "after": after, "limit": limit}))


def aim(connection: sqlite3.Connection, aims: Sequence[Expansion], now_ms: int, epoch: int) -> int:
    """Places cursors, backwards as well, each under its revision; returns how many stand where they were told to."""
    if not meta.holds_epoch(connection, epoch):
        return 0
    return sum(_aim(connection, wanted, now_ms) for wanted in aims)


def aimed(connection: sqlite3.Connection) -> None:
    """All cursors are aimed after the step back."""
    meta.drop(connection, BACK)


def covered(connection: sqlite3.Connection, job_ids: Iterable[int], now_ms: int) -> dict[int, int]:
    """Job id → until when the occurrences of its present schedule have their rows, whatever the generation: up to now,
    or to where somebody asked to skip. Without such a row it counts from the moment of the schedule."""
    found = {job_id: _covered(connection, job_id, now_ms) for job_id in job_ids}
    return {job_id: until_ms for job_id, until_ms in found.items() if until_ms is not None}


def _covered(connection: sqlite3.Connection, job_id: int, now_ms: int) -> int | None:
    began_ms, generation = connection.execute(SQL.began, (job_id,)).fetchone() or (_NEVER_MS, 0)
    facts = {"job_id": job_id, "now_ms": now_ms, "began_ms": began_ms, "generation": generation}
    after_ms = began_ms if began_ms <= now_ms else _NEVER_MS
    until_ms: int | None = connection.execute(SQL.covered, {**facts, "after_ms": after_ms}).fetchone()[0]
    return until_ms


def _aim(connection: sqlite3.Connection, wanted: Expansion, now_ms: int) -> int:
    place = (wanted.next_ms, wanted.handled_ms, wanted.skip_until_ms, wanted.job_id, wanted.revision)
    if not connection.execute(SQL.aim, place).rowcount:
        return 0
    if wanted.skips:
        job = identity(connection, wanted.job_id)
        assert job is not None
        ledger.append_skips(connection, [(row, job.owner_id, job.name) for row in wanted.skips], now_ms)
    return 1


def _keep_remaining(connection: sqlite3.Connection, step: ClockStep) -> None:
    """Starts that were due stay due, retries and short delays keep what was left of them, and times of the wall clock
    stay. A window to start is kept in real time, but for the step to a time that never was: what is due must not be
    too late when the clock comes back."""
    facts = {"from_ms": step.from_ms, "by_ms": step.from_ms - step.to_ms}
    put_off = 1 << 62 if step.undoes else _PUT_OFF_MS
    connection.execute(SQL.shift_due, {**facts, "put_off_ms": put_off})
    if step.undoes or not step.correction:
        connection.execute(SQL.shift_window, facts)
