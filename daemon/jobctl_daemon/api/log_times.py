"""GET /v1/runs/{id}/log/times: by when how much of an attempt's output had been written."""

import asyncio
from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import NotFound
from jobctl.model import Attempt
from jobctl.reading.times import milliseconds
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import Query
from jobctl_daemon.execution.logs import LogFiles


class Wanted(Query, frozen=True):
    """Of the last attempt unless a number is given."""

    attempt: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)] | None = None


async def times(call: Call) -> StreamResponse:
    """`items` are (bytes, time), both growing: the byte at an offset was written before the time of the first item with
    more bytes, and after that of the item before it."""
    wanted = call.query(Wanted)
    attempts = await call.services.store.attempts(call.caller, call.run_id)
    chosen = [attempt for attempt in attempts if wanted.attempt in (None, attempt.attempt)]
    if not chosen:
        raise NotFound(
            f"run {call.run_id} has no attempt {wanted.attempt}" if attempts else f"run {call.run_id} has not started",
            "see `jobctl show` for its attempts",
        )
    attempt = chosen[-1]
    noted = await asyncio.to_thread(_noted, call.services.logs, attempt)
    last = await asyncio.to_thread(_last, call.services.logs, attempt, call.now_ms)
    return answer({
        "schema": wire.SCHEMA,
        "attempt": attempt.attempt,
        "complete": attempt.ended_at is not None,
        "items": [[size, wire.rfc3339(at_ms)] for size, at_ms in _joined(noted, last)],
    })  # fmt: skip


def _noted(logs: LogFiles, attempt: Attempt) -> list[tuple[int, int]]:
    """From its start on, what its runner has noted."""
    began = attempt.started_at or attempt.claimed_at
    return [(0, milliseconds(began)), *logs.times(attempt.run_id, attempt.fence)]


def _last(logs: LogFiles, attempt: Attempt, now_ms: int) -> tuple[int, int]:
    """All of it, by its end or by now."""
    if attempt.ended_at is not None:
        return attempt.log_size or 0, milliseconds(attempt.ended_at)
    reader = logs.open(attempt.run_id, attempt.fence)
    if reader is None:
        return 0, now_ms
    try:
        return reader.size(), now_ms
    finally:
        reader.close()


def _joined(noted: list[tuple[int, int]], last: tuple[int, int]) -> list[tuple[int, int]]:
    """What was noted and fits before the last, which ends it. Times never go back, as the clock may have."""
    kept = [item for item in noted if item[0] < last[0] or item[0] == 0]
    if last[0] > 0:
        kept.append((last[0], max(last[1], kept[-1][1])))
    return kept
