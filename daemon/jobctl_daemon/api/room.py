"""How much more an owner may have: jobs, and runs that have not started (docs/limits.md).

Counting is work that grows with what there is, so it is done once for many requests: what is counted gives room for a
share of what is left, and who has no room is told so for a second without counting again.
"""

import asyncio
from collections import defaultdict
from typing import Final, Protocol

import msgspec

from jobctl.clock import Clock
from jobctl.errors import Conflict
from jobctl_daemon.rows import Caller, Counts, Request
from jobctl_daemon.store import Store

#: Requests for which one count is good, at the most.
_SHARE: Final = 1_000
_FULL_MS: Final = 1_000


class Limits(Protocol):
    """The settings; a reload changes them."""

    owner_jobs: int
    owner_runs: int


class _Room:
    """Of one owner, for one kind of thing."""

    __slots__ = ("full_ms", "left", "lock", "most")

    def __init__(self) -> None:
        self.most = 0
        self.left = 0
        self.full_ms: int | None = None
        self.lock = asyncio.Lock()


class Rooms:
    """Of all owners. In memory only: a daemon that starts counts anew."""

    def __init__(self, store: Store, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._rooms: defaultdict[tuple[str, int, str], _Room] = defaultdict(_Room)

    async def for_jobs(self, caller: Caller, request: Request | None, count: int = 1) -> None:
        """`Conflict` when so many jobs more are too many. A request that was carried out before has its answer."""
        most = self._limits.owner_jobs
        if not await self._take(caller, "jobs", count, most) and not await self._known(caller, request):
            raise Conflict(
                f"{caller.name} may have {most} jobs, and no more", "remove some; `owner_jobs` is set in jobd.toml"
            )

    async def for_run(self, caller: Caller, request: Request | None) -> None:
        """The same of one more run that has not started."""
        most = self._limits.owner_runs
        if not await self._take(caller, "runs", 1, most) and not await self._known(caller, request):
            raise Conflict(
                f"{most} runs of {caller.name} have not started, and no more may wait",
                "wait for some, or cancel them; `owner_runs` is set in jobd.toml",
            )

    async def _take(self, caller: Caller, kind: str, count: int, most: int) -> bool:
        room = self._rooms[kind, caller.uid, caller.name]
        async with room.lock:
            if most != room.most:
                room.most, room.left, room.full_ms = most, 0, None
            if room.left < count and not await self._count(caller, room, kind, count):
                return False
            room.left -= count
            return True

    async def _count(self, caller: Caller, room: _Room, kind: str, count: int) -> bool:
        now_ms = self._clock.boot_ms()
        if room.full_ms is not None and now_ms - room.full_ms < _FULL_MS:
            return False
        own = msgspec.structs.replace(caller, all_owners=False)
        left = room.most - _held(await self._store.counts(own, self._clock.now_ms()), kind)
        room.full_ms = now_ms if left < count else None
        room.left = max(0, min(left, max(_SHARE, count)))
        return left >= count

    async def _known(self, caller: Caller, request: Request | None) -> bool:
        return request is not None and await self._store.asked_before(caller, request)


def _held(counts: Counts, kind: str) -> int:
    return counts.jobs if kind == "jobs" else counts.scheduled + counts.ready
