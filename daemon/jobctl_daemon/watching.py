"""Watching folders and files for changes: the kernel tells at once, and a look every few seconds misses nothing.

Only folders are watched, never a file itself: an editor that saves by a rename puts another file in its place. Events
can be lost, never come (a network file system), or not be had at all (fs.inotify.max_user_instances); so what counts is
stat(2), and an event only makes the look come earlier.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from jobctl.errors import Unavailable
from jobctl_daemon.asides import Asides
from jobctl_daemon.marks import Mark, marks, watchable

#: So often it looks while the kernel tells of changes, and while it does not.
LOOK_S: Final = 5.0
POLL_S: Final = 2.0
#: So long a file system may take to say what is there.
_ANSWER_S: Final = 2.0
#: After so many looks without events they are asked for again.
_AGAIN: Final = 15
#: What comes within a step of each other is one change; the longest burst that is waited for.
_STEP_MS: Final = 200
_BURST_MS: Final = 1_000
#: After the first of these without a failure the kernel is taken to tell. A busy machine may take longer to come to
#: that, and nobody says when it has, so there is a look after each of them.
_SETTLED_S: Final = (0.5, 1.0, 2.0, 3.5)


class Notifier(Protocol):
    """Blocks until `stop` is set and calls `told` with the paths of each burst of changes in these folders (not below
    them). Raises `OSError` or `ImportError` where that cannot be had."""

    def __call__(
        self, folders: Sequence[str], stop: threading.Event, told: Callable[[Collection[str]], None]
    ) -> None: ...


def kernel_events(folders: Sequence[str], stop: threading.Event, told: Callable[[Collection[str]], None]) -> None:
    """Through watchfiles: inotify(7)."""
    from watchfiles import watch

    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of every burst
    bursts = watch(
        *folders, recursive=False, watch_filter=None, stop_event=stop, step=_STEP_MS, debounce=_BURST_MS,
        rust_timeout=60_000, raise_interrupt=False, force_polling=False, ignore_permission_denied=True,
    )  # fmt: skip
    for burst in bursts:
        told({path for _, path in burst})


class Watch:
    """Calls `wake` on the loop once for each burst of changes, and once at the beginning.

    `tell` is called with the reason when there are no events and looking is all that is left, and with None when there
    are again; `hangs` is what a file system does that gives no answer.
    """

    def __init__(
        self,
        wake: Callable[[], None],
        tell: Callable[[str | None], None],
        notifier: Notifier = kernel_events,
        look_s: float = LOOK_S,
        poll_s: float = POLL_S,
    ) -> None:
        self._wake = wake
        self._tell = tell
        self._notifier = notifier
        self._look_s, self._poll_s = look_s, poll_s
        self._asides = Asides()
        self._folders: tuple[str, ...] = ()
        self._files: tuple[str, ...] = ()
        self._seen: dict[str, dict[str, Mark]] = {}
        self._watched: dict[str, Mark] = {}
        self._stop: threading.Event | None = None
        self._told = asyncio.Event()
        self._looks = 0
        self.polling: str | None = None
        """Why there are no events; None: there are."""
        self.hangs: dict[str, str] = {}
        """Folder → what its file system does not do."""
        self.looked: Callable[[], None] = lambda: None
        """Called when a look has come to its end."""

    def aim(self, folders: Iterable[str], files: Iterable[str] = ()) -> None:
        """What is watched from now on; what is not there yet is waited for."""
        self._folders, self._files = tuple(folders), tuple(files)
        self._told.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                self._told.clear()
                await self._look()
                pause_s = self._poll_s if self.polling else self._look_s if self._folders or self._files else None
                try:
                    async with asyncio.timeout(pause_s):
                        await self._told.wait()
                except TimeoutError:
                    continue
        finally:
            self._end_events()

    # ── looking ──────────────────────────────────────────────────
    async def _look(self) -> None:
        """Wakes when something is not as it was. A file system that hangs changes nothing."""
        places: list[tuple[str, Callable[[], dict[str, Mark]]]] = [
            (folder, partial(marks, [folder], [])) for folder in self._folders
        ]
        if self._files:
            places.append((", ".join(self._files), partial(marks, [], self._files)))
        seen: dict[str, dict[str, Mark]] = {}
        for key, question in places:
            try:
                seen[key] = await self._asides.ask(key, question, _ANSWER_S)
                self.hangs.pop(key, None)
            except Unavailable as error:
                self.hangs[key] = error.message
                seen[key] = self._seen.get(key, {})
        changed = seen != self._seen
        self._seen = seen
        await self._follow()
        if changed:
            self._wake()
        self.looked()

    async def _follow(self) -> None:
        """Events of the folders that are there now; tried again after a while where there were none."""
        try:
            wanted = await self._asides.ask("folders", partial(watchable, self._folders, self._files), _ANSWER_S)
        except Unavailable:
            return
        self._looks += 1
        if wanted == self._watched and (self.polling is None or self._looks < _AGAIN):
            return
        self._looks = 0
        self._watched = wanted
        self._end_events()
        if wanted:
            self._begin_events(sorted(wanted))

    # ── events ───────────────────────────────────────────────────
    def _begin_events(self, folders: list[str]) -> None:
        loop = asyncio.get_running_loop()
        stop = self._stop = threading.Event()
        thread = threading.Thread(target=self._listen, args=(loop, folders, stop), name="watch", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._failed(stop, f"no thread can be had ({error})")
        else:
            for after_s in _SETTLED_S:
                loop.call_later(after_s, self._listens, stop)

    def _listen(self, loop: asyncio.AbstractEventLoop, folders: list[str], stop: threading.Event) -> None:
        """In a thread of its own."""

        def told(paths: Collection[str]) -> None:
            loop.call_soon_threadsafe(self._heard, stop, paths)

        why = "watching has ended"
        try:
            self._notifier(folders, stop, told)
        except (OSError, ImportError, RuntimeError) as error:
            why = _words(error)
        if not stop.is_set():
            with suppress(RuntimeError):  # the loop is closed: the daemon has ended
                loop.call_soon_threadsafe(self._failed, stop, why)

    def _end_events(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _listens(self, stop: threading.Event) -> None:
        """It has not failed so far. What changed before the kernel began to tell is found by this look."""
        if self._stop is stop:
            self._say(None)
            self._told.set()

    def _heard(self, stop: threading.Event, paths: Collection[str]) -> None:
        """Changes around the folders that concern nobody are no reason to look.

        One of a watched folder itself may be its end. The kernel watches an inode, and the folder that takes its place
        mostly gets the same number: it cannot be told from the one before, so it is watched anew.
        """
        if self._stop is not stop:
            return
        concerned = any(self._concerns(path) for path in paths)
        if not self._watched.keys().isdisjoint(paths):
            self._watched = {}
            concerned = True
        if concerned:
            self._told.set()

    def _concerns(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder in self._folders or any(folder == os.path.dirname(file) for file in self._files):
            return True
        above = path + os.sep
        if any(place == path or place.startswith(above) for place in (*self._folders, *self._files)):
            return True
        return folder in self._watched and not self._is_around(folder)

    def _is_around(self, folder: str) -> bool:
        """Watched only because something below it may come or go."""
        inside = folder.rstrip(os.sep) + os.sep
        return any(place.startswith(inside) for place in (*self._folders, *self._files))

    def _failed(self, stop: threading.Event, why: str) -> None:
        if self._stop is stop:
            self._stop = None
            self._say(f"{why}: changes are found by looking every {self._poll_s:g} s")
            self._told.set()  # from now on at the other pace

    def _say(self, why: str | None) -> None:
        if why != self.polling:
            self.polling = why
            self._tell(why)


def _words(error: Exception) -> str:
    text = str(error)
    if "os error 24" in text.lower() or "too many open files" in text.lower():
        return "the kernel gives no more watches to this user (fs.inotify.max_user_instances)"
    if "os error 28" in text.lower() or "no space left" in text.lower() or "watch limit" in text.lower():
        return "the kernel watches no more files for this user (fs.inotify.max_user_watches)"
    return f"files cannot be watched ({text})"
