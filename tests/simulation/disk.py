"""The disk and the database on it, and how they fail: connections that stop at the statement they are told to.

SQLite rolls the whole transaction back when the disk is full, savepoints included; so does `Connection`.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

_FULL: Final = ("database or disk is full", sqlite3.SQLITE_FULL)
_BROKEN: Final = ("disk I/O error", sqlite3.SQLITE_IOERR)
_BUSY: Final = ("database is locked", sqlite3.SQLITE_BUSY)
_WRITES: Final = ("INSERT", "UPDATE", "DELETE")
#: How a write can be made to fail, and with which error.
KINDS: Final = {"full": _FULL, "broken": _BROKEN, "commit full": _FULL, "group full": _FULL, "busy": _BUSY}


@dataclass(slots=True)
class Disk:
    """`full`: nothing can be written, of the database, of records, of logs."""

    full: bool = False
    trap: tuple[str, int] | None = None
    """(kind, after how many more statements that could fail so): the next write that fails."""
    read_trap: int | None = None
    sprung: dict[str, int] = field(default_factory=dict)
    """Failures by kind, as they happened."""
    reserve: int = 0
    """Pieces that are held back, and below how many more commits what was given up of them is good for."""
    spare: int = 0
    groups: int = 0
    """Commits of several operations."""
    written: int = 0

    def note(self, kind: str) -> None:
        self.sprung[kind] = self.sprung.get(kind, 0) + 1


class Connection:
    """A connection of SQLite, with a disk under it that can fail."""

    __slots__ = ("_began", "_members", "_real", "disk", "execute", "executemany", "writer")

    def __init__(self, real: sqlite3.Connection, disk: Disk, *, writer: bool) -> None:
        self._real = real
        self.disk = disk
        self.writer = writer
        self._began = 0
        self._members = 0
        self.execute: Callable[..., Any] = self._execute if writer else self._read
        self.executemany: Callable[..., Any] = self._executemany

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _read(self, sql: str, *parameters: Any) -> Any:
        disk = self.disk
        if disk.read_trap is not None and sql[:6] not in ("BEGIN", "COMMIT"):
            disk.read_trap -= 1
            if disk.read_trap < 0:
                disk.read_trap = None
                disk.note("read")
                raise _error(*_BROKEN)
        return self._real.execute(sql, *parameters)

    def _execute(self, sql: str, *parameters: Any) -> Any:
        self._before(sql)
        return self._real.execute(sql, *parameters)

    def _executemany(self, sql: str, parameters: Iterable[Any]) -> Any:
        self._before(sql)
        return self._real.executemany(sql, parameters)

    def _before(self, sql: str) -> None:
        word = sql.lstrip()[:6].rstrip()
        if word == "BEGIN":
            self._began, self._members = self._real.total_changes, 0
            self._meet("busy")
        elif word == "SAVEPO" and sql.endswith("operation"):
            self._members += 1
        elif word == "COMMIT":
            self._commits()
        elif word in _WRITES:
            self._meet("full")
            self._meet("broken")
            self.disk.written += 1
            if self.disk.full and not self.disk.spare and self.disk.written % 5 == 0:
                self._fail("disk full")

    def _commits(self) -> None:
        changed = self._real.total_changes != self._began
        if self._members > 1:
            self.disk.groups += 1
            self._meet("group full")
        if changed:
            self._meet("commit full")
            if self.disk.full and not self.disk.spare:
                self._fail("disk full")
            self.disk.spare = max(0, self.disk.spare - 1)

    def _meet(self, kind: str) -> None:
        trap = self.disk.trap
        if trap is None or trap[0] != kind:
            return
        if trap[1] > 0:
            self.disk.trap = (kind, trap[1] - 1)
            return
        self.disk.trap = None
        self._fail(kind)

    def _fail(self, kind: str) -> None:
        self.disk.note(kind)
        if self._real.in_transaction and kind != "busy":
            self._real.execute("ROLLBACK")
        raise _error(*KINDS.get(kind, _FULL))


def _error(words: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


class Thread:
    """In the place of `aiosqlite.Connection`: its thread does the next thing when somebody calls `work`."""

    def __init__(self, connector: Callable[[], Any], iter_chunk_size: int) -> None:
        self.jobs: deque[tuple[asyncio.Future[Any] | None, Callable[[], Any]]] = deque()
        self._tx = self._thread = self
        self._connector = connector
        self._connection: Any = None
        self._loop = asyncio.get_running_loop()
        threads: Any = self._loop
        threads.threads.append(self)

    def work(self) -> None:
        future, function = self.jobs.popleft()
        try:
            answer = function()
        except Exception as error:
            if future is None:
                raise
            self._loop.call_soon(_fail, future, error)
        else:
            if future is not None:
                self._loop.call_soon(_answer, future, answer)

    def drop(self) -> None:
        """The process is gone: what waits is never done, and what was begun is undone."""
        self.jobs.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # ── what aiosqlite offers ──────────────────────────────────────────────
    def __await__(self) -> Generator[Any, None, "Thread"]:
        yield from self._do(self._connect).__await__()
        return self

    async def close(self) -> None:
        await self._do(self.drop)

    def put_nowait(self, job: tuple["asyncio.Future[Any] | None", Callable[[], Any]]) -> None:
        self.jobs.append(job)

    def join(self) -> None:
        """There is no thread to wait for."""

    def _do(self, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        future = self._loop.create_future()
        self.jobs.append((future, function))
        return future

    def _connect(self) -> None:
        self._connection = self._connector()


def _answer(future: "asyncio.Future[Any]", answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
