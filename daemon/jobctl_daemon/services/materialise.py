"""The due scan: cursors whose instant has come become runs, or rows that say why not."""

from collections.abc import Callable

import structlog

from jobctl.clock import Clock
from jobctl_daemon.decide import due
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import DueJob, Expansion
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.services import resuming
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: Cursors read and expanded in one transaction: few enough that the first of a burst start while the rest is read.
BATCH = 100


class Materialise:
    """Woken by its alarm at the next instant, and by every change of what is due."""

    name = "materialise"
    pace_ms = 0

    def __init__(self, store: Store, clock: Clock, epoch: int, on_due: Callable[[], None]) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._epoch = epoch
        self._on_due = on_due

    async def run_once(self) -> Pass:
        now_ms = self._clock.now_ms()
        await resuming.settle(self._store, now_ms)
        jobs = await self._store.due(now_ms, None, BATCH)
        if jobs:
            expansions = [expansion for job in jobs if (expansion := await self._expanded(job, now_ms))]
            await self._store.expand(expansions, now_ms, self._epoch)
        self._on_due()
        if len(jobs) == BATCH:
            return Pass(did=len(jobs), again=True)
        return Pass(did=len(jobs), next_ms=await self._store.next_wake(now_ms))

    async def _expanded(self, job: DueJob, now_ms: int) -> Expansion | None:
        try:
            return due.expand(job, schedule_of(job.schedule), now_ms)
        except Exception as error:  # noqa: BLE001 - one schedule that breaks must not stop the others
            structlog.get_logger().exception("job.parked", job_id=job.job_id)
            await self._store.park(job.job_id, job.revision, f"{type(error).__name__}: {error}", now_ms)
            return None
