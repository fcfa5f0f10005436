"""Retention: expired rows and logs go. It rides on finished runs, so an idle daemon does nothing."""

from collections.abc import Callable

import structlog

from jobctl.clock import Clock
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Keep
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: Finished runs after which it is time to look, and how long at most between looks while runs finish.
_EVERY_RUNS = 1_000
_EVERY_MS = 600_000
#: Rows of each kind deleted in one transaction.
_BATCH = 500


class Retain:
    """Woken by `finished`. `age_ms` is the wall time by which things are old: a clock that leaps makes nothing so."""

    name = "retain"
    pace_ms = 0

    def __init__(
        self, store: Store, clock: Clock, logs: LogFiles, keep: Keep, age_ms: Callable[[], int] | None = None
    ) -> None:
        self.wake = Wake()
        self.keep = keep
        self._age_ms = age_ms or clock.now_ms
        self._store = store
        self._clock = clock
        self._logs = logs
        self._finished = 0
        self._looked_ms = clock.boot_ms()

    def finished(self, count: int) -> None:
        """So many runs have finished."""
        self._finished += count
        due = self._clock.boot_ms() - self._looked_ms > _EVERY_MS
        if self._finished >= _EVERY_RUNS or (self._finished and due):
            self.wake.set()

    async def run_once(self) -> Pass:
        if not self._finished:
            return Pass()
        pruned = await self._store.prune(self._age_ms(), _BATCH, self.keep)
        for run_id, fence in pruned.logs:
            self._logs.remove(run_id, fence)
        if pruned.more:
            return Pass(did=len(pruned.logs), again=True)
        dropped = await self._fit_logs()
        self._finished = 0
        self._looked_ms = self._clock.boot_ms()
        return Pass(did=len(pruned.logs) + dropped)

    async def _fit_logs(self) -> int:
        """Removes the oldest logs until all of them fit the budget; returns how many went."""
        over = await self._store.log_bytes() - self.keep.log_bytes
        after = dropped = 0
        while over > 0:
            page = await self._store.finished_logs(_BATCH, after)
            if not page:
                break
            gone = []
            for run_id, fence, size in page:
                after = run_id
                if over <= 0:
                    break
                self._logs.remove(run_id, fence)
                gone.append((run_id, fence))
                over -= size
            await self._store.logs_dropped(gone)
            dropped += len(gone)
        if dropped:
            structlog.get_logger().info("logs.dropped", count=dropped, budget=self.keep.log_bytes)
        return dropped
