"""GET /v1/events: what happens, as server-sent events (WHATWG HTML, 9.2)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

import msgspec
from aiohttp import hdrs
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import InvalidInput
from jobctl.states import ACTIVE
from jobctl_daemon.api.answers import stream
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.feed import Feed, message
from jobctl_daemon.api.limits import PAGE_MAX
from jobctl_daemon.api.queries import Query, listed
from jobctl_daemon.rows import JobFilter, RunFilter

HEARTBEAT_S: Final = 15.0


class Wanted(Query, frozen=True):
    """`kind`: kinds or nouns with commas, such as `run.failed,job`. `after`: as Last-Event-ID."""

    snapshot: bool = False
    kind: str | None = None
    follow: bool = True
    after: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)] | None = None


async def events(call: Call) -> StreamResponse:
    """From where the reader stands, or from now on; with a snapshot first if it wants one."""
    wanted = call.query(Wanted)
    position = _last_event_id(call) if wanted.after is None else wanted.after
    with call.feed.reading():
        response = stream("text/event-stream", {})
        await response.prepare(call.request)
        if wanted.snapshot:
            position = await _send_snapshot(call, response)
        elif position is None:
            position = call.feed.newest if wanted.follow else (await call.services.store.event_span())[0] - 1
        await _send(call, response, wanted, position)
        await response.write_eof()
    return response


def _last_event_id(call: Call) -> int | None:
    text = call.request.headers.get("Last-Event-ID", call.request.headers.get(hdrs.LAST_EVENT_ID, ""))
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidInput("Last-Event-ID is not the number of an event", "send an `id:` of this stream back")
    return int(text)


async def _send(call: Call, response: StreamResponse, wanted: Wanted, position: int) -> None:
    """Until the reader goes, the daemon stops, or there is nothing more and no follow."""
    feed, kinds = call.feed, frozenset(listed(wanted.kind))
    if await feed.lost(position):
        position = await _send_reset(feed, response, position)
    silence = Silence()
    while call.request.transport is not None:
        batch = await feed.after(position, await call.again())
        data = b"".join(frame.data for frame in batch.frames if not kinds or _is_of(frame.kind, kinds))
        if data:
            await response.write(data)
            silence.begins()
        if batch.frames:
            position = batch.reached
        elif position < feed.newest and await feed.lost(position):
            position = await _send_reset(feed, response, position)
            silence.begins()
        elif position < batch.reached:
            position = batch.reached  # the rest is not for this caller
        elif not wanted.follow or feed.closing:
            return
        else:
            await feed.news(position, silence.left_s)
        if silence.left_s <= 0 and not feed.closing:
            await response.write(b":\n\n")
            silence.begins()


class Silence:
    """Since when a reader has got nothing: what happens to others neither breaks it nor makes it longer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.begins()

    def begins(self) -> None:
        """Something has been sent."""
        self._since_s = self._loop.time()

    @property
    def left_s(self) -> float:
        """Until the reader is due a sign of life."""
        return max(0.0, HEARTBEAT_S - (self._loop.time() - self._since_s))


async def _send_reset(feed: Feed, response: StreamResponse, position: int) -> int:
    """What came in between is gone: the reader should read a snapshot."""
    await response.write(message("reset", wire.encode({"event": feed.newest, "asked": position}), feed.newest))
    return feed.newest


def _is_of(kind: str, kinds: frozenset[str]) -> bool:
    return kind in kinds or kind.partition(".")[0] in kinds


# ── the snapshot ──────────────────────────────────────────────


async def _send_snapshot(call: Call, response: StreamResponse) -> int:
    """Jobs and active runs in one message, page by page. Its number was read first: what follows may repeat some of
    it, but misses nothing."""
    newest = call.feed.newest
    await response.write(b'id: %d\nevent: snapshot\ndata: {"event":%d,"jobs":[' % (newest, newest))
    await _send_items(response, _job_pages(call))
    await response.write(b'],"runs":[')
    await _send_items(response, _run_pages(call))
    await response.write(b"]}\n\n")
    return newest


async def _send_items(response: StreamResponse, pages: AsyncIterator[list[bytes]]) -> None:
    separator = b""
    async for items in pages:
        if items:
            await response.write(separator + b",".join(items))
            separator = b","


async def _job_pages(call: Call) -> AsyncIterator[list[bytes]]:
    cursor: str | None = None
    while True:
        wanted = JobFilter(limit=PAGE_MAX, cursor=cursor)
        jobs, cursor = await call.services.store.jobs(call.caller, wanted)
        yield [wire.encode(job) for job in jobs]
        if cursor is None:
            return


async def _run_pages(call: Call) -> AsyncIterator[list[bytes]]:
    cursor: str | None = None
    while True:
        wanted = RunFilter(states=tuple(sorted(ACTIVE)), limit=PAGE_MAX, cursor=cursor)
        runs, cursor = await call.services.store.runs(call.caller, wanted)
        yield [wire.encode(run) for run in runs]
        if cursor is None:
            return
