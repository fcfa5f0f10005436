"""Bytes of one command become lines that stand alone: with whose they are in front, in the way that was chosen.

Only whole lines are passed on, so that those of two commands never meet in one. What a command leaves unfinished is
passed on as a line of its own after a moment; so is a piece of a line that is too long. All bytes but the line's end
stay as they are, except in JSON, which is text.
"""

import json
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from jobctl.wire import rfc3339

#: A longer line is passed on in pieces. Container engines break lines at the same length.
LINE_BYTES_MAX: Final = 16 << 10
#: An unfinished line is passed on when nothing was added to it for so long.
UNFINISHED_MS: Final = 1_000


class Speaker(NamedTuple):
    """Whose output it is."""

    job: str
    run_id: int
    attempt: int


class Shape(Protocol):
    """How a line looks; `whole` is false for a piece that goes on in the next one."""

    def __call__(self, speaker: Speaker, line: bytes, now_ms: int, *, whole: bool) -> bytes: ...


def prefixed(speaker: Speaker, line: bytes, now_ms: int, *, whole: bool) -> bytes:  # noqa: ARG001
    """`backup[17]: text`, where 17 is the number of the run."""
    return b"%s[%d]: %s\n" % (speaker.job.encode("utf-8", "replace"), speaker.run_id, line)


def plain(speaker: Speaker, line: bytes, now_ms: int, *, whole: bool) -> bytes:  # noqa: ARG001
    """The line alone."""
    return line + b"\n"


def as_json(speaker: Speaker, line: bytes, now_ms: int, *, whole: bool) -> bytes:
    """An object; `at` is when it was read, bytes that are no UTF-8 become U+FFFD."""
    record = {
        "at": rfc3339(now_ms),
        "job": speaker.job,
        "run": speaker.run_id,
        "attempt": speaker.attempt,
        "line": line.decode("utf-8", "replace"),
    }
    if not whole:
        record["whole"] = False
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


SHAPES: Final[dict[str, Shape]] = {"lines": prefixed, "plain": plain, "json": as_json}


class Lines:
    """What has come of one command's line that is not finished."""

    __slots__ = ("_added_ms", "_rest", "_shape", "_speaker")

    def __init__(self, speaker: Speaker, shape: Shape) -> None:
        self._speaker = speaker
        self._shape = shape
        self._rest = b""
        self._added_ms = 0

    @property
    def unfinished(self) -> int:
        """Bytes that are kept back."""
        return len(self._rest)

    def add(self, data: bytes, now_ms: int) -> bytes:
        """The lines that are finished by now, ready to be written."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._added_ms = now_ms
        said = [self._said(line, now_ms) for line in whole]
        while len(self._rest) > LINE_BYTES_MAX:
            piece, self._rest = self._rest[:LINE_BYTES_MAX], self._rest[LINE_BYTES_MAX:]
            said.append(self._shape(self._speaker, piece, now_ms, whole=False))
        return b"".join(said)

    def settle(self, now_ms: int, *, over: bool) -> bytes:
        """What was left unfinished, once nothing was added for a moment, or nothing will be any more."""
        if not self._rest or (not over and 0 <= now_ms - self._added_ms < UNFINISHED_MS):
            return b""
        rest, self._rest = self._rest, b""
        return self._shape(self._speaker, rest, now_ms, whole=over)

    def note(self, words: str, now_ms: int) -> bytes:
        """A line of our own among the command's."""
        line = self._shape(self._speaker, f"[jobctl: {words}]".encode(), now_ms, whole=True)
        return self.settle(now_ms, over=True) + line

    def _said(self, line: bytes, now_ms: int) -> bytes:
        if len(line) <= LINE_BYTES_MAX:
            return self._shape(self._speaker, line, now_ms, whole=True)
        return b"".join(
            self._shape(self._speaker, piece, now_ms, whole=last) for piece, last in _pieces(line, LINE_BYTES_MAX)
        )


def _pieces(line: bytes, most: int) -> Iterable[tuple[bytes, bool]]:
    for start in range(0, len(line), most):
        yield line[start : start + most], start + most >= len(line)
