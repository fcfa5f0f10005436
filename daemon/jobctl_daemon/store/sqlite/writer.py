"""The one writer: every change of the database goes through its thread, and what waits goes into one commit."""

import asyncio
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from jobctl.model import Event
from jobctl_daemon.store import Watched
from jobctl_daemon.store.sqlite import events
from jobctl_daemon.store.sqlite.batch import Operation, Outcome, commit
from jobctl_daemon.store.sqlite.failures import translate
from jobctl_daemon.store.sqlite.opening import busy_timeout
from jobctl_daemon.store.sqlite.thread import DatabaseThread

T = TypeVar("T")

#: Operations of one commit. More would keep the first of them waiting for no gain.
BATCH_MAX: Final = 256
#: The size of the write-ahead log at which it is written back and emptied.
WAL_BYTES: Final = 16 << 20
#: How long a checkpoint waits for a reader. A busy one is tried again when the log has grown as much again.
_CHECKPOINT_MS: Final = 50
_PROBE_MS: Final = 1_000

Waiting = tuple[Operation, "asyncio.Future[Any]"]


class Writer:
    """Group commit. An idle writer does nothing: no timer, no wake-up, no write."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], wal_path: str) -> None:
        self._thread = DatabaseThread(connect)
        self._wal_path = wal_path
        self._checkpoint_at = WAL_BYTES
        self._waiting: deque[Waiting] = deque()
        self._listeners: list[Callable[[Sequence[Event]], None]] = []
        self._opened = False
        self._told = 0

    async def open(self) -> None:
        await self._thread.open()
        self._opened = True
        self._told = await self._thread.call(events.newest)

    async def close(self) -> None:
        """Finishes what was submitted, empties the write-ahead log and closes."""
        if self._opened:
            self._opened = False
            try:
                await self._thread.call(_checkpoint)
            finally:
                await self._thread.close()

    def listen(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """Calls `listener` on the loop after each commit that has events, before its callers go on."""
        self._listeners.append(listener)

    async def submit(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """The operation's answer, after the commit that holds it.

        A cancelled caller loses only the answer: the operation is queued whole and never ends half-way. An operation
        may run twice (when its first transaction is lost), so it changes nothing but the database.
        """
        self._thread.must_be_open()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((operation, future))
        # One token for each operation: a drain that finds nothing left costs a microsecond, and no flag can be wrong.
        self._thread.post(self._drain)
        return await future

    async def probe(self, write: Operation) -> None:
        """A small write of its own, which waits no longer for locks than somebody who has asked how things are."""

        def alone(connection: sqlite3.Connection) -> Outcome:
            with busy_timeout(connection, _PROBE_MS):
                (outcome,) = commit(connection, [write])
            self._tend_log(connection)
            return outcome

        outcome = await self._thread.call(alone)
        if outcome.error is not None:
            raise outcome.error

    def watched(self) -> Watched:
        return self._thread.watched()

    def _drain(self, connection: sqlite3.Connection) -> None:
        batch = self._take()
        if not batch:
            return
        outcomes = _committed(connection, [operation for operation, _ in batch])
        news = self._news(connection)
        loop = batch[0][1].get_loop()
        loop.call_soon_threadsafe(partial(self._deliver, batch, outcomes, news))
        self._tend_log(connection)

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        while self._waiting and len(batch) < BATCH_MAX:
            batch.append(self._waiting.popleft())
        return batch

    def _news(self, connection: sqlite3.Connection) -> list[Event]:
        """The events of this commit, read back: so a listener hears of exactly what is in the log."""
        if not self._listeners:
            return []
        try:
            news = events.since(connection, self._told)
        except sqlite3.Error:  # the commit stands; listeners hear of it with the next one
            return []
        if news:
            self._told = news[-1].id
        return news

    def _deliver(self, batch: list[Waiting], outcomes: list[Outcome], news: list[Event]) -> None:
        for listener in self._listeners if news else ():
            try:
                listener(news)
            except Exception as error:  # noqa: BLE001 - the others, and the callers, still hear of their commit
                words = {"message": "a listener of the store failed", "exception": error}
                batch[0][1].get_loop().call_exception_handler(words)
        _answer(batch, outcomes)

    def _tend_log(self, connection: sqlite3.Connection) -> None:
        size = _size(self._wal_path)
        if size < self._checkpoint_at:
            return
        emptied = _checkpoint(connection)
        self._checkpoint_at = WAL_BYTES if emptied else size + WAL_BYTES


def _committed(connection: sqlite3.Connection, operations: list[Operation]) -> list[Outcome]:
    try:
        return commit(connection, operations)
    except Exception as error:  # noqa: BLE001 - not even a rollback went through; nobody may wait for ever
        return [Outcome(error=translate(error))] * len(operations)


def _answer(batch: list[Waiting], outcomes: list[Outcome]) -> None:
    for (_, future), outcome in zip(batch, outcomes, strict=True):
        if future.done():
            continue
        if outcome.error is not None:
            future.set_exception(outcome.error)
        else:
            future.set_result(outcome.value)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Writes the log back and empties it; False when a reader was in the way, or the disk."""
    try:
        with busy_timeout(connection, _CHECKPOINT_MS):
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
