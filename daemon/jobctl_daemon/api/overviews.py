"""What all jobs of a caller come to within a window, computed once for many requests.

Cost grows with the number of jobs, so it is bounded: the nearest jobs come first, and what there was no time for is
counted. It is read in pages and reckoned off the loop. An overview that took long is good for ten times as long, so
that a screen that asks again and again costs the daemon a tenth of a processor at most. Of each account one is made at
a time, and what is read and reckoned for them is done in turn, piece by piece: nobody waits for another's whole one.
"""

import asyncio
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from jobctl.clock import Clock
from jobctl.filters import Filter
from jobctl_daemon.decide.upcoming import Change, Crowd, Lane, Lanes, Sum, Window
from jobctl_daemon.decide.usual import LOOKED_AT, usual
from jobctl_daemon.fair_queue import FairQueue
from jobctl_daemon.rows import Caller, Foreseen, ForeseenFilter
from jobctl_daemon.store import Store

T = TypeVar("T")

#: Jobs that are read and reckoned at once.
_PAGE: Final = 500
#: The same of jobs that are only to be numbered.
_IDS: Final = 4_000
#: So long one overview may be reckoned.
_BUDGET_MS: Final = 2_000
#: Jobs whose usual duration is looked up for it; the others count as taking no time.
_TIMED: Final = 2_000
_TIMED_AT_ONCE: Final = 250
#: Jobs that are shown as late.
_LATE: Final = 500
_KEPT: Final = 8
_GOOD_FOR: Final = 10
_QUICK_MS: Final = 20


class Overview(NamedTuple):
    """All of it but the lanes, which are made for the page that is asked for."""

    over: Window
    order: Sequence[int]
    """The ids of all jobs that have something to come, or are late: late ones, by the next fire, then held ones."""
    late: dict[int, int]
    """Since when those that are late wait."""
    jobs: int
    fires: int
    density: list[int]
    busy: list[float]
    crowded: list[Crowd]
    within: list[Change]
    later: Change | None
    uncounted: int
    """Jobs that there was no time for; some of them may have nothing to come."""
    untimed: int
    """Jobs that count as taking no time, because there was none to look how long they take."""


class _Key(NamedTuple):
    """What was asked, and by whom."""

    caller: Caller
    q: Filter
    from_ms: int
    cell_ms: int
    cells: int


class _Kept(NamedTuple):
    overview: Overview
    event: int
    made_ms: int
    took_ms: int


class Overviews:
    """Those that were asked for last."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: dict[_Key, _Kept] = {}
        self._reckoning = FairQueue()
        self._making: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """By uid; a lock goes with the last who holds it or waits for it."""

    async def of(self, caller: Caller, q: Filter, over: Window, event: int) -> Overview:
        """The overview; `event` is the newest there is: what was quickly made is made anew after each."""
        key = _Key(caller, q, over.from_ms, over.cell_ms, over.cells)
        if (found := self._good(key, event, over.now_ms)) is not None:
            return found
        async with self._making.setdefault(caller.uid, asyncio.Lock()):
            if (found := self._good(key, event, over.now_ms)) is not None:
                return found  # who asked before for the same has it made
            began_ms = self._clock.boot_ms()
            made = await _Making(self._store, self._clock, self._reckoning, caller, q, over).all()
            self._keep(key, _Kept(made, event, began_ms, self._clock.boot_ms() - began_ms))
            return made

    async def of_one(self, caller: Caller, q: Filter, over: Window, job_id: int) -> Overview:
        """Of one job alone, as it is now: what a change of it has done need not wait for all the others."""
        return await _Making(self._store, self._clock, self._reckoning, caller, q, over).one(job_id)

    def _good(self, key: _Key, event: int, wall_ms: int) -> Overview | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.took_ms <= _QUICK_MS:
            good = kept.event == event and kept.overview.over.now_ms == wall_ms
        else:
            good = self._clock.boot_ms() - kept.made_ms < kept.took_ms * _GOOD_FOR
        return kept.overview if good else None

    def _keep(self, key: _Key, made: _Kept) -> None:
        """In the place of the oldest of whoever has the most: nobody drives out all that others have."""
        self._kept.pop(key, None)
        while len(self._kept) >= _KEPT:
            ((uid, _),) = Counter(each.caller.uid for each in self._kept).most_common(1)
            del self._kept[next(each for each in self._kept if each.caller.uid == uid)]
        self._kept[key] = made


class _Making:
    """One overview on its way."""

    def __init__(
        self, store: Store, clock: Clock, reckoning: FairQueue, caller: Caller, q: Filter, over: Window
    ) -> None:
        self._store = store
        self._clock = clock
        self._reckoning = reckoning
        self._caller = caller
        self._wanted = ForeseenFilter(q=q, now_ms=over.now_ms)
        self._over = over
        self._sum = Sum(over)
        self._lanes = Lanes(over)
        self._order: array[int] = array("q")
        self._held: array[int] = array("q")
        self._timed = 0
        self._untimed = 0
        self._uncounted = 0
        self._until_ms = clock.boot_ms() + _BUDGET_MS

    async def all(self) -> Overview:
        late = await self._late()
        await self._timed_jobs(late)
        await self._held_jobs()
        return await self._made(late)

    async def one(self, job_id: int) -> Overview:
        """It is in the order whether it fires or not."""
        late = {key: since_ms for key, since_ms in (await self._late()).items() if key == job_id}
        found = await self._store.foreseen_of(self._caller, [job_id], self._wanted)
        await self._count([job for job in found if not job.held])
        self._order.extend(job.job_id for job in found if job.job_id not in late)
        return await self._made(late)

    async def _made(self, late: dict[int, int]) -> Overview:
        total = self._sum
        await self._reckoned(total.settle)
        within, later = await self._reckoned(total.changes)
        return Overview(
            over=self._over,
            order=array("q", late) + self._order + self._held,
            late=late,
            jobs=total.jobs,
            fires=total.fires,
            density=total.density,
            busy=total.busy(),
            crowded=total.crowded(),
            within=within,
            later=later,
            uncounted=self._uncounted,
            untimed=self._untimed,
        )

    async def _late(self) -> dict[int, int]:
        """Those that are so late that it shows, and since when; the longest first."""
        waiting = dict(await self._store.waiting(self._caller, self._wanted, _LATE))
        jobs = await self._store.foreseen_of(self._caller, list(waiting), self._wanted)
        late_after = {job.job_id: job.late_after_ms for job in jobs}
        return {
            job_id: since_ms
            for job_id, since_ms in waiting.items()
            if job_id in late_after and self._over.now_ms - since_ms > late_after[job_id]
        }

    async def _timed_jobs(self, late: dict[int, int]) -> None:
        after: tuple[int, int] | None = None
        while True:
            until_ms = self._over.until_ms - 1
            if self._late_for_it():
                ids, after = await self._store.foreseen_ids(self._caller, self._wanted, until_ms, after, _IDS)
                self._uncounted += len(ids)
            else:
                found = await self._store.foreseen(self._caller, self._wanted, until_ms, after, _PAGE)
                await self._count(found.jobs)
                ids, after = [job.job_id for job in found.jobs], found.after
            self._order.extend(job_id for job_id in ids if job_id not in late)
            if after is None:
                return

    async def _held_jobs(self) -> None:
        """Held ones that would fire in the window."""
        ids = await self._store.held_jobs(self._caller)
        for first in range(0, len(ids), _PAGE):
            if self._late_for_it():
                self._uncounted += len(ids) - first
                return
            some = await self._store.foreseen_of(self._caller, ids[first : first + _PAGE], self._wanted)
            lanes = await self._reckoned(partial(self._of_each, some))
            self._held.extend(job.job_id for job, of in zip(some, lanes, strict=True) if of.fires)

    def _of_each(self, jobs: Sequence[Foreseen]) -> list[Lane]:
        return list(map(self._lanes.of, jobs))

    def _late_for_it(self) -> bool:
        return self._clock.boot_ms() > self._until_ms

    async def _count(self, jobs: Sequence[Foreseen]) -> None:
        usual_ms = await self._usual([job.job_id for job in jobs])
        await self._reckoned(partial(self._add, jobs, usual_ms))

    def _add(self, jobs: Iterable[Foreseen], usual_ms: dict[int, int]) -> None:
        for job in jobs:
            self._sum.add(job, self._lanes.of(job), usual_ms.get(job.job_id))

    async def _reckoned(self, piece: Callable[[], T]) -> T:
        async with self._reckoning.turn(self._caller):
            return await asyncio.to_thread(piece)

    async def _usual(self, job_ids: list[int]) -> dict[int, int]:
        timed = job_ids[: max(0, _TIMED - self._timed)]
        self._timed += len(timed)
        self._untimed += len(job_ids) - len(timed)
        return await usual_of(self._store, self._caller, timed)


async def usual_of(store: Store, asker: Caller, job_ids: Sequence[int]) -> dict[int, int]:
    """The median in ms of each job that has run well, read in pieces."""
    found: dict[int, int] = {}
    for first in range(0, len(job_ids), _TIMED_AT_ONCE):
        took = await store.took(asker, job_ids[first : first + _TIMED_AT_ONCE], LOOKED_AT)
        found.update((job_id, made.p50_ms) for job_id, all_ms in took.items() if (made := usual(all_ms)) is not None)
    return found


async def lanes(jobs: Sequence[Foreseen], over: Window) -> list[Lane]:
    """Of the jobs of a page, off the loop."""
    known = Lanes(over)
    return await asyncio.to_thread(lambda: [known.of(job) for job in jobs])
