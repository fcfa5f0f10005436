"""Finished ad-hoc runs beyond the newest so many: each has a job of its own, so no job ever has too many of them."""

from collections.abc import Callable
from typing import Final

from jobctl_daemon.execution.log_folders import remove_logs
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Keep
from jobctl_daemon.services.duty import Aside, Step
from jobctl_daemon.store import Store

#: Jobs looked at in one step.
_PAGE: Final = 2_000
_NEWEST: Final = 1 << 62
#: Finished runs after which it is worth while to count.
_EVERY: Final = 5_000


class OldAdhoc:
    """Counts back from the newest job, then goes forward from where it was to the last that is kept."""

    def __init__(self, store: Store, logs: LogFiles, keep: Callable[[], Keep], aside: Aside) -> None:
        self._store = store
        self._logs = logs
        self._keep = keep
        self._aside = aside
        self._finished = _EVERY
        self._kept = 0
        self._before: int | None = None
        """Where counting back goes on; None: it does not."""
        self._gone = 0
        """Up to this job all have gone."""
        self._until = 0
        """Up to this job they go."""

    def look(self) -> None:
        """It may be worth while before many have finished."""
        self._finished = _EVERY

    def finished(self, count: int) -> None:
        self._finished += count

    def begin(self) -> None:
        if self._finished >= _EVERY and self._before is None:
            self._finished = 0
            self._kept = 0
            self._before = _NEWEST

    async def step(self, limit: int) -> Step:
        if self._before is not None:
            page = await self._store.adhoc_before(self._before, self._keep().adhoc - self._kept, _PAGE)
            self._kept += page.ended
            if self._kept >= self._keep().adhoc:
                self._until, self._before = page.lowest - 1, None
            else:
                self._before = page.lowest if page.more and page.lowest > self._gone else None
        elif self._gone < self._until:
            old = await self._store.adhoc_runs(self._gone, self._until, limit)
            if old.logs:
                await self._aside(remove_logs, self._logs, old.logs)
            did = await self._store.forget(old.runs) if old.runs else 0
            self._gone = self._until if old.after is None else old.after
            return Step(did, more=self._gone < self._until)
        return Step(0, more=self._before is not None or self._gone < self._until)
