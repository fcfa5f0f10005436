"""What logs take on disk stays inside the budget, also while commands write: the oldest finished logs go, of those
owners who have more than their share. So nobody can remove what others' commands have printed by printing much himself.

What running attempts have written is measured on disk; what finished ones left is summed up from their rows, in whole
blocks. All of it is summed up now and then; in between only what is newer than every log that was counted.
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl_daemon.decide.shares import beyond
from jobctl_daemon.execution.log_folders import bytes_of, remove_logs
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Keep
from jobctl_daemon.services.duty import Aside, Step
from jobctl_daemon.store import Store

_PAGE: Final = 10_000
_RECOUNT_MS: Final = 600_000
_START: Final = (0, 0)
Log = tuple[int, int]


class LogBudget:
    """`writing` are the (run id, fence) of attempts that run: their logs count, but are never removed."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        logs: LogFiles,
        keep: Callable[[], Keep],
        writing: Callable[[], Collection[Log]],
        aside: Aside,
    ) -> None:
        self._store = store
        self._clock = clock
        self._logs = logs
        self._keep = keep
        self._writing = writing
        self._aside = aside
        self._counted: tuple[Log, int] | None = None
        """The logs up to a (run id, fence), and their bytes."""
        self._counted_ms = 0
        self._over: dict[int, int] | None = None
        """By how many bytes owners are over their share; None: not known yet."""
        self._after = _START
        self._dropped = 0

    def begin(self) -> None:
        self._over = None
        self._after = _START

    async def step(self, limit: int) -> Step:
        if self._over is None:
            within = await self._bytes() <= self._keep().log_bytes
            self._over = {} if within else beyond(await self._by_owner(), self._keep().log_bytes)
            return Step(0, more=bool(self._over))
        page = await self._store.finished_logs(limit, self._after)
        gone: list[Log] = []
        for run_id, fence, size, owner_id in page:
            if not self._over:
                break
            self._after = (run_id, fence)
            if owner_id in self._over:
                gone.append((run_id, fence))
                self._over[owner_id] -= size
                if self._over[owner_id] <= 0:
                    del self._over[owner_id]
        if gone:
            await self._aside(remove_logs, self._logs, gone)
            await self._store.logs_dropped(gone)
            self._dropped += len(gone)
            self._counted = None
        more = bool(self._over) and len(page) == limit
        if not more and self._dropped:
            structlog.get_logger().info("logs.dropped", count=self._dropped, budget=self._keep().log_bytes)
            self._dropped = 0
        return Step(len(gone), more=more)

    async def _by_owner(self) -> Counter[int]:
        """Bytes of all logs by the number of their owner, those that are being written included."""
        uses: Counter[int] = Counter()
        after = _START
        while page := await self._store.finished_logs(_PAGE, after):
            for run_id, fence, size, owner_id in page:
                uses[owner_id] += size
                after = (run_id, fence)
        writing = list(self._writing())
        owners = await self._store.owners_of([run_id for run_id, _ in writing])
        for owner_id in set(owners.values()):
            own = [log for log in writing if owners.get(log[0]) == owner_id]
            uses[owner_id] += int(await self._aside(bytes_of, self._logs, own))
        return uses

    async def _bytes(self) -> int:
        """Of all logs, those that are being written included."""
        writing = list(self._writing())
        now_ms = self._clock.boot_ms()
        if self._counted is None or now_ms - self._counted_ms > _RECOUNT_MS:
            self._counted_ms = now_ms
            self._counted = await self._whole_pages(min(writing, default=None))
        mark, size = self._counted
        return size + await self._newer(mark) + int(await self._aside(bytes_of, self._logs, writing))

    async def _whole_pages(self, until: Log | None) -> tuple[Log, int]:
        """The last of the logs that need not be looked at again soon, and the bytes up to it.

        Those of runs after the oldest that runs now are not among them: others of them will end meanwhile.
        """
        after, total = _START, 0
        while True:
            page = await self._store.log_bytes(after, _PAGE)
            if page.after is None or (until is not None and page.after >= until):
                return after, total
            after, total = page.after, total + page.bytes

    async def _newer(self, mark: Log) -> int:
        after: Log | None = mark
        total = 0
        while after is not None:
            page = await self._store.log_bytes(after, _PAGE)
            after, total = page.after, total + page.bytes
        return total
