"""New zone data: every cursor is aimed again, so that what is stored equals a fresh calculation."""

import structlog

from jobctl import schedule
from jobctl.errors import InvalidInput
from jobctl_daemon.rows import DueJob, Expansion
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.store import Store

_BATCH = 500
_FOR_EVER_MS = 1 << 62


async def follow_zone_data(store: Store, now_ms: int, epoch: int, version: str) -> int:
    """Re-aims all cursors when the zone data is not that of the last start; returns how many moved.

    What has its row is not touched: a cursor is computed from where it was handled, so no slot is lost or repeated.
    """
    known = (await store.meta()).get("tzdata")
    if known == version:
        return 0
    moved = await _aim_all(store, now_ms, epoch) if known is not None else 0
    await store.set_meta({"tzdata": version})
    if moved:
        structlog.get_logger().info("zones.changed", before=known, now=version, moved=moved)
    return moved


async def _aim_all(store: Store, now_ms: int, epoch: int) -> int:
    schedule.forget_zones()
    schedule_of.cache_clear()
    after: tuple[int, int] | None = None
    moved = 0
    while jobs := await store.due(_FOR_EVER_MS, after, _BATCH):
        # The place is taken before anything moves: a cursor that moves on is met again and then stands right.
        after = (jobs[-1].next_ms or 0, jobs[-1].job_id)
        changes = [change for job in jobs if (change := _aimed(job))]
        if changes:
            await store.expand(changes, now_ms, epoch)
            moved += len(changes)
    return moved


def _aimed(job: DueJob) -> Expansion | None:
    if job.schedule.at_ms is not None:  # an instant is the same in every zone, and may lie before what is handled
        return None
    try:
        fire = schedule_of(job.schedule).next_after(job.handled_ms)
    except InvalidInput:  # a zone that is gone: the due scan parks the job, with the reason
        return None
    next_ms = fire.at_ms if fire else None
    if next_ms == job.next_ms:
        return None
    return Expansion(
        job_id=job.job_id,
        version=job.version,
        revision=job.revision,
        runs=(),
        skips=(),
        next_ms=next_ms,
        handled_ms=job.handled_ms,
    )
