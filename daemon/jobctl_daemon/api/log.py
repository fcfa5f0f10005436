"""GET /v1/runs/{id}/log: the bytes of an attempt's output, resumable by offset, live with `follow`."""

import asyncio
from typing import Annotated, Final

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.errors import NotFound
from jobctl.model import Attempt
from jobctl.states import ENDED
from jobctl_daemon.api.answers import stream
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.feed import RunWatch
from jobctl_daemon.api.queries import Query
from jobctl_daemon.execution.logs import Chunk, LogReader

_CHUNK: Final = 64 << 10
_FAR: Final = 1 << 60
#: A follower looks at the file's size so often. Only while there is one.
POLL_S: Final = 0.15
#: A log that is suddenly shorter was truncated by its command, or has ended and was compacted: its end tells, soon.
_SETTLE_S: Final = 1.0
_QUIET_S: Final = 15.0
#: A reader is asked so often whether it still may.
_AUTHORITY_MS: Final = 1_000


class Wanted(Query, frozen=True):
    """`offset` counts all bytes ever written, from the end when negative; `limit` counts bytes sent."""

    attempt: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)] | None = None
    offset: Annotated[int, msgspec.Meta(ge=-_FAR, le=_FAR)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=_FAR)] = _FAR
    follow: bool = False


async def log(call: Call) -> StreamResponse:
    """The log from `offset` on; with `follow` until its attempt has ended."""
    wanted = call.query(Wanted)
    with call.feed.run(call.run_id) as watch:
        attempt = await _attempt(call, watch, wanted)
        reading = Reading(call, watch, wanted, attempt)
        try:
            response = await reading.begin()
            await reading.send(response)
        finally:
            reading.close()
    await response.write_eof()
    return response


async def _attempt(call: Call, watch: RunWatch, wanted: Wanted) -> Attempt:
    """The attempt that is meant: the last one unless a number is given. A follower waits for one to begin."""
    while True:
        attempts = await call.services.store.attempts(await call.again(), call.run_id)
        chosen = [attempt for attempt in attempts if wanted.attempt in (None, attempt.attempt)]
        if chosen:
            return chosen[-1]
        run = await call.services.store.run(call.caller, call.run_id)
        if not wanted.follow or run.state in ENDED or call.feed.closing or call.request.transport is None:
            raise NotFound(
                f"run {run.id} has no attempt {wanted.attempt}" if attempts else f"run {run.id} has not started",
                "see `jobctl show` for its attempts",
            )
        await watch.news(_QUIET_S)


async def _open(call: Call, attempt: Attempt) -> LogReader | None:
    """None when there is no file: not yet, or the command never began. `NotFound` when it was removed."""
    size = attempt.log_size if attempt.ended_at is not None else None
    try:
        reader = await asyncio.to_thread(call.services.logs.open, attempt.run_id, attempt.fence, size)
    except OSError as error:  # something else lies under its name, or the disk fails
        raise NotFound(f"the log of run {attempt.run_id} cannot be read: {error}", "see the state folder") from error
    if reader is None and size:
        raise NotFound(f"the log of run {attempt.run_id} is no longer kept", "retention is set in jobd.toml")
    return reader


class Reading:
    """One reader of one log, from the headers to the last byte."""

    def __init__(self, call: Call, watch: RunWatch, wanted: Wanted, attempt: Attempt) -> None:
        self._call = call
        self._watch = watch
        self._wanted = wanted
        self._attempt = attempt
        self._reader: LogReader | None = None
        self._left = wanted.limit
        self._position = 0
        self._asked_ms = call.services.clock.boot_ms()

    @property
    def _over(self) -> bool:
        return self._attempt.ended_at is not None

    async def begin(self) -> StreamResponse:
        """Finds the place and sends the headers."""
        self._reader = await _open(self._call, self._attempt)
        size = await self._size()
        if self._wanted.offset > size and not self._over:
            await self._settle()
            size = await self._size()
        reset = self._wanted.offset > size
        self._position = 0 if reset else self._wanted.offset
        if self._position < 0:
            self._position = max(0, size + self._position)
        response = stream("application/octet-stream", await self._headers(size, reset))
        await response.prepare(self._call.request)
        return response

    async def _headers(self, size: int, reset: bool) -> dict[str, str]:
        dropped = await asyncio.to_thread(self._reader.dropped) if self._reader is not None else None
        inside = dropped is not None and dropped.start <= self._position < dropped.end
        headers = {
            "Jobctl-Log-Offset": str(dropped.end if dropped is not None and inside else self._position),
            "Jobctl-Log-Size": str(size),
            "Jobctl-Log-Attempt": str(self._attempt.attempt),
            "Jobctl-Log-Complete": str(int(self._over)),
        }
        if dropped is not None:
            headers["Jobctl-Log-Dropped"] = f"{dropped.start}-{dropped.end}"
            headers["Jobctl-Log-Marker"] = str(len(dropped.marker))
        if reset:
            headers["Jobctl-Log-Reset"] = "1"
        return headers

    def close(self) -> None:
        """Lets go of the file."""
        if self._reader is not None:
            self._reader.close()

    async def send(self, response: StreamResponse) -> None:
        """All there is; with `follow` also what comes. Ends early when the command has truncated its log."""
        while self._left > 0 and self._call.request.transport is not None:
            await self._may_still()
            over = self._over  # known before the look, so that the look has seen the last byte
            chunk = await self._read()
            if chunk.data:
                await self._pass_on(response, chunk)
            elif over or not self._wanted.follow or self._call.feed.closing or await self._size() < self._position:
                return
            else:
                await self._wait(POLL_S)

    async def _may_still(self) -> None:
        """Now and then: a right that was taken away ends what it began. Raises what a new request would be told."""
        boot_ms = self._call.services.clock.boot_ms()
        if boot_ms - self._asked_ms >= _AUTHORITY_MS:
            self._asked_ms = boot_ms
            caller = await self._call.again()
            if caller != self._call.caller:
                await self._call.services.store.run(caller, self._attempt.run_id)
                self._call.caller = caller

    async def _pass_on(self, response: StreamResponse, chunk: Chunk) -> None:
        if chunk.dropped is not None:
            await response.write(chunk.dropped.marker)
        await response.write(chunk.data)
        self._position = chunk.end
        self._left -= len(chunk.data)

    async def _read(self) -> Chunk:
        if self._reader is None:
            self._reader = await _open(self._call, self._attempt)
            if self._reader is None:
                return Chunk(self._position, b"")
        return await asyncio.to_thread(self._reader.read, self._position, min(_CHUNK, self._left))

    async def _size(self) -> int:
        return 0 if self._reader is None else await asyncio.to_thread(self._reader.size)

    async def _wait(self, within_s: float) -> None:
        """A moment, or until something happens to the run; then the attempt may have ended."""
        if await self._watch.news(within_s):
            await self._look_again()

    async def _look_again(self) -> None:
        attempts = await self._call.services.store.attempts(self._call.caller, self._attempt.run_id)
        self._attempt = next((one for one in attempts if one.fence == self._attempt.fence), self._attempt)

    async def _settle(self) -> None:
        """The file may have been compacted in the moment before the attempt's end is on record: then open it anew."""
        await self._wait(_SETTLE_S)
        if self._over:
            self.close()
            self._reader = None
            self._reader = await _open(self._call, self._attempt)
