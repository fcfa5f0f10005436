"""Logs on disk that nothing refers to: of attempts that were given back, of a store that was restored, of a crash.

A folder in a step, after a start and then once a day, while runs finish.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl_daemon.execution import log_folders
from jobctl_daemon.execution.log_folders import Found
from jobctl_daemon.execution.logs import FOLDER, LogFiles
from jobctl_daemon.services.duty import Aside, Step
from jobctl_daemon.store import Store

_EVERY_MS: Final = 86_400_000
#: What was written since is left alone, whoever it is of.
_YOUNG_MS: Final = 86_400_000
_BATCH: Final = 500


class LogOrphans:
    """`now_ms` is the wall time by which things are old."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        logs: LogFiles,
        now_ms: Callable[[], int],
        aside: Aside,
    ) -> None:
        self._store = store
        self._clock = clock
        self._logs = logs
        self._now_ms = now_ms
        self._aside = aside
        self._swept_ms: int | None = None
        self._folders: deque[str] | None = None
        self._removed = 0

    def begin(self) -> None:
        now_ms = self._clock.boot_ms()
        if self._folders is None and (self._swept_ms is None or now_ms - self._swept_ms > _EVERY_MS):
            self._swept_ms = now_ms
            self._folders = deque()

    async def step(self, _limit: int) -> Step:
        if self._folders is None:
            return Step(0, more=False)
        if not self._folders:
            self._folders.extend(await self._aside(log_folders.folders, self._logs.directory))
        removed = await self._sweep(self._folders.popleft()) if self._folders else 0
        self._removed += removed
        if not self._folders:
            self._folders = None
            if self._removed:
                structlog.get_logger().info("logs.orphans_removed", count=self._removed)
                self._removed = 0
        return Step(removed, more=self._folders is not None)

    async def _sweep(self, folder: str) -> int:
        """Of one folder; returns how many files went. The folder goes when nothing is in it, nor will be."""
        directory = self._logs.directory
        files: list[Found] = await self._aside(log_folders.files, directory, folder)
        old = [file for file in files if file.changed_ms < self._now_ms() - _YOUNG_MS]
        removed = 0
        for first in range(0, len(old), _BATCH):
            some = old[first : first + _BATCH]
            unknown = set(await self._store.unknown_logs([(file.run_id, file.fence) for file in some]))
            names = [file.name for file in some if (file.run_id, file.fence) in unknown or file.name.endswith("~")]
            if names:
                removed += int(await self._aside(log_folders.remove, directory, folder, names))
        first_run = int(folder) * FOLDER
        if removed == len(files) and await self._store.at_rest(first_run, first_run + FOLDER - 1):
            log_folders.remove_folder(directory, folder)
        return removed
