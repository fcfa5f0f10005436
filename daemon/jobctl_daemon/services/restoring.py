"""A copy is made fit to take the place of the database: its past stays past, and nothing is given out twice."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import structlog

from jobctl.errors import InvalidInput
from jobctl.states import SkipReason
from jobctl.wire import rfc3339
from jobctl_daemon.decide import restored
from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.decide.restored import Fate
from jobctl_daemon.decide.retry import settle
from jobctl_daemon.decide.storm import catch_ups
from jobctl_daemon.decide.told import TOLD
from jobctl_daemon.decide.unsent import MAILED
from jobctl_daemon.rows import Admission, DueJob, HeldAttempt, Life, Resumption, Unfinished
from jobctl_daemon.schedules import stored_schedule
from jobctl_daemon.store import Store

BATCH: Final = 500


async def settle_past(
    store: Store,
    lives: Sequence[Life],
    held: Sequence[HeldAttempt],
    node: str,
    taken_ms: int,
    now_ms: int,
    *,
    catch_up: bool,
) -> dict[str, object]:
    """All of it; the store is a copy that nobody else has opened. `taken_ms` is when the newest in it was written."""
    await store.outlive(lives, (TOLD, MAILED))
    taken = await store.take_over(held, node, now_ms)
    ours = frozenset((*taken.known, *taken.taken))
    reason = restored.words(taken_ms, now_ms)
    lost = await _lose(store, ours, reason, now_ms, catch_up=catch_up)
    buried, skipped, dropped = await _end(store, ours, reason, now_ms, catch_up=catch_up)
    moved, unknown = await _move(store, taken_ms, now_ms, catch_up=catch_up)
    facts: dict[str, object] = {
        "at": rfc3339(now_ms),
        "at_ms": now_ms,
        "copy_of": rfc3339(taken_ms),
        "catch_up": catch_up,
        "jobs_moved": moved,
        "occurrences_unknown": unknown,
        "lost": lost,
        "buried": buried,
        "skipped": skipped,
        "cancelled": dropped,
        "taken_over": list(taken.taken),
        "left_alone": list(taken.unknown),
    }
    await store.note_restored(facts, now_ms)
    return facts


async def _lose(store: Store, held: frozenset[str], reason: str, now_ms: int, *, catch_up: bool) -> int:
    runs = [run async for run in _runs(store) if _fate(run, held, now_ms, catch_up) is Fate.LOST]
    for at in range(0, len(runs), BATCH):
        some = {run.run_id: run for run in runs[at : at + BATCH]}
        ends = []
        for effort in await store.efforts(list(some)):
            run = some[effort.run_id]
            if catch_up:  # its job's rule for lost attempts
                result = Result(run.run_id, run.fence, now_ms, cause="lost", detail=reason)
                ends.append(settle(result, effort, b"", now_ms))
            else:
                ends.append(restored.lost(run, effort, reason, now_ms))
        await store.finish(ends, now_ms)
    return len(runs)


async def _end(store: Store, held: frozenset[str], reason: str, now_ms: int, *, catch_up: bool) -> tuple[int, int, int]:
    """An end may set others free that are past as well: until there is none left."""
    buried = skipped = dropped = 0
    while True:
        fates = [(run.run_id, _fate(run, held, now_ms, catch_up)) async for run in _runs(store)]
        dead = [run_id for run_id, found in fates if found is Fate.BURIED]
        gone = [run_id for run_id, found in fates if found is Fate.SKIPPED]
        left = [run_id for run_id, found in fates if found is Fate.DROPPED]
        if not dead and not gone and not left:
            return buried, skipped, dropped
        for at in range(0, len(dead), BATCH):
            buried += await store.bury(dead[at : at + BATCH], reason, now_ms)
        for at in range(0, len(left), BATCH):
            dropped += await store.drop(left[at : at + BATCH], reason, now_ms)
        for at in range(0, len(gone), BATCH):
            answers = [Admission(run_id, SkipReason.RESTORED, reason) for run_id in gone[at : at + BATCH]]
            skipped += (await store.admit(answers, now_ms)).moved


def _fate(run: Unfinished, held: frozenset[str], now_ms: int, catch_up: bool) -> Fate:
    return restored.fate(run, held, now_ms, catch_up=catch_up)


async def _runs(store: Store) -> AsyncIterator[Unfinished]:
    after = 0
    while page := await store.unfinished(after, BATCH):
        for run in page:
            yield run
        after = page[-1].run_id


async def _move(store: Store, taken_ms: int, now_ms: int, *, catch_up: bool) -> tuple[int, int]:
    """Returns how many jobs had something past, and how many occurrences that was."""
    after = moved = unknown = caught_up = 0
    while jobs := await store.cursors(after, BATCH):
        after = jobs[-1].job_id
        moves: list[Resumption] = []
        for job in jobs:
            found = _moved(job, taken_ms, now_ms, catch_up, caught_up)
            if found is not None:
                caught_up += catch_ups(found.runs)
                moves.append(found)
        await store.move(moves, now_ms)
        moved += sum(bool(move.rows or move.runs) for move in moves)
        unknown += sum(row.count for move in moves for row in move.rows)
    return moved, unknown


def _moved(job: DueJob, taken_ms: int, now_ms: int, catch_up: bool, caught_up: int) -> Resumption | None:
    try:
        schedule = stored_schedule(job)
    except InvalidInput as error:  # a zone that this host does not know: the daemon parks it, with the reason
        structlog.get_logger().warning("job.not_moved", job_id=job.job_id, error=error.message)
        return None
    return restored.move(job, schedule, taken_ms, now_ms, catch_up=catch_up, caught_up=caught_up)
