"""`jobctl log --times`: each line of a log with the time by which it was there."""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import NotFound, Unavailable, Unreachable
from jobctl.reading.times import rfc3339

#: While it is followed, what has come since is asked for so often.
_AGAIN_MS: Final = 1000
_LINES: Final = re.compile(rb"[^\n]*\n|[^\n]+")


class Timed:
    """Passes the bytes of a log on, with a time in front of each line.

    The daemon knows by when how much had been written, to about a second: a line is told the first time at which the
    piece of it that came was there.
    """

    def __init__(self, session: Session, client: Client, run_id: int, write: Callable[[bytes], None]) -> None:
        self._session = session
        self._client = client
        self._run_id = run_id
        self._write = write
        self._attempt: int | None = None
        self._offset = 0
        self._begins = True
        self._sizes: list[int] = []
        self._times: list[str] = []
        self._asked_ms: int | None = None

    def placed(self, attempt: int, offset: int) -> None:
        """Where the next piece stands."""
        if attempt != self._attempt:
            self._attempt, self._begins, self._asked_ms = attempt, True, None
            self._sizes, self._times = [], []
        self._offset = offset

    def __call__(self, data: bytes) -> None:
        out = bytearray()
        for line in _LINES.findall(data):
            self._offset += len(line)
            if self._begins:
                out += self._head(self._offset)
            self._begins = line.endswith(b"\n")
            out += line
        self._write(bytes(out))

    def _head(self, end: int) -> bytes:
        at = self._time_of(end)
        text = self._session.viewer.clock(at, exact=True) if at else "-"
        return f"{text}  ".encode()

    def _time_of(self, end: int) -> str | None:
        """By when the byte before `end` was there; asked again when it is newer than what is known."""
        if (not self._sizes or end > self._sizes[-1]) and self._may_ask():
            self._ask()
        index = bisect_right(self._sizes, end - 1)
        if index < len(self._times):
            return self._times[index]
        return rfc3339(self._session.world.clock.now_ms()) if self._times else None

    def _may_ask(self) -> bool:
        now_ms = self._session.world.clock.boot_ms()
        if self._asked_ms is not None and now_ms - self._asked_ms < _AGAIN_MS:
            return False
        self._asked_ms = now_ms
        return True

    def _ask(self) -> None:
        try:
            found: list[list[Any]] = self._client.log_times(self._run_id, self._attempt)["items"]
        except (NotFound, Unreachable, Unavailable):
            return  # a daemon of before has none; one that is away is asked again
        self._sizes = [int(size) for size, _ in found]
        self._times = [str(at) for _, at in found]
