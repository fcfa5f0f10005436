"""Rows over their time, of every kind but finished runs; too long a ledger of one job; rows that are spoilt."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final

from jobctl_daemon.rows import Keep
from jobctl_daemon.services.duty import Step
from jobctl_daemon.store import Store

#: Rows of one job's ledger: a job each minute reaches as many in 400 days, after which rows are over their time.
LEDGER_MAX: Final = 600_000
#: Finished runs of a job after which the length of its ledger is looked at.
_LEDGER_EVERY: Final = 1_000
#: Jobs of which the finished runs are counted; then counting begins anew. A busy job is soon there again.
_COUNTED_MAX: Final = 50_000


class OldRows:
    """Events, request keys, the ledger, replays, dead letters."""

    def __init__(self, store: Store, keep: Callable[[], Keep], now_ms: Callable[[], int]) -> None:
        self._store = store
        self._keep = keep
        self._now_ms = now_ms
        self._finished: Counter[int] = Counter()
        self._busy: deque[int] = deque()
        self._expired = False
        self._spoilt = False

    def finished(self, job_ids: Sequence[int]) -> None:
        """Runs of these jobs have finished."""
        self._finished.update(job_ids)

    def begin(self) -> None:
        self._expired = self._spoilt = True
        busy = [job_id for job_id, count in self._finished.items() if count >= _LEDGER_EVERY]
        for job_id in busy:
            del self._finished[job_id]
        if len(self._finished) > _COUNTED_MAX:
            self._finished.clear()
        self._busy.extend(busy)

    async def step(self, limit: int) -> Step:
        if self._spoilt:
            await self._store.mend(self._now_ms())
            self._spoilt = False
        elif self._expired:
            self._expired = await self._store.prune(self._now_ms(), limit, self._keep())
        elif self._busy and not await self._store.prune_ledger(self._busy[0], self._ledger_kept(), limit):
            self._busy.popleft()
        return Step(0, more=self._expired or bool(self._busy))

    def _ledger_kept(self) -> int:
        """At least the rows of the runs that are kept."""
        return max(LEDGER_MAX, 2 * self._keep().runs)
