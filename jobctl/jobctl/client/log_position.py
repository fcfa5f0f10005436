"""Where a reader of a log is, in the log's own offsets, so that a broken connection goes on where it was.

The body of an answer holds the log's bytes from `offset` on. Where the cap removed a middle, a marker stands for it
that takes part in no offset: after it, the next byte is the first that was kept (docs/api.md, "Log").
"""

from collections.abc import Iterator, Mapping


class Position:
    """The offset of the next byte, kept while the pieces of one answer go by."""

    def __init__(self, headers: Mapping[str, str], asked: int) -> None:
        self.offset = _begin(headers, asked)
        self._gap = dropped(headers)
        self._marker_left = int(headers.get("jobctl-log-marker", 0))
        if self._gap and self.offset >= self._gap[1]:
            self._gap = None

    @property
    def at_marker(self) -> bool:
        """The next bytes are those of the marker that the headers have told of."""
        return self._gap is not None and self.offset >= self._gap[0]

    def passed(self, data: bytes) -> None:
        """Some bytes of the body went by."""
        for _ in self.parts(data):
            pass

    def parts(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The same, and what of them are bytes of the log, each part with its offset: without the marker."""
        at = 0
        while at < len(data):
            gap = self._gap
            if self.at_marker:
                at += self._through_marker(len(data) - at)
                continue
            step = len(data) - at if gap is None else min(len(data) - at, gap[0] - self.offset)
            begin, self.offset = self.offset, self.offset + step
            yield begin, data[at : at + step]
            at += step

    def _through_marker(self, left: int) -> int:
        """How many of the next bytes belong to the marker; behind it the offset is another."""
        step = min(left, self._marker_left)
        self._marker_left -= step
        if self._marker_left == 0 and self._gap is not None:
            self.offset, self._gap = self._gap[1], None
        return step


def dropped(headers: Mapping[str, str]) -> tuple[int, int] | None:
    """The first byte that the cap removed, and the first behind it that it kept."""
    first, dash, last = headers.get("jobctl-log-dropped", "").partition("-")
    return (int(first), int(last)) if dash and first.isdigit() and last.isdigit() else None


def _begin(headers: Mapping[str, str], asked: int) -> int:
    """Where reading began, which may be inside the removed middle."""
    if headers.get("jobctl-log-reset") == "1":
        return 0
    if asked < 0:
        return max(0, int(headers.get("jobctl-log-size", 0)) + asked)
    return asked
