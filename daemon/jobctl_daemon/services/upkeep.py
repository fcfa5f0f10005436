"""Looks after the disk and the database's write-ahead log while something is wrong with them.

While all is well nobody wakes it: it is called by the room when that becomes short, and by the store when its log
cannot be emptied.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import structlog

from jobctl.clock import Clock
from jobctl_daemon.disk import Room
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.wake import Wake

#: Between two looks at a disk that is short.
SHORT_MS: Final = 5_000
#: While only the reserve is missing.
_MISSING_MS: Final = 60_000
#: Between two tries to empty the log; a reader that stays for one of them is told of.
LOG_MS: Final = 10_000


class Log(Protocol):
    """The write-ahead log, as the store tells of it."""

    @property
    def size(self) -> int: ...
    @property
    def blocked(self) -> bool: ...
    @property
    def readers(self) -> tuple[str, ...]: ...


class Upkeep:
    """`on_room` is called when there is room again; `tend` empties the log if it can."""

    name = "upkeep"
    pace_ms = 1_000

    def __init__(
        self,
        clock: Clock,
        health: Health,
        room: Room,
        tend: Callable[[], Awaitable[Log]],
        on_room: Callable[[], None],
    ) -> None:
        self.wake = Wake()
        self.wake.set()  # the reserve may have to be made
        self._clock = clock
        self._health = health
        self._room = room
        self._tend = tend
        self._on_room = on_room
        self._short = False
        self._blocked_ms: int | None = None

    async def run_once(self) -> Pass:
        waits = [wait for wait in (self._disk(), await self._log()) if wait is not None]
        return Pass(next_ms=self._clock.now_ms() + min(waits) if waits else None)

    def _disk(self) -> int | None:
        """For how long it may be left alone; None: until somebody calls."""
        whole = self._room.mend()
        trouble = self._room.trouble
        log = structlog.get_logger()
        if trouble is not None:
            if not self._short:
                log.warning("disk.short", why=trouble.kind, error=trouble.message, hint=trouble.hint)
            self._short = True
            return SHORT_MS
        if self._short:
            log.info("disk.recovered", free=self._room.seen().free)
        if self._short or self._room.waiting:  # a trouble may come and go between two looks of this one
            self._short = self._room.waiting = False
            self._on_room()
        if whole:
            self._health.warnings.pop("reserve", None)
            return None
        self._health.warnings["reserve"] = (
            f"there is no room for the reserve of {self._room.sizes.reserve >> 20} MB that a full disk needs"
        )
        return _MISSING_MS

    async def _log(self) -> int | None:
        found = await self._tend()
        if not found.blocked:
            if self._health.warnings.pop("log", None) is not None:
                structlog.get_logger().info("log.emptied", bytes=found.size)
            self._blocked_ms = None
            return None
        now_ms = self._clock.boot_ms()
        if self._blocked_ms is None:
            self._blocked_ms = now_ms
            return LOG_MS
        if "log" not in self._health.warnings:
            structlog.get_logger().warning("log.blocked", bytes=found.size, readers=found.readers)
        who = ", ".join(found.readers) or "a reader"
        self._health.warnings["log"] = (
            f"the database's write-ahead log has {found.size / 1e6:.0f} MB and cannot be emptied: {who} has been "
            f"reading for at least {(now_ms - self._blocked_ms) // 1000} s; it is emptied when that ends"
        )
        return LOG_MS
