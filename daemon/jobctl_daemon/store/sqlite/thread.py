"""One SQLite connection on its own thread. The one place that touches aiosqlite, and its private queue.

aiosqlite's public calls hop to the thread and back for each statement (30-300 us a hop). Its queue takes any function,
so a whole transaction is one hop.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Final, TypeVar

import aiosqlite

from jobctl.clock import Clock, SystemClock
from jobctl.errors import Unavailable
from jobctl_daemon.store import Watched
from jobctl_daemon.store.sqlite.opening import leave_open

T = TypeVar("T")
#: A stuck thread is stuck in real time, whatever clock decides what is due.
_CLOCK: Final[Clock] = SystemClock()


class DatabaseThread:
    """`connect` is called on the thread, and the connection never leaves it."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._thread: aiosqlite.Connection | None = None
        self._connection: sqlite3.Connection | None = None
        # Counted by the side that does it, each by one thread alone: so there is no lock, and what waits is never lost.
        self._posted = 0
        self._done = 0
        self._posted_ms = 0
        self._done_ms = 0

    async def open(self) -> None:
        """Starts the thread and connects; raises what `connect` raises, and then leaves no thread behind."""
        thread = aiosqlite.Connection(self._connected, iter_chunk_size=64)
        try:
            await thread
        except BaseException:
            thread._thread.join()  # it has been told to end, and would tell a loop that may be closed by then
            raise
        self._thread = thread

    async def close(self) -> None:
        """Waits for what is queued, closes the connection and ends the thread."""
        thread, self._thread, self._connection = self._thread, None, None
        if thread is not None:
            await thread.close()

    async def abandon(self) -> None:
        """Ends the thread, and leaves the connection open: see `leave_open`."""
        thread, connection, self._thread, self._connection = self._thread, self._connection, None, None
        if thread is None or connection is None:
            return
        leave_open(connection)
        thread._connection = None
        ended = thread.stop()
        if ended is not None:
            await ended

    def must_be_open(self) -> None:
        """Raises `Unavailable` when it is closed."""
        self._opened()

    def post(self, function: Callable[[sqlite3.Connection], None]) -> None:
        """Queues a function that answers nobody. It must not raise."""
        thread, connection = self._opened()
        self._post()
        thread._tx.put_nowait((None, lambda: self._run(function, connection)))

    async def call(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a function on the thread. A caller that is cancelled does not stop it."""
        return await self.submit(function)

    def submit(self, function: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """The same, for who wants to know when it has ended."""
        thread, connection = self._opened()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._post()
        thread._tx.put_nowait((future, lambda: self._run(function, connection)))
        return future

    def watched(self) -> Watched:
        """How it is, without asking it."""
        since_ms = max(self._posted_ms, self._done_ms) if self._posted != self._done else None
        return Watched(self._done, since_ms, self._done_ms)

    def _post(self) -> None:
        if self._posted == self._done:
            self._posted_ms = _CLOCK.boot_ms()
        self._posted += 1

    def _run(self, function: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
        try:
            return function(connection)
        finally:
            self._done_ms = _CLOCK.boot_ms()
            self._done += 1

    def _connected(self) -> sqlite3.Connection:
        self._connection = self._connect()
        return self._connection

    def _opened(self) -> tuple[aiosqlite.Connection, sqlite3.Connection]:
        if self._thread is None or self._connection is None:
            raise Unavailable("the store is closed", "the daemon is stopping; try again when it is back")
        return self._thread, self._connection
