"""All lines of a log in which a pattern is found: from its beginning to its end, and on as it grows."""

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, Literal

from jobctl.client.sync import Client
from jobctl.errors import JobctlError
from jobctl_tui.live.log import AGAIN_MS, Asks, LogPages, read_range
from jobctl_tui.live.seeker import GaveUp, Seeker, Span

#: So much is read and looked through at a time: between two such parts it can be stopped, and tells how far it is.
PART_BYTES: Final = 512 << 10
#: Texts whose spans are remembered.
SPANS_MAX: Final = 2_000

_Rest = tuple[int, bytes]


class LogSearch:
    """One pattern in one log. Called on the loop of the screens, and so is `changed`."""

    def __init__(self, pages: LogPages, pattern: str, errands: Asks, changed: Callable[[], None]) -> None:
        """Raises `InvalidInput` when it is no pattern."""
        self.pattern = pattern
        self.starts: array[int] = array("Q")
        """Where the lines begin in which it is found."""
        self.looked = 0
        """Up to this byte."""
        self.state: Literal["looking", "done", "gave up"] = "looking"
        self._pages = pages
        self._lines = pages.lines
        self._seeker = Seeker(pattern)
        self._errands = errands
        self._changed = changed
        self._busy = self._closed = False
        self._lock = threading.Lock()
        self._rest: _Rest = (0, b"")
        """Where a line begins whose end has not been read, and what of it has been."""
        self._spans: dict[str, list[Span]] = {}
        self._wanted: dict[str, None] = {}
        self._asked: set[str] = set()

    def close(self) -> None:
        """Stops in the middle of a match too."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            self._seeker.close()
            self._lock.release()
        else:
            self._seeker.kill()  # who is waiting for it closes it

    # ── what was found ─────────────────────────────────────
    @property
    def share(self) -> float:
        """How much of the log has been looked through, 0 to 1."""
        return min(1.0, self.looked / self._pages.size) if self._pages.size else 1.0

    def next(self, start: int) -> int | None:
        """The first of them behind that offset."""
        at = bisect_right(self.starts, start)
        return self.starts[at] if at < len(self.starts) else None

    def previous(self, start: int) -> int | None:
        at = bisect_left(self.starts, start)
        return self.starts[at - 1] if at else None

    def place(self, start: int) -> int | None:
        """Which of them the line that begins there is, from 1."""
        at = bisect_left(self.starts, start)
        return at + 1 if at < len(self.starts) and self.starts[at] == start else None

    def spans(self, text: str) -> list[Span]:
        """Where it is found in a shown text; nothing while that is not known: the next `ask` asks for it."""
        found = self._spans.get(text)
        if found is None and text not in self._asked:
            self._wanted[text] = None
        return found or []

    def ask(self) -> None:
        """For the spans that were looked for in vain: `changed` tells when they are here."""
        texts, self._wanted = list(self._wanted), {}
        if texts and self.state != "gave up" and not self._closed:
            self._asked.update(texts)
            self._errands.run(
                lambda _: self._spans_of(texts),
                lambda found: self._spans_came(texts, found),
                lambda _: self._asked.difference_update(texts),
            )

    def _spans_of(self, texts: list[str]) -> list[list[Span]] | None:
        with self._lock:
            try:
                return None if self._closed else self._seeker.spans(texts)
            except GaveUp:
                return None
            finally:
                if self._closed:
                    self._seeker.close()

    def _spans_came(self, texts: list[str], found: object) -> None:
        self._asked.difference_update(texts)
        if self._closed:
            return
        if not isinstance(found, list):
            self.state = "gave up"
        else:
            if len(self._spans) > SPANS_MAX:
                self._spans.clear()
            self._spans.update(zip(texts, found, strict=True))
        self._changed()

    # ── looking ────────────────────────────────────────────
    def go_on(self) -> None:
        """There may be more of the log, or it is another one."""
        pages = self._pages
        if self._closed or self._busy or self.state == "gave up":
            return
        if pages.lines is not self._lines:
            self._lines, self.looked, self._rest = pages.lines, 0, (0, b"")
            del self.starts[:]
        over = pages.state.state in ("done", "missing")
        if self.looked >= pages.size and not (over and self._rest[1]):
            self.state = "done"
            return
        self._busy, self.state = True, "looking"
        lines, offset, rest = self._lines, self.looked, self._rest
        limit = min(PART_BYTES, pages.size - offset)
        final = over and offset + limit >= pages.size
        run, attempt = pages.run, pages.state.attempt

        def work(client: Client) -> object:
            read = read_range(client, run, attempt, offset, limit)
            return self._look(read.parts or [(offset, b"")], offset, rest, final=final)

        def came(answer: object) -> None:
            self._busy = False
            if self._closed:
                return
            if answer is None:
                self.state = "gave up"
            elif isinstance(answer, tuple) and lines is self._pages.lines:
                starts, self.looked, self._rest = answer
                self.starts.extend(starts)
            self._changed()
            self.go_on()

        def failed(_: JobctlError) -> None:
            self._errands.later(AGAIN_MS, again)

        def again() -> None:
            self._busy = False
            self.go_on()

        self._errands.run(work, came, failed)

    def _look(
        self, parts: list[tuple[int, bytes]], offset: int, rest: _Rest, *, final: bool
    ) -> tuple[list[int], int, _Rest] | None:
        """In a thread: what some parts of the log have; None when the pattern takes too long."""
        found: list[int] = []
        with self._lock:
            try:
                for at, data in parts:
                    if at != offset and rest[1]:  # a line in front of what was removed ends there
                        found += self._seeker.find(*rest, final=True)[0]
                        rest = (at, b"")
                    base, whole = (rest[0], rest[1] + data) if rest[1] else (at, data)
                    starts, end = self._seeker.find(base, whole, final=final and at == parts[-1][0])
                    found += starts
                    rest = (end, whole[end - base :])
                    offset = at + len(data)
            except GaveUp:
                return None
            finally:
                if self._closed:
                    self._seeker.close()
        return found, max(offset, parts[-1][0] + len(parts[-1][1])), rest
