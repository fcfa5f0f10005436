"""Changes of files are found whatever way they come: by events, and by looking where there are none."""

import asyncio
import contextlib
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobctl_daemon.watching import Notifier, Watch, kernel_events
from kit.saves import SAVES, rename_over, truncate_and_write

#: A change is active within 3 s by the case; a wake is the first part of that.
SOON_S = 2.0


class Watched:
    """A watch under way, and what it said."""

    def __init__(self, notifier: Notifier = kernel_events, look_s: float = 60.0, poll_s: float = 0.1) -> None:
        self.wakes = 0
        self.told: list[str | None] = []
        self._news = asyncio.Event()
        self.watch = Watch(self._woken, self._tell, notifier, look_s, poll_s)

    def _woken(self) -> None:
        self.wakes += 1
        self._news.set()

    def _tell(self, why: str | None) -> None:
        self.told.append(why)
        self._news.set()

    async def until(self, there: Callable[[], bool], within_s: float = SOON_S) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not there():
                    self._news.clear()
                    await self._news.wait()
        return there()


@asynccontextmanager
async def watching(folders: Sequence[Path], files: Sequence[Path] = (), **how: object) -> AsyncIterator[Watched]:
    """Listening, the first wake over."""
    made = Watched(**how)  # type: ignore[arg-type]
    made.watch.aim([str(path) for path in folders], [str(path) for path in files])
    listens = asyncio.Event()
    settled = made.watch._listens

    def listening(stop: threading.Event) -> None:
        settled(stop)
        listens.set()

    made.watch._listens = listening  # type: ignore[method-assign]
    task = asyncio.create_task(made.watch.run())
    try:
        await made.until(lambda: made.wakes > 0)
        async with asyncio.timeout(SOON_S):
            await listens.wait()
        yield made
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.mark.case("F110")
@pytest.mark.parametrize("save", SAVES)
async def test_every_save_is_seen_however_an_editor_does_it(tmp_path: Path, save: Callable[[Path, str], None]) -> None:
    """By who watches the folder, and by who watches the file alone."""
    path = tmp_path / "d" / "jobs"
    path.parent.mkdir()
    path.write_text("zero\n")
    async with watching([path.parent]) as by_folder, watching([], [path]) as by_file:
        for number in range(5):
            before = by_folder.wakes, by_file.wakes
            save(path, f"n{number}\n")
            for seen, wakes in zip((by_folder, by_file), before, strict=True):
                assert await seen.until(lambda seen=seen, wakes=wakes: seen.wakes > wakes), number  # type: ignore[misc]
        assert (by_folder.watch.polling, by_file.watch.polling) == (None, None)


@pytest.mark.case("F110")
async def test_a_folder_that_comes_later_and_one_that_is_made_anew_are_seen(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "cron.d"
    async with watching([folder]) as seen:
        for number in range(2):
            for step in (lambda: folder.mkdir(parents=True), lambda: (folder / "x").write_text("1"),
                         lambda: (folder / "x").write_text("22"), lambda: shutil.rmtree(folder.parent)):  # fmt: skip
                before = seen.wakes
                step()
                assert await seen.until(lambda before=before: seen.wakes > before), number  # type: ignore[misc]


@pytest.mark.case("F110")
async def test_a_folder_that_is_replaced_at_once_is_watched_anew_though_its_inode_number_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system gives a number that has become free to the next who asks for one."""
    monkeypatch.setattr("jobctl_daemon.watching._SETTLED_S", (0.3,))
    monkeypatch.setattr("jobctl_daemon.watching.watchable", lambda folders, files: {str(folder): (1, 1, 1)})
    folder = tmp_path / "cron.d"
    folder.mkdir()
    begun = 0

    def counted(folders: Sequence[str], stop: threading.Event, told: Callable[[Collection[str]], None]) -> None:
        nonlocal begun
        begun += 1
        kernel_events(folders, stop, told)

    async with watching([folder], notifier=counted) as seen:
        settled = begun
        shutil.rmtree(folder)
        folder.mkdir()
        assert await seen.until(lambda: begun > settled)
        assert not await seen.until(lambda: begun > settled + 1, 0.6)
        before = seen.wakes
        (folder / "a").write_text("x")
        assert await seen.until(lambda: seen.wakes > before)


async def test_a_burst_is_one_wake_and_what_happens_next_door_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "cron.d"
    folder.mkdir()
    async with watching([folder]) as seen:
        (folder / "a").write_text("first")
        assert await seen.until(lambda: seen.wakes > 1)
        before = seen.wakes
        for number in range(50):
            (tmp_path / f"next{number}").write_text("x")
            (folder / "a").write_text("x" * number)
        assert await seen.until(lambda: seen.wakes > before)
        (tmp_path / "next").write_text("y")
        assert not await seen.until(lambda: seen.wakes > before + 1, 1.0)


def silent(folders: Sequence[str], stop: threading.Event, told: Callable[[Collection[str]], None]) -> None:
    """A watcher that delivers nothing."""
    stop.wait()


def exhausted(folders: Sequence[str], stop: threading.Event, told: Callable[[Collection[str]], None]) -> None:
    raise OSError("Too many open files (os error 24) about []")


@pytest.mark.case("F111")
async def test_changes_are_found_though_no_event_ever_comes(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    async with watching([tmp_path], notifier=silent, look_s=0.2) as seen:
        for save in (truncate_and_write, rename_over, lambda path, text: path.unlink()):
            before = seen.wakes
            save(path, f"{before}\n")
            assert await seen.until(lambda before=before: seen.wakes > before)  # type: ignore[misc]
        before = seen.wakes
        assert not await seen.until(lambda: seen.wakes > before, 0.6)


async def test_a_change_is_seen_soon_though_the_kernel_has_not_begun_to_tell(tmp_path: Path) -> None:
    folder = tmp_path / "cron.d"
    folder.mkdir()
    async with watching([folder], notifier=silent) as seen:
        (folder / "a").write_text("typed at once")
        assert await seen.until(lambda: seen.wakes > 1)


@pytest.mark.case("F111")
async def test_where_events_cannot_be_had_it_says_so_and_looks(tmp_path: Path) -> None:
    made = Watched(exhausted)
    made.watch.aim([str(tmp_path)])
    task = asyncio.create_task(made.watch.run())
    assert await made.until(lambda: made.watch.polling is not None)
    assert "max_user_instances" in str(made.watch.polling)
    assert made.told == [made.watch.polling]
    before = made.wakes
    (tmp_path / "a").write_text("x")
    assert await made.until(lambda: made.wakes > before)
    made.watch._notifier = kernel_events
    assert await made.until(lambda: made.watch.polling is None, 5.0), "it never asked again"
    assert made.told[-1] is None
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


async def test_a_file_system_that_hangs_is_told_of_and_changes_nothing(
    tmp_path: Path, hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, well = tmp_path / "hung", tmp_path / "well"
    hung.mkdir()
    well.mkdir()
    listdir = os.listdir

    def slow(path: str) -> list[str]:
        if path == str(hung):
            hanging.wait()
        return listdir(path)

    async with watching([hung, well], notifier=silent, look_s=0.1) as seen:
        monkeypatch.setattr("jobctl_daemon.watching._ANSWER_S", 0.2)
        monkeypatch.setattr("jobctl_daemon.marks.os.listdir", slow)
        before = seen.wakes
        (well / "x").write_text("x")
        assert await seen.until(lambda: seen.wakes > before and str(hung) in seen.watch.hangs, 5.0)
        assert "answer" in seen.watch.hangs[str(hung)]
        assert seen.wakes == before + 1
