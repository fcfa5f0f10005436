"""The event stream: in order, resumable, with a snapshot, and nobody slow holds anything up."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.sse import Message, messages
from jobctl_daemon.api import connection, door, events
from unit.api.world import World, world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


class Stream:
    """A reader of the event stream."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.raw = b""

    @property
    def got(self) -> list[Message]:
        return list(messages([self.raw.partition(b"\r\n\r\n")[2]]))

    async def until(self, count: int) -> list[Message]:
        """The first `count` messages, as soon as they are there."""
        async with asyncio.timeout(10):
            while len(self.got) < count:
                await self._more()
        return self.got[:count]

    async def until_bytes(self, wanted: bytes) -> None:
        async with asyncio.timeout(10):
            while wanted not in self.raw:
                await self._more()

    async def _more(self) -> None:
        piece = await self._reader.read(1 << 20)
        assert piece, self.raw[-300:]
        self.raw += piece

    async def end(self) -> list[Message]:
        async with asyncio.timeout(10):
            self.raw += await self._reader.read()
        return self.got


async def listening(api: World, query: str = "", *headers: str) -> Stream:
    head = "\r\n".join([f"GET /v1/events{query} HTTP/1.0", *headers, "", ""])  # 1.0: no chunks
    reader, _ = await api.connect(head.encode())
    stream = Stream(reader)
    await stream.until_bytes(b"\r\n\r\n")
    return stream


def kinds(got: list[Message]) -> list[str]:
    return [message.event for message in got]


def data(message: Message) -> Any:
    return json.loads(message.data)


async def test_a_reader_hears_what_happens_from_now_on(api: World) -> None:
    await api.add(name="before")
    stream = await listening(api)
    job = await api.add(name="after")
    (message,) = await stream.until(1)
    assert (message.event, data(message)["job_id"], data(message)["data"]["name"]) == (
        "job.created",
        job["id"],
        "after",
    )
    assert message.id == str(data(message)["id"])


async def test_a_stream_is_resumed_after_the_last_event_without_a_gap_or_a_double(api: World) -> None:
    stream = await listening(api)
    for number in range(30):
        await api.add(name=f"job-{number}")
    first = await stream.until(10)
    rest = await listening(api, "", f"Last-Event-ID: {first[-1].id}")
    await api.add(name="last")
    got = first + await rest.until(21)
    assert [int(message.id) for message in got] == list(range(1, 32))
    again = await listening(api, f"?after={first[-1].id}&follow=0")
    assert await again.end() == got[10:]


async def test_a_stream_without_follow_ends_with_what_there_is(api: World) -> None:
    await api.add()
    assert kinds(await (await listening(api, "?follow=0")).end()) == ["job.created"]
    assert await (await listening(api, "?follow=0&after=1")).end() == []


async def test_kinds_and_nouns_are_filtered(api: World) -> None:
    claim = await api.claimed()
    await api.end(claim)
    every = await (await listening(api, "?follow=0&after=0")).end()
    assert kinds(await (await listening(api, "?follow=0&after=0&kind=job")).end()) == ["job.created"]
    some = await (await listening(api, "?follow=0&after=0&kind=run.succeeded,job")).end()
    assert kinds(some) == [kind for kind in kinds(every) if kind in ("run.succeeded", "job.created")]


async def test_a_snapshot_comes_first_and_what_follows_continues_it(api: World) -> None:
    for name in ("a", "b"):
        await api.add(name=name)
    claim = await api.claimed("c")
    stream = await listening(api, "?snapshot=1")
    (snapshot,) = await stream.until(1)
    state = data(snapshot)
    assert snapshot.event == "snapshot"
    assert [job["name"] for job in state["jobs"]] == ["a", "b", "c"]
    assert [run["id"] for run in state["runs"]] == [claim.run_id]
    assert snapshot.id == str(state["event"])
    await api.add(name="d")
    _, following = await stream.until(2)
    assert int(following.id) == state["event"] + 1


async def test_an_empty_snapshot_is_json_too(api: World) -> None:
    (snapshot,) = await (await listening(api, "?snapshot=1&follow=0")).end()
    assert data(snapshot) == {"event": 0, "jobs": [], "runs": []}


async def test_a_snapshot_has_more_jobs_than_a_page(api: World) -> None:
    drafts = [{"target": {"shell": "x"}, "name": f"job-{number:04}"} for number in range(2100)]
    assert (await api.ask("POST", "/v1/jobs/import", {"jobs": drafts})).status == 201
    snapshot, *_ = await (await listening(api, "?snapshot=1&follow=0")).end()
    assert [job["name"] for job in data(snapshot)["jobs"]] == [draft["name"] for draft in drafts]


async def test_a_reader_from_another_database_is_reset(api: World) -> None:
    await api.add()
    stream = await listening(api, "", "Last-Event-ID: 999999")
    (reset,) = await stream.until(1)
    assert (reset.event, data(reset)["event"]) == ("reset", 1)
    await api.add(name="next")
    assert kinds(await stream.until(2)) == ["reset", "job.created"]


async def test_a_reader_who_is_too_old_is_reset(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        await api.add(name=f"job-{number}")

    async def span() -> tuple[int, int]:
        return 4, 5

    monkeypatch.setattr(api.store, "event_span", span)
    assert kinds(await (await listening(api, "?after=1&follow=0")).end()) == ["reset"]
    assert [message.id for message in await (await listening(api, "?after=3&follow=0")).end()] == ["4", "5"]


async def test_a_comment_keeps_a_quiet_stream_alive(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.02)
    stream = await listening(api)
    await stream.until_bytes(b":\n\n:\n\n")
    await api.add()
    assert kinds(await stream.until(1)) == ["job.created"]


async def test_a_reader_who_takes_nothing_is_dropped_and_costs_little(
    api: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STALL_S", 0.2)
    monkeypatch.setattr(door, "SWEEP_S", 0.05)
    reader, writer = await api.connect(b"GET /v1/events?after=0 HTTP/1.0\r\n\r\n")
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await api.settled()
    drafts = [{"target": {"shell": "x" * 100}, "name": f"j{number}-" + "n" * 100} for number in range(4000)]
    assert (await api.ask("POST", "/v1/jobs/import", {"jobs": drafts})).status == 201
    waiting = await listening(api, "?after=0&follow=0")
    assert len(await waiting.end()) == 4000
    assert await _is_gone(api, 1)
    writer.transport.resume_reading()  # type: ignore[attr-defined]
    async with asyncio.timeout(10):
        (got,) = await asyncio.gather(reader.read(), return_exceptions=True)
    assert isinstance(got, ConnectionError) or got.count(b"event: job.created") < 4000


async def _is_gone(api: World, left: int) -> bool:
    """Whether connections end until only so many are left, this question's own included."""
    async with asyncio.timeout(10):
        while len(api.server.door) >= left:
            await asyncio.wait([asyncio.ensure_future(api.ask("GET", "/v1/health/live"))])
    return True


async def test_streams_end_when_the_daemon_stops(tmp_path: Path) -> None:
    async with world(tmp_path) as api:
        stream = await listening(api)
        await api.server.stop(2.0)
        assert await stream.end() == []


async def test_a_thousand_events_reach_many_readers_with_one_reading_of_the_store(
    api: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    real = api.store.events

    async def counted(*arguments: Any) -> Any:
        nonlocal read
        read += 1
        return await real(*arguments)

    monkeypatch.setattr(api.store, "events", counted)
    streams = [await listening(api) for _ in range(10)]
    drafts = [{"target": {"shell": "x"}, "name": f"job-{number}"} for number in range(1000)]
    await api.ask("POST", "/v1/jobs/import", {"jobs": drafts})
    for stream in streams:
        assert len(await stream.until(1000)) == 1000
    assert read == 0


@pytest.mark.parametrize("header", ["Last-Event-ID: x", "Last-Event-ID: -1", "Last-Event-ID: " + "9" * 40])
async def test_an_id_that_is_none_is_refused(api: World, header: str) -> None:
    reader, _ = await api.connect(f"GET /v1/events HTTP/1.0\r\n{header}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        assert b" 422 " in await reader.readline()
