"""New zone data: every cursor is aimed again, so that what is stored equals a fresh calculation."""

from collections.abc import Callable

import structlog

from jobctl import schedule
from jobctl.clock import Clock
from jobctl.errors import InvalidInput
from jobctl_daemon.rows import DueJob, Expansion
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.store import Store

_BATCH = 500
_FOR_EVER_MS = 1 << 62
#: So long something due does not make it look again: the files are some hundreds.
_EVERY_MS = 3_600_000
#: Rounds until nothing moves any more: an edit that was decided by the old data may have been on its way.
_ROUNDS = 3


class Zones:
    """Looks for new zone data at the start, when it is asked, and once an hour while something becomes due."""

    def __init__(self, store: Store, clock: Clock, epoch: int, on_release: Callable[[str], None]) -> None:
        self._store = store
        self._clock = clock
        self._epoch = epoch
        self._on_release = on_release
        self._looked_ms: int | None = None

    def ask(self) -> None:
        """The next look is a look."""
        self._looked_ms = None

    async def look(self, now_ms: int) -> None:
        """What is stored is right by the zone data of the host; called where cursors are read and written in turn."""
        boot_ms = self._clock.boot_ms()
        if self._looked_ms is not None and boot_ms - self._looked_ms < _EVERY_MS:
            return
        self._looked_ms = boot_ms
        self._on_release(schedule.tzdata_version())
        await follow_zone_data(self._store, now_ms, self._epoch, schedule.tzdata_mark())


async def follow_zone_data(store: Store, now_ms: int, epoch: int, mark: str) -> int:
    """Re-aims all cursors when the zone data is not that of the last look; returns how many moved.

    What has its row is not touched: a cursor is computed from where it was handled, so no slot is lost or repeated.
    """
    known = (await store.meta()).get("tzdata")
    if known == mark:
        return 0
    moved = 0
    if known is not None:
        # No data has this mark: what is broken off here is done again, also when the data is then the old one.
        await store.set_meta({"tzdata": f"{mark}, not yet followed"})
        schedule.forget_zones()
        schedule_of.cache_clear()
        for _ in range(_ROUNDS):
            in_this_round = await _aim_all(store, now_ms, epoch)
            moved += in_this_round
            if not in_this_round:
                break
    await store.set_meta({"tzdata": mark})
    if moved:
        structlog.get_logger().info("zones.changed", before=known, now=mark, moved=moved)
    return moved


async def _aim_all(store: Store, now_ms: int, epoch: int) -> int:
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
