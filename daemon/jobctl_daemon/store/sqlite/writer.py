"""The one writer: every change of the database goes through its thread, and what waits goes into one commit."""

import asyncio
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from jobctl_daemon.disk import Room
from jobctl_daemon.rows import Owned
from jobctl_daemon.store import Watched
from jobctl_daemon.store.sqlite import events, holders
from jobctl_daemon.store.sqlite.batch import Operation, Outcome, commit
from jobctl_daemon.store.sqlite.failures import Failure, kind_of
from jobctl_daemon.store.sqlite.opening import busy_timeout
from jobctl_daemon.store.sqlite.thread import DatabaseThread
from jobctl_daemon.store.sqlite.wording import Wording

T = TypeVar("T")

#: Operations of one commit. More would keep the first of them waiting for no gain.
BATCH_MAX: Final = 256
#: The size of the write-ahead log at which it is written back and emptied.
WAL_BYTES: Final = 16 << 20
#: How long a checkpoint waits for a reader. A busy one is tried again when the log has grown as much again.
_CHECKPOINT_MS: Final = 50
_PROBE_MS: Final = 1_000

Waiting = tuple[Operation, "asyncio.Future[Any]"]


class NewWork(Generic[T]):
    """An operation that may fail for want of room: the reserve is for the results of what runs already."""

    __slots__ = ("_operation",)

    def __init__(self, operation: Callable[[sqlite3.Connection], T]) -> None:
        self._operation = operation

    def __call__(self, connection: sqlite3.Connection) -> T:
        return self._operation(connection)


class Emptying(Enum):
    """What became of a checkpoint: a reader may be in its way, or the disk."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"


class LogLength(NamedTuple):
    """The write-ahead log: its bytes, and whether a reader keeps it from being emptied."""

    size: int
    blocked: bool
    readers: tuple[str, ...] = ()
    """Other programs that read, when it is blocked."""


class Writer:
    """Group commit. An idle writer does nothing: no timer, no wake-up, no write.

    `on_blocked` is called on the loop when the log could not be emptied; `tend` is to be called until it is.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        wal_path: str,
        room: Room | None = None,
        wording: Wording | None = None,
    ) -> None:
        self._thread = DatabaseThread(connect)
        self._wal_path = wal_path
        self._room = room
        self._path = Path(wal_path.removesuffix("-wal"))
        self._wording = wording or Wording(self._path, room)
        self._checkpoint_at = self._log_bytes
        self._blocked = False
        self._rewound = False
        self.on_blocked: Callable[[], None] = _nothing
        self._waiting: deque[Waiting] = deque()
        self._listeners: list[Callable[[Sequence[Owned]], None]] = []
        self._opened = False
        self._told = 0

    async def open(self) -> None:
        await self._thread.open()
        self._opened = True
        self._told = await self._thread.call(events.newest)

    async def close(self) -> None:
        """Finishes what was submitted, empties the write-ahead log and closes. A damaged file is left as it is."""
        if self._opened:
            self._opened = False
            if self._wording.damage is not None:
                await self._thread.abandon()
                return
            try:
                await self._thread.call(_checkpoint)
            finally:
                await self._thread.close()

    def listen(self, listener: Callable[[Sequence[Owned]], None]) -> None:
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
            if self._wording.damage is not None:
                return Outcome(error=self._wording.damage)
            with busy_timeout(connection, _PROBE_MS):
                (outcome,) = commit(connection, [write])
            self._tend_log(connection)
            return outcome

        outcome = await self._thread.call(alone)
        if outcome.error is not None:
            raise self._wording.of(outcome.error)

    def watched(self) -> Watched:
        return self._thread.watched()

    def _drain(self, connection: sqlite3.Connection) -> None:
        batch = self._take()
        if not batch:
            return
        self._rewound = False
        outcomes = self._committed(connection, [operation for operation, _ in batch])
        news = self._news(connection)
        loop = batch[0][1].get_loop()
        loop.call_soon_threadsafe(partial(self._deliver, batch, outcomes, news))
        if self._room is not None:
            self._room.look()
        if self._tend_log(connection):
            loop.call_soon_threadsafe(self.on_blocked)

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        while self._waiting and len(batch) < BATCH_MAX:
            batch.append(self._waiting.popleft())
        return batch

    def _news(self, connection: sqlite3.Connection) -> list[Owned]:
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

    def _deliver(self, batch: list[Waiting], outcomes: list[Outcome], news: list[Owned]) -> None:
        for listener in self._listeners if news else ():
            try:
                listener(news)
            except Exception as error:  # noqa: BLE001 - the others, and the callers, still hear of their commit
                words = {"message": "a listener of the store failed", "exception": error}
                batch[0][1].get_loop().call_exception_handler(words)
        _answer(batch, outcomes)

    # ── a full disk ──────────────────────────────────────────────
    def _committed(self, connection: sqlite3.Connection, operations: list[Operation]) -> list[Outcome]:
        if self._wording.damage is not None:
            return [Outcome(error=self._wording.damage)] * len(operations)
        try:
            outcomes = commit(connection, operations, partial(self._relieved, connection))
        except Exception as error:  # noqa: BLE001 - not even a rollback went through; nobody may wait for ever
            outcomes = [Outcome(error=error)] * len(operations)
        worded: dict[int, Exception] = {}
        return [outcome if outcome.error is None else self._worded(outcome.error, worded) for outcome in outcomes]

    def _worded(self, error: Exception, known: dict[int, Exception]) -> Outcome:
        """One that several share is looked into once."""
        if id(error) not in known:
            known[id(error)] = self._wording.of(error)
        return Outcome(error=known[id(error)])

    def _relieved(self, connection: sqlite3.Connection, operation: Operation, error: Exception) -> bool:
        """A piece of the reserve is spent on a result that the full disk would not take, which is tried again."""
        if self._room is None or self._wording.kind(error) is not Failure.FULL:
            return False
        if isinstance(operation, NewWork):
            self._room.refused()
            return False
        if not self._rewound:  # written back, the log begins anew in the blocks that it has
            self._rewound = True
            if _checkpoint(connection, "RESTART") is Emptying.DONE:
                self._room.refused()
                return True
        return self._room.spend(self._wal_path)

    # ── the write-ahead log ──────────────────────────────────────────────
    @property
    def _log_bytes(self) -> int:
        return WAL_BYTES if self._room is None else min(WAL_BYTES, self._room.sizes.log)

    async def tend(self) -> LogLength:
        """Looks at the log, and empties it when it is long."""
        size = _size(self._wal_path)
        if size >= self._log_bytes or self._blocked:
            await self._thread.call(self._empty_log)
            size = _size(self._wal_path)
        return LogLength(size, self._blocked, holders.readers(self._path) if self._blocked else ())

    def _tend_log(self, connection: sqlite3.Connection) -> bool:
        """Whether a long log has just been found not to let itself be emptied."""
        size = _size(self._wal_path)
        if size < self._checkpoint_at:
            return False
        self._empty_log(connection)
        return self._blocked

    def _empty_log(self, connection: sqlite3.Connection) -> None:
        """On a full disk it is written back, but keeps its blocks: others would take them."""
        if self._wording.damage is not None:
            return
        short = self._room is not None and self._room.trouble is not None
        emptied = _checkpoint(connection, "RESTART" if short else "TRUNCATE")
        self._blocked = emptied is Emptying.BLOCKED
        if emptied is not Emptying.DONE:
            self._checkpoint_at = _size(self._wal_path) + self._log_bytes
        elif short:
            self._checkpoint_at = _size(self._wal_path) + 1
        else:
            self._checkpoint_at = self._log_bytes


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


def _checkpoint(connection: sqlite3.Connection, how: str = "TRUNCATE") -> Emptying:
    """Writes the log back so that it begins anew."""
    try:
        with busy_timeout(connection, _CHECKPOINT_MS):
            busy, _, _ = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
    except sqlite3.DatabaseError as error:
        if kind_of(error) is None:
            raise
        return Emptying.FAILED
    return Emptying.BLOCKED if busy else Emptying.DONE


def _nothing() -> None:
    return None
