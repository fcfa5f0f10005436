"""The due scan: cursors whose instant has come become runs, or rows that say why not."""

from collections.abc import Callable, Sequence

import msgspec
import structlog

from jobctl_daemon.decide import due, storm
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import DueJob, Expansion
from jobctl_daemon.schedules import stored_schedule
from jobctl_daemon.services import resuming
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.zones import Zones
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: Cursors read and expanded in one transaction: few enough that the first of a burst start while the rest is read.
BATCH = 100


class Materialise:
    """Woken by its alarm at the next instant or when the clock is set, and by every change of what is due."""

    name = "materialise"
    pace_ms = 0

    def __init__(
        self, store: Store, time: Timekeeper, epoch: int, on_due: Callable[[], None], zones: Zones | None = None
    ) -> None:
        self.wake = Wake()
        self._zones = zones
        self._store = store
        self._time = time
        self._epoch = epoch
        self._on_due = on_due
        self._caught_up = 0
        self.held: Callable[[], bool] = _never
        """Whether what is due must wait: for want of room, as if nothing ran. It follows its misfire policy then."""

    async def run_once(self) -> Pass:
        if self.held():
            return Pass()
        now_ms = await self._time.look()
        if self._zones is not None:
            await self._zones.look(now_ms)
        await resuming.settle(self._store, now_ms, self._epoch)
        jobs = await self._store.due(now_ms, None, BATCH)
        if jobs:
            await self._expand(jobs, now_ms)
        self._on_due()
        if len(jobs) == BATCH:
            return Pass(did=len(jobs), again=True)
        self._caught_up = 0
        wakes = (await self._store.next_wake(now_ms), self._time.next_ms())
        return Pass(did=len(jobs), next_ms=min((at_ms for at_ms in wakes if at_ms is not None), default=None))

    async def _expand(self, jobs: Sequence[DueJob], now_ms: int) -> None:
        covered = await self._time.covered(jobs, now_ms)
        expansions = []
        caught_up = self._caught_up
        for job in jobs:
            expansion = await self._expanded(job, now_ms, covered.get(job.job_id))
            if expansion is not None:
                runs = storm.paced(expansion.runs, caught_up, now_ms)
                caught_up += storm.catch_ups(runs)
                expansions.append(msgspec.structs.replace(expansion, runs=runs))
        await self._store.expand(expansions, now_ms, self._epoch)
        self._caught_up = caught_up

    async def _expanded(self, job: DueJob, now_ms: int, covered_ms: int | None) -> Expansion | None:
        try:
            return due.expand(job, stored_schedule(job), now_ms, self._time.gaps, covered_ms)
        except Exception as error:  # noqa: BLE001 - one schedule that breaks must not stop the others
            structlog.get_logger().exception("job.parked", job_id=job.job_id)
            await self._store.park(job.job_id, job.revision, f"{type(error).__name__}: {error}", now_ms)
            return None


def _never() -> bool:
    return False
