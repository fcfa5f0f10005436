"""Long work on the live database: on a thread and a connection of its own, which never writes, one at a time."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from jobctl.errors import Conflict, Unavailable
from jobctl_daemon.store.sqlite.failures import translate
from jobctl_daemon.store.sqlite.opening import connect_reader

T = TypeVar("T")

_STOPPING: Final = "the daemon is stopping; try again when it is back"


class BrokenOff(Exception):
    """Nobody wants the answer any more."""


class Stop:
    """Tells work to end."""

    def __init__(self) -> None:
        self._set = threading.Event()

    def set(self) -> None:
        self._set.set()

    def is_set(self) -> bool:
        return self._set.is_set()

    def check(self) -> None:
        """Raises `BrokenOff` once it is set."""
        if self._set.is_set():
            raise BrokenOff


class Aside:
    """`close` ends what is being done, so that the writer's connection is the last to close."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stop = Stop()
        self._doing: tuple[str, asyncio.Future[Any]] | None = None
        self._connection: sqlite3.Connection | None = None

    async def run(self, what: str, work: Callable[[sqlite3.Connection, Stop], T]) -> T:
        """The work's answer. A caller that is cancelled ends it. `Conflict` while there is other work."""
        if self._doing is not None:
            raise Conflict(f"{self._doing[0]} is under way", "wait for it")
        self._stop = Stop()
        future = asyncio.get_running_loop().run_in_executor(None, self._work, what, work)
        self._doing = (what, future)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            self._doing = None

    async def close(self) -> None:
        """Returns when nothing is being done any more."""
        if self._doing is None:
            return
        self._stop.set()
        if self._connection is not None:
            self._connection.interrupt()
        with contextlib.suppress(Exception):
            await asyncio.shield(self._doing[1])

    def _work(self, what: str, work: Callable[[sqlite3.Connection, Stop], T]) -> T:
        stop = self._stop
        try:
            with contextlib.closing(connect_reader(self._path)) as connection:
                self._connection = connection
                return work(connection, stop)
        except (BrokenOff, sqlite3.Error, OSError) as error:
            if stop.is_set():
                raise Unavailable(f"{what} was broken off", _STOPPING) from error
            raise translate(error) from error
        finally:
            self._connection = None
