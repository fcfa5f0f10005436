"""The event feed: what has just happened, kept in memory while somebody listens, and read from the store otherwise.

Each event becomes bytes once, however many readers there are. A reader asks for what follows the event it has seen;
nothing is queued for it, so one that is slow costs nothing: it falls back to the store, and in the end to a reset.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import structlog

from jobctl import wire
from jobctl.model import Event
from jobctl_daemon.rows import Caller, Owned
from jobctl_daemon.store import Store

_TAIL_MAX: Final = 4096
PAGE: Final = 500
#: From then on an account has another number.
RENAMED: Final = "owner.renamed"


class Frame(NamedTuple):
    """An event as its readers get it."""

    id: int
    kind: str
    data: bytes
    owner_id: int


class Batch(NamedTuple):
    """What follows an event, for one reader; `reached`: nothing up to there is left for him."""

    frames: Sequence[Frame]
    reached: int


def frame_of(event: Owned) -> Frame:
    """The event as a message of a stream (WHATWG HTML, 9.2): JSON has no line ends, so one data line is enough."""
    shown = Event(id=event.id, at=event.at, kind=event.kind, job_id=event.job_id, run_id=event.run_id, data=event.data)
    return Frame(event.id, event.kind, message(event.kind, wire.encode(shown), event.id), event.owner_id)


def message(kind: str, data: bytes, event_id: int) -> bytes:
    """One message of the stream."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event_id, kind.encode("ascii", "replace"), data)


class Feed:
    """What the store's commits tell, for everybody who waits for it."""

    def __init__(self, store: Store, beat: Callable[[str | None], None] = lambda _: None) -> None:
        self._store = store
        self._beat = beat
        self._readers = 0
        self._tail: list[Frame] = []
        self._tail_after = 0
        """The tail has every event with a greater number."""
        self._bell: asyncio.Future[None] | None = None
        self._runs: dict[int, set[asyncio.Future[None]]] = {}
        self._owners: dict[tuple[int, str], int] = {}
        """The numbers of readers who own something."""
        self.newest = 0
        self.closing = False

    async def open(self) -> None:
        """Listens; from here on no event is missed."""
        self._store.listen(self._heard)
        _, newest = await self._store.event_span()
        self.newest = max(self.newest, newest)

    def close(self) -> None:
        """Wakes everybody for good: streams end."""
        self.closing = True
        self._ring()
        for run_id in list(self._runs):
            self._ring_run(run_id)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keeps the tail while there is a reader."""
        if self._readers == 0:
            self._tail, self._tail_after = [], self.newest
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            if self._readers == 0:
                self._tail = []

    async def after(self, event_id: int, caller: Caller) -> Batch:
        """Of the events that follow `event_id` those that the caller may see: from memory, or from the store for who is
        behind; of `PAGE` at a time."""
        newest = self.newest
        if event_id >= newest:
            return Batch((), event_id)
        if event_id >= self._tail_after and self._readers:
            first = bisect_right(self._tail, event_id, key=lambda frame: frame.id)
            some = self._tail[first : first + PAGE]
            return Batch(await self._of(caller, some), some[-1].id if some else newest)
        frames = [frame_of(event) for event in await self._store.events(event_id, PAGE, caller)]
        if len(frames) == PAGE:
            newest = frames[-1].id
        return Batch(frames, max(newest, frames[-1].id) if frames else newest)

    async def _of(self, caller: Caller, frames: Sequence[Frame]) -> Sequence[Frame]:
        if caller.all_owners or not frames:
            return frames
        who = (caller.uid, caller.name)
        number = self._owners.get(who)
        if number is None:
            number = await self._store.owner_id(caller)
            if number is not None and number > 0:
                self._owners[who] = number
        return [frame for frame in frames if frame.owner_id == number]

    async def lost(self, event_id: int) -> bool:
        """Whether events after `event_id` are no longer kept, or it is of another database's counting."""
        if self._tail_after <= event_id <= self.newest and self._readers:
            return False
        oldest, newest = await self._store.event_span()
        self.newest = max(self.newest, newest)
        return event_id + 1 < oldest or event_id > self.newest

    async def news(self, event_id: int, within_s: float) -> bool:
        """Waits for an event after `event_id`; False when there was none in time or the feed closes."""
        if event_id >= self.newest and not self.closing:
            if self._bell is None:
                self._bell = asyncio.get_running_loop().create_future()
            await _rung(self._bell, within_s)
        return event_id < self.newest and not self.closing

    @contextmanager
    def run(self, run_id: int) -> Iterator["RunWatch"]:
        """Watches one run. Begin before reading its state, so that nothing falls between."""
        watch = RunWatch(self._runs, run_id)
        try:
            yield watch
        finally:
            watch.end()

    def _heard(self, events: Sequence[Owned]) -> None:
        if not events:
            return
        if any(event.kind == RENAMED for event in events):
            self._owners.clear()
        self.newest = max(self.newest, events[-1].id)
        self._beat(self._keep(events) if self._readers else None)
        if self._runs:
            for event in events:
                if event.run_id in self._runs:
                    self._ring_run(event.run_id)
        self._ring()

    def _keep(self, events: Sequence[Owned]) -> str | None:
        """What cannot be kept is read from the store, by each reader for itself."""
        try:
            self._tail += list(map(frame_of, events))
        except Exception as error:  # noqa: BLE001 - one event that cannot be worded must not silence the feed
            structlog.get_logger().exception("feed.failed", error=f"{type(error).__name__}: {error}")
            self._tail, self._tail_after = [], events[-1].id
            return f"events cannot be kept: {error}"
        if len(self._tail) > 2 * _TAIL_MAX:
            del self._tail[:-_TAIL_MAX]
            self._tail_after = self._tail[0].id - 1
        return None

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)
        self._bell = None

    def _ring_run(self, run_id: int) -> None:
        for waiter in self._runs[run_id]:
            if not waiter.done():
                waiter.set_result(None)


class RunWatch:
    """Wakes its holder when something happens to one run."""

    __slots__ = ("_runs", "_waiter", "run_id")

    def __init__(self, runs: dict[int, set[asyncio.Future[None]]], run_id: int) -> None:
        self._runs = runs
        self.run_id = run_id
        self._waiter = self._arm()

    def _arm(self) -> asyncio.Future[None]:
        waiter = asyncio.get_running_loop().create_future()
        self._runs.setdefault(self.run_id, set()).add(waiter)
        return waiter

    def _disarm(self) -> None:
        waiters = self._runs.get(self.run_id, set())
        waiters.discard(self._waiter)
        if not waiters:
            self._runs.pop(self.run_id, None)

    async def news(self, within_s: float) -> bool:
        """Whether anything has happened to the run since the watch began or this was last True."""
        await _rung(self._waiter, within_s)
        if not self._waiter.done():
            return False
        self._disarm()
        self._waiter = self._arm()
        return True

    def end(self) -> None:
        self._disarm()


async def _rung(bell: asyncio.Future[None], within_s: float) -> None:
    """Waits for a future that others wait for too: it is shielded, so the first to lose patience spoils nothing."""
    if bell.done():
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await asyncio.shield(bell)
