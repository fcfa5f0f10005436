"""Who was refused what is not his: an event for those who operate the daemon, and a line of its log.

Only what would have changed something is written down, once a minute for the same thing, and so many for one user: who
is refused must not fill the disk. It happens after the answer, so that the answer tells nothing by its time.
"""

from collections import OrderedDict
from collections.abc import Coroutine
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl.errors import Conflict, JobctlError, NotFound
from jobctl_daemon.kept import Errands
from jobctl_daemon.rows import Caller, Denial
from jobctl_daemon.store import Store

_SAME_MS: Final = 60_000
#: Of one user within a minute, and under way at once.
_OF_ONE: Final = 30
_AT_ONCE: Final = 16
_KEPT: Final = 2_000
_EVERYBODY: Final = Caller(uid=0, name="root", all_owners=True)

_Work = Coroutine[None, None, None]


class Denials:
    """Writes them down, bounded."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._errands = Errands()
        self._lately: OrderedDict[tuple[int, str, str], int] = OrderedDict()
        self._under_way = 0

    def refused(self, denial: Denial) -> None:
        """He was told that he may not."""
        if self._is_new(denial):
            self._start(self._write(denial))

    def not_there(self, denial: Denial, job: str | None, run: int | None) -> None:
        """He was told that there is no such job or run; it may be there, and another's."""
        if self._is_new(denial):
            self._start(self._write_if_there(denial, job, run))

    def _is_new(self, denial: Denial) -> bool:
        now_ms = self._clock.boot_ms()
        while self._lately and (len(self._lately) > _KEPT or now_ms - next(iter(self._lately.values())) >= _SAME_MS):
            self._lately.popitem(last=False)
        key = (denial.uid, denial.method, denial.path)
        if key in self._lately or sum(uid == denial.uid for uid, *_ in self._lately) >= _OF_ONE:
            return False
        self._lately[key] = now_ms
        return True

    def _start(self, work: _Work) -> None:
        if self._under_way >= _AT_ONCE:
            work.close()
            return
        self._under_way += 1
        self._errands.start("denial", self._counted(work))

    async def _counted(self, work: _Work) -> None:
        try:
            await work
        except JobctlError:
            return  # the store takes nothing just now; the line in the log is there
        finally:
            self._under_way -= 1

    async def _write_if_there(self, denial: Denial, job: str | None, run: int | None) -> None:
        try:
            if run is not None:
                await self._store.run(_EVERYBODY, run)
            elif job is not None:
                await self._store.job(_EVERYBODY, job)
        except NotFound:
            return
        except Conflict:  # several have it
            pass
        await self._write(denial)

    async def _write(self, denial: Denial) -> None:
        structlog.get_logger().warning(
            "access.denied", uid=denial.uid, user=denial.name, method=denial.method, path=denial.path, why=denial.why
        )
        await self._store.denied(denial, self._clock.now_ms())
