"""Group commit: order, isolation, cancelled callers, lost transactions."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from jobctl.errors import DaemonError, Damaged, InternalError, Unavailable
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.store.sqlite import writer as writer_module
from jobctl_daemon.store.sqlite.migrate import migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_reader, connect_writer, create_private
from jobctl_daemon.store.sqlite.writer import Writer


class Traced:
    """A writer over a real file that remembers which transactions it made."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "jobctl.db"
        self.statements: list[str] = []
        self.writer = Writer(self._connect, f"{self.path}-wal")

    def _connect(self) -> sqlite3.Connection:
        create_private(self.path)
        connection = connect_writer(self.path)
        migrate(connection, self.path, shipped())
        connection.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL CHECK (text <> ''))")
        connection.set_trace_callback(self.statements.append)
        return connection

    def commits(self) -> int:
        return self.statements.count("COMMIT")

    def notes(self) -> list[str]:
        """What another connection sees."""
        connection = connect_reader(self.path)
        found = [text for (text,) in connection.execute("SELECT text FROM note ORDER BY id")]
        connection.close()
        return found


@pytest.fixture
async def traced(tmp_path: Path) -> AsyncIterator[Traced]:
    made = Traced(tmp_path)
    await made.writer.open()
    yield made
    await made.writer.close()


def note(text: str) -> Callable[[sqlite3.Connection], str]:
    def write(connection: sqlite3.Connection) -> str:
        connection.execute("INSERT INTO note (text) VALUES (?)", (text,))
        return text

    return write


class Held:
    """An operation that waits in the writer's thread until the test lets it go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, connection: sqlite3.Connection) -> str:
        self.begun.set()
        assert self.go.wait(10)
        return note("held")(connection)

    async def running(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.begun.wait, 10)


async def test_what_waits_goes_into_one_commit_in_order(traced: Traced) -> None:
    held = Held()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(traced.writer.submit(held))
        await held.running()
        rest = [tasks.create_task(traced.writer.submit(note(str(number)))) for number in range(50)]
        await asyncio.wait(rest, timeout=0)
        before = traced.commits()
        held.go.set()
    assert first.result() == "held"
    assert [task.result() for task in rest] == [str(number) for number in range(50)]
    assert traced.notes() == ["held", *map(str, range(50))]
    assert traced.commits() - before == 2


async def test_an_operation_alone_needs_no_savepoint(traced: Traced) -> None:
    await traced.writer.submit(note("a"))
    assert not any("SAVEPOINT" in statement for statement in traced.statements)


async def test_an_answer_comes_after_the_commit(traced: Traced) -> None:
    await traced.writer.submit(note("a"))
    assert traced.notes() == ["a"]


async def test_an_operation_that_fails_undoes_itself_alone(traced: Traced) -> None:
    def half(connection: sqlite3.Connection) -> None:
        note("half")(connection)
        raise KeyError("half")

    held = Held()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(traced.writer.submit(held))
        await held.running()
        gathered = asyncio.gather(
            traced.writer.submit(note("a")),
            traced.writer.submit(half),
            traced.writer.submit(note("")),
            traced.writer.submit(note("b")),
            return_exceptions=True,
        )
        await asyncio.wait([gathered], timeout=0)
        held.go.set()
        results = await gathered
    assert results[0] == "a"
    assert isinstance(results[1], KeyError)
    assert isinstance(results[2], InternalError)
    assert results[3] == "b"
    assert traced.notes() == ["held", "a", "b"]


@pytest.mark.case("F094")
async def test_a_cancelled_caller_neither_loses_the_write_nor_leaves_a_transaction_open(traced: Traced) -> None:
    held = Held()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(traced.writer.submit(held))
        waiting = tasks.create_task(traced.writer.submit(note("waiting")))
        await held.running()
        running.cancel()
        waiting.cancel()
        await asyncio.wait([running, waiting])
        held.go.set()
    assert running.cancelled()
    assert waiting.cancelled()
    assert await traced.writer.submit(note("after")) == "after"
    assert traced.notes() == ["held", "waiting", "after"]
    assert traced.statements.count("BEGIN IMMEDIATE") == traced.commits()


async def test_more_operations_than_one_commit_holds_are_all_done(traced: Traced) -> None:
    count = writer_module.BATCH_MAX * 2 + 3
    await asyncio.gather(*(traced.writer.submit(note(str(number))) for number in range(count)))
    assert traced.notes() == [str(number) for number in range(count)]


async def test_closing_finishes_what_was_submitted(traced: Traced) -> None:
    submitted = [asyncio.ensure_future(traced.writer.submit(note(str(number)))) for number in range(20)]
    await asyncio.wait(submitted, timeout=0)
    await traced.writer.close()
    assert [await one for one in submitted] == [str(number) for number in range(20)]


async def test_a_closed_writer_says_so(traced: Traced) -> None:
    await traced.writer.close()
    with pytest.raises(Unavailable, match="closed"):
        await traced.writer.submit(note("late"))


async def test_a_submission_that_comes_too_late_takes_no_other_with_it(traced: Traced) -> None:
    held = Held()
    running = asyncio.ensure_future(traced.writer.submit(held))
    await held.running()
    waiting = asyncio.ensure_future(traced.writer.submit(note("waiting")))
    await asyncio.wait([waiting], timeout=0)
    closing = asyncio.ensure_future(traced.writer.close())
    held.go.set()
    await closing
    with pytest.raises(Unavailable):
        await traced.writer.submit(note("late"))
    assert [await running, await waiting] == ["held", "waiting"]
    assert traced.notes() == ["held", "waiting"]


async def test_a_connection_that_is_beyond_help_still_answers_everybody(traced: Traced) -> None:
    def break_it(connection: sqlite3.Connection) -> None:
        connection.close()

    results = await asyncio.gather(
        traced.writer.submit(break_it), traced.writer.submit(note("a")), return_exceptions=True
    )
    assert all(isinstance(result, InternalError) for result in results)
    with pytest.raises(sqlite3.ProgrammingError):
        await traced.writer.close()


async def test_a_full_disk_fails_only_what_does_not_fit(traced: Traced) -> None:
    def limit(connection: sqlite3.Connection) -> None:
        used = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {used + 8}")

    await traced.writer.submit(limit)
    held = Held()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(traced.writer.submit(held))
        await held.running()
        texts = ["small-1", "x" * 100_000, "small-2", "y" * 100_000, "small-3"]
        gathered = asyncio.gather(*(traced.writer.submit(note(text)) for text in texts), return_exceptions=True)
        await asyncio.wait([gathered], timeout=0)
        held.go.set()
        results = await gathered
    assert [result if isinstance(result, str) else type(result) for result in results] == [
        "small-1",
        Unavailable,
        "small-2",
        Unavailable,
        "small-3",
    ]
    assert isinstance(results[1], Unavailable)
    assert "disk" in results[1].message
    assert results[1].hint
    assert traced.notes() == ["held", "small-1", "small-2", "small-3"]
    await traced.writer.submit(lambda connection: connection.execute("PRAGMA max_page_count = 1000000").fetchone())
    assert await traced.writer.submit(note("x" * 100_000))


@pytest.mark.case("F087")
async def test_the_log_is_emptied_when_it_has_grown(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "WAL_BYTES", 1 << 20)
    traced.writer._checkpoint_at = 1 << 20
    for number in range(40):
        await traced.writer.submit(note(f"{number}" + "x" * 100_000))
    await traced.writer.submit(lambda connection: None)
    assert Path(f"{traced.path}-wal").stat().st_size < 3 << 20
    assert len(traced.notes()) == 40


async def test_an_idle_writer_touches_nothing(traced: Traced) -> None:
    await traced.writer.submit(note("a"))
    files = {path: path.stat().st_mtime_ns for path in traced.path.parent.iterdir()}
    before = list(traced.statements)
    for _ in range(100):
        await asyncio.wait([asyncio.get_running_loop().run_in_executor(None, int)])
    assert traced.statements == before
    assert {path: path.stat().st_mtime_ns for path in traced.path.parent.iterdir()} == files


async def test_when_another_program_holds_the_file_all_that_wait_are_told_at_once(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alone would wait for it as long as the first: with 256 of them for 21 minutes."""
    await traced.writer.submit(lambda connection: connection.execute("PRAGMA busy_timeout = 300").fetchone())
    held = Held()
    with closing(sqlite3.connect(traced.path, isolation_level=None)) as other:
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(traced.writer.submit(held))
            await held.running()
            gathered = asyncio.gather(
                *(traced.writer.submit(note(str(number))) for number in range(100)), return_exceptions=True
            )
            await asyncio.wait([gathered], timeout=0)
            held.go.set()
            await first
            other.execute("BEGIN IMMEDIATE")
            began = asyncio.get_running_loop().time()
            late = asyncio.gather(
                *(traced.writer.submit(note(f"late-{number}")) for number in range(100)), return_exceptions=True
            )
            await gathered
            results = await late
            took_s = asyncio.get_running_loop().time() - began
            other.execute("ROLLBACK")
    assert took_s < 10
    refused = [result for result in results if isinstance(result, Unavailable)]
    assert refused
    assert all(error.details == {"why": "locked"} for error in refused)
    assert await traced.writer.submit(note("after")) == "after"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, "full"),
        (sqlite3.SQLITE_READONLY, "read_only"),
        (sqlite3.SQLITE_BUSY, "locked"),
        (sqlite3.SQLITE_CORRUPT, "damaged"),
        (sqlite3.SQLITE_NOTADB, "damaged"),
        (sqlite3.SQLITE_IOERR, "io"),
        (sqlite3.SQLITE_CANTOPEN, "io"),
    ],
)
async def test_each_kind_of_trouble_has_its_words_and_they_do_not_change(traced: Traced, code: int, kind: str) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("something")
        error.sqlite_errorcode = code
        raise error

    said = []
    for _ in range(2):
        with pytest.raises(DaemonError) as caught:
            await traced.writer.submit(fail)
        said.append((caught.value.message, caught.value.hint, caught.value.details["why"]))
    assert said[0] == said[1]
    assert said[0][2] == kind
    assert said[0][1]
    assert isinstance(caught.value, Damaged) == (kind == "damaged")


async def test_damage_is_told_once_to_whoever_looks_after_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "jobctl.db")
    found: list[Damaged] = []
    store.watch(lambda: None, found.append)
    await store.open()

    def fail(connection: sqlite3.Connection) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    for _ in range(2):
        with pytest.raises(Damaged):
            await store._read(fail)
        with pytest.raises(Damaged):
            await store._writer.submit(fail)
    await store.close()
    assert len(found) == 1
    assert str(tmp_path / "jobctl.db") in found[0].message
    assert "jobctl restore" in found[0].hint
