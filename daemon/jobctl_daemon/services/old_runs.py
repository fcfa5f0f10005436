"""Finished runs that are over their time, or too many of their job: their logs go, then their rows."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from jobctl_daemon.execution.log_folders import remove_logs
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Expired, Keep
from jobctl_daemon.services.duty import Aside, Step
from jobctl_daemon.store import Store

_DAY_MS: Final = 86_400_000
#: Jobs of which is remembered that they had news; with more of them all jobs are looked at.
_NEWS_MAX: Final = 100_000
#: Jobs looked at in one step.
_JOBS: Final = 200


class OldRuns:
    """A job is looked at when a run of it has finished since the last time; all of them after a start and when the
    settings have changed. Nothing of that needs to be written down."""

    def __init__(
        self,
        store: Store,
        logs: LogFiles,
        keep: Callable[[], Keep],
        now_ms: Callable[[], int],
        aside: Aside,
    ) -> None:
        self._store = store
        self._logs = logs
        self._keep = keep
        self._now_ms = now_ms
        self._aside = aside
        self._news: dict[int, None] = {}
        self._job_after: int | None = 0
        self._run_after: int | None = 0
        self._jobs: deque[int] = deque()

    def all_jobs(self) -> None:
        """Every job may have too many."""
        self._job_after = 0

    def finished(self, job_ids: Sequence[int]) -> None:
        """Runs of these jobs have finished."""
        if self._job_after == 0:  # the walk through all jobs comes by them
            return
        self._news.update(dict.fromkeys(job_ids))
        if len(self._news) > _NEWS_MAX:
            self._news.clear()
            self.all_jobs()

    def begin(self) -> None:
        self._run_after = 0

    async def step(self, limit: int) -> Step:
        if self._run_after is not None:
            before_ms = self._now_ms() - self._keep().days * _DAY_MS
            old = await self._store.aged(before_ms, self._run_after, limit)
            did = await self._forget(old)
            self._run_after = old.after
            return Step(did, more=True)
        if not self._jobs and not await self._next_jobs():
            return Step(0, more=False)
        wanted = list(self._jobs)[:_JOBS]
        surplus = await self._store.surplus(wanted, self._keep().runs, limit)
        did = await self._forget(surplus)
        while self._jobs and self._jobs[0] in wanted and self._jobs[0] != surplus.after:
            self._jobs.popleft()
        return Step(did, more=True)

    async def _next_jobs(self) -> bool:
        if self._job_after is not None:
            self._jobs.extend(await self._store.jobs_with_history(self._job_after, _JOBS))
            self._job_after = self._jobs[-1] if len(self._jobs) == _JOBS else None
        if not self._jobs:
            self._jobs.extend(self._news)
            self._news.clear()
        return bool(self._jobs)

    async def _forget(self, expired: Expired) -> int:
        """The rows last: when something stops in between, they say next time what is to go."""
        if expired.logs:
            await self._aside(remove_logs, self._logs, expired.logs)
        return await self._store.forget(expired.runs) if expired.runs else 0
