"""The feed: what is kept in memory, who is woken, and when the store is asked."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from jobctl_daemon.api import feed as feeds
from jobctl_daemon.api.feed import Feed
from jobctl_daemon.rows import Caller, Owned

ME = Caller(uid=0, name="me", all_owners=True)
ADA, NEWCOMER = Caller(uid=1000, name="ada"), Caller(uid=1001, name="new")


def event(number: int, run_id: int | None = None, owner_id: int = 1) -> Owned:
    return Owned(
        id=number, at="2027-01-15T08:00:00Z", kind="run.ready", job_id=1, run_id=run_id, data={}, owner_id=owner_id
    )


class Log:
    """The part of a store that the feed uses."""

    def __init__(self, count: int = 0) -> None:
        self.kept = [event(number) for number in range(1, count + 1)]
        self.reads = 0
        self.owners = {(ADA.uid, ADA.name): 1}
        self.numbers_asked: list[int] = []
        self._listener: Callable[[Sequence[Owned]], None] = lambda _: None

    def listen(self, listener: Callable[[Sequence[Owned]], None]) -> None:
        self._listener = listener

    async def event_span(self) -> tuple[int, int]:
        return (self.kept[0].id, self.kept[-1].id) if self.kept else (1, 0)

    async def owner_id(self, owner: Caller) -> int | None:
        self.numbers_asked.append(self.owners.get((owner.uid, owner.name), -1))
        return self.numbers_asked[-1]

    async def events(self, after: int, limit: int, owner: Caller | None) -> list[Owned]:
        self.reads += 1
        return [one for one in self.kept if one.id > after][:limit]

    def commit(self, *events: Owned) -> None:
        self.kept += events
        self._listener(events)


async def opened(log: Log) -> Feed:
    feed = Feed(log)  # type: ignore[arg-type]
    await feed.open()
    return feed


async def test_who_follows_is_served_from_memory_and_who_is_behind_from_the_store() -> None:
    log = Log(3)
    feed = await opened(log)
    with feed.reading():
        log.commit(event(4), event(5))
        assert [frame.id for frame in (await feed.after(3, ME)).frames] == [4, 5]
        assert [frame.id for frame in (await feed.after(4, ME)).frames] == [5]
        assert await feed.after(5, ME) == ((), 5)
        assert log.reads == 0
        assert [frame.id for frame in (await feed.after(1, ME)).frames] == [2, 3, 4, 5]
        assert log.reads == 1


async def test_nothing_is_kept_while_nobody_reads() -> None:
    log = Log()
    feed = await opened(log)
    log.commit(event(1), event(2))
    assert feed._tail == []
    with feed.reading():
        log.commit(event(3))
        assert [frame.id for frame in (await feed.after(0, ME)).frames] == [1, 2, 3]
        assert log.reads == 1
    assert feed._tail == []


async def test_the_tail_is_bounded_and_who_falls_out_of_it_reads_the_store() -> None:
    log = Log()
    feed = await opened(log)
    with feed.reading():
        for start in range(1, 20_001, 100):
            log.commit(*(event(number) for number in range(start, start + 100)))
        assert len(feed._tail) <= 2 * feeds._TAIL_MAX
        first = (await feed.after(0, ME)).frames
        assert (log.reads, len(first), first[0].id) == (1, feeds.PAGE, 1)
        position, seen = 0, 0
        while frames := (await feed.after(position, ME)).frames:
            assert frames[0].id == position + 1
            position, seen = frames[-1].id, seen + len(frames)
        assert seen == 20_000


async def test_every_waiter_is_woken_and_one_who_gives_up_spoils_nothing() -> None:
    log = Log()
    feed = await opened(log)
    patient = [asyncio.ensure_future(feed.news(0, 30)) for _ in range(3)]
    assert not await feed.news(0, 0.01)
    log.commit(event(1))
    assert await asyncio.gather(*patient) == [True] * 3
    assert await feed.news(0, 30)


async def test_a_closing_feed_lets_everybody_go() -> None:
    feed = await opened(Log())
    waiting = asyncio.ensure_future(feed.news(0, 30))
    with feed.run(7) as watch:
        watching = asyncio.ensure_future(watch.news(30))
        await asyncio.wait([waiting, watching], timeout=0.01)
        feed.close()
        assert await waiting is False
        assert await watching is True


async def test_a_watch_hears_of_its_run_alone_and_misses_nothing_between_waits() -> None:
    log = Log()
    feed = await opened(log)
    with feed.run(7) as watch:
        log.commit(event(1, run_id=8), event(2))
        assert not await watch.news(0.01)
        log.commit(event(3, run_id=7))
        log.commit(event(4, run_id=7))
        assert await watch.news(30)
        assert not await watch.news(0.01)
        log.commit(event(5, run_id=7))
        assert await watch.news(30)
    assert feed._runs == {}


async def test_a_position_that_the_log_no_longer_has_is_lost() -> None:
    log = Log(10)
    del log.kept[:5]
    feed = await opened(log)
    with feed.reading():
        assert [await feed.lost(position) for position in (0, 4, 5, 10, 11)] == [True, True, False, False, True]


async def test_an_event_that_cannot_be_kept_is_read_from_the_store_and_the_feed_goes_on() -> None:
    log, beats = Log(3), list[str | None]()
    feed = Feed(log, beats.append)  # type: ignore[arg-type]
    await feed.open()
    odd = Owned(id=5, at="x", kind="run.ready", job_id=1, run_id=None, data={"odd": object()}, owner_id=1)
    with feed.reading():
        log.commit(event(4), odd)
        log.kept[-1] = event(5)
        assert [frame.id for frame in (await feed.after(3, ME)).frames] == [4, 5]
        assert log.reads == 1
        log.commit(event(6))
        assert [frame.id for frame in (await feed.after(5, ME)).frames] == [6]
        assert log.reads == 1
    assert [error is None for error in beats] == [False, True]


async def test_who_sees_only_his_own_hears_of_nothing_else_and_misses_none_of_it() -> None:
    log = Log()
    feed = await opened(log)
    with feed.reading():
        log.commit(*(event(number, owner_id=2) for number in range(1, feeds.PAGE + 100)))
        log.commit(event(feeds.PAGE + 100, owner_id=1), event(feeds.PAGE + 101, owner_id=0))
        assert await feed.after(0, ADA) == ([], feeds.PAGE)
        batch = await feed.after(feeds.PAGE, ADA)
        assert ([frame.id for frame in batch.frames], batch.reached) == ([feeds.PAGE + 100], feeds.PAGE + 101)
        assert (await feed.after(0, NEWCOMER)).frames == []
        assert log.reads == 0
        assert log.numbers_asked == [1, -1]
        log.owners[NEWCOMER.uid, NEWCOMER.name] = 2
        assert len((await feed.after(0, NEWCOMER)).frames) == feeds.PAGE


async def test_a_renamed_owner_has_another_number_at_once() -> None:
    log = Log()
    feed = await opened(log)
    with feed.reading():
        log.commit(event(1, owner_id=1))
        assert [frame.id for frame in (await feed.after(0, ADA)).frames] == [1]
        log.owners[ADA.uid, ADA.name] = 3
        log.commit(msgspec.structs.replace(event(2, owner_id=3), kind=feeds.RENAMED))
        assert [frame.id for frame in (await feed.after(0, ADA)).frames] == [2]


def test_a_message_does_not_tell_the_number_of_its_owner() -> None:
    frame = feeds.frame_of(event(1, owner_id=77))
    assert b"77" not in frame.data
    assert b"owner" not in frame.data
