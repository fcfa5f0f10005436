"""One request as a verb sees it: who calls, what was sent, decoded into typed values at the door."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from aiohttp import HttpVersion11, hdrs
from aiohttp.web_exceptions import HTTPRequestEntityTooLarge
from aiohttp.web_protocol import RequestPayloadError
from aiohttp.web_request import BaseRequest

from jobctl import wire
from jobctl.errors import InvalidInput, TooLarge
from jobctl.schedule import parse_when
from jobctl_daemon.api.context import Services
from jobctl_daemon.api.feed import Feed
from jobctl_daemon.api.limits import ARRIVE_S, BODY_BYTES_MAX, KEY_CHARS_MAX, QUERY_FIELDS_MAX
from jobctl_daemon.api.problems import Refused
from jobctl_daemon.drafts import checked_queue
from jobctl_daemon.rows import Caller, Request

T = TypeVar("T")
_RUN_ID: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_KEY: Final = re.compile(rf"[\x20-\x7e]{{1,{KEY_CHARS_MAX}}}", re.ASCII)
_SELECTOR_CHARS_MAX: Final = 255


class Call:
    """What a verb is given."""

    __slots__ = ("_query", "again", "caller", "feed", "params", "request", "services")

    def __init__(
        self,
        request: BaseRequest,
        services: Services,
        feed: Feed,
        caller: Caller,
        params: list[str],
        query: str,
        again: Callable[[], Awaitable[Caller]],
    ) -> None:
        self.request = request
        self.services = services
        self.feed = feed
        self.caller = caller
        self.params = params
        self.again = again
        """Who the caller is by now, for what takes long: a role may be taken away. `Forbidden`: nobody any more."""
        self._query = query

    @property
    def now_ms(self) -> int:
        return self.services.clock.now_ms()

    # ── the path ──────────────────────────────────────────────

    @property
    def selector(self) -> str:
        """A job's id, name or uid prefix: looked up in the store and nowhere else."""
        return self.selected(self.params[0], "id")

    def selected(self, text: str, field: str) -> str:
        """The same, wherever a caller wrote it."""
        if len(text) > _SELECTOR_CHARS_MAX or not text.isprintable():
            raise InvalidInput("this cannot be a job's name or id", "see `jobctl ls`", field=field)
        return text

    @property
    def run_id(self) -> int:
        """Only a number gets past here, so that a log's path is made of numbers alone."""
        text = self.params[0]
        if not _RUN_ID.fullmatch(text):
            raise InvalidInput(
                f"{text[:40]!r} is not the id of a run: ids are numbers", "see `jobctl runs`", field="id"
            )
        return int(text)

    @property
    def queue(self) -> str:
        """The name of a queue."""
        return checked_queue(self.params[0], "name")

    # ── the query ──────────────────────────────────────────────

    def query(self, kind: type[T]) -> T:
        """The query as a value; an unknown or wrong field is an error, a repeated one is a list with commas."""
        if not self._query:
            return kind()
        merged: dict[str, str] = {}
        try:
            for name, value in parse_qsl(
                self._query, keep_blank_values=True, errors="strict", max_num_fields=QUERY_FIELDS_MAX
            ):
                merged[name] = f"{merged[name]},{value}" if name in merged else value
            return msgspec.convert(merged, kind, strict=False)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"the query is not right: {error}", "see docs/api.md") from error
        except ValueError as error:
            raise InvalidInput("the query cannot be read", "percent-encode UTF-8, at most 64 fields") from error

    def instant(self, text: str | None, field: str, timezone: str | None = None) -> int | None:
        """A time that a caller wrote, in ms; local times are of the zone given, else of the host's."""
        if text is None:
            return None
        try:
            return parse_when(text, self.now_ms, timezone or self.services.host.timezone)
        except InvalidInput as error:
            raise InvalidInput(
                error.message, error.hint, field=error.field if error.field == "timezone" else field
            ) from error

    # ── the body ──────────────────────────────────────────────

    async def body(self, kind: type[T]) -> T:
        """The body as a value of the model."""
        return wire.decode(await self._read(), kind)

    async def body_or_default(self, kind: type[T]) -> T:
        """As `body`; an empty one is the value with all its defaults."""
        data = await self._read()
        return wire.decode(data, kind) if data.strip() else kind()

    async def _read(self) -> bytes:
        if (self.request.content_length or 0) > BODY_BYTES_MAX:
            raise _too_large()
        try:
            async with asyncio.timeout(ARRIVE_S):
                await self._continue()
                return await self.request.read()
        except TimeoutError as error:
            raise Refused(408, f"the body did not arrive within {ARRIVE_S:g} s", "send it at once") from error
        except HTTPRequestEntityTooLarge as error:
            raise _too_large() from error
        except RequestPayloadError as error:
            raise Refused(
                400, "the body is not what its headers say", "see Content-Length and Transfer-Encoding"
            ) from error

    async def _continue(self) -> None:
        """curl waits a second for this before it sends a large body."""
        expected = self.request.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
        if expected and self.request.version >= HttpVersion11 and not self.request.content.is_eof():
            await self.request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.request.writer.output_size = 0

    def idempotency(self, verb: str, body: object) -> Request | None:
        """The caller's key with the hash of what was asked; of its meaning, not of its bytes."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        if not _KEY.fullmatch(key):
            raise InvalidInput(
                f"an idempotency key is 1 to {KEY_CHARS_MAX} printable ASCII characters",
                "a UUID will do",
                field="Idempotency-Key",
            )
        return Request(key=key, verb=verb, body_hash=hashlib.sha256(_canonical(body)).hexdigest())


def _canonical(body: object) -> bytes:
    """The same bytes for the same meaning: fields sorted, defaults filled in, 2.0 written as 2."""
    return msgspec.json.encode(_whole(msgspec.to_builtins(body)), order="sorted")


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _too_large() -> TooLarge:
    return TooLarge(f"the body is over {BODY_BYTES_MAX // 1024} KiB", "put large input in a file: payload_ref")
