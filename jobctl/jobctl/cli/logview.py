"""Where a reader of a log is, in the log's own offsets, so that a broken connection goes on where it was.

The body of an answer holds the log's bytes from `offset` on. Where the cap removed a middle, one marker line stands
for it that takes part in no offset: after it, the next byte is the first that was kept (docs/api.md, "Log").
"""

from collections.abc import Mapping


class Position:
    """The offset of the next byte, kept while the pieces of one answer go by."""

    def __init__(self, headers: Mapping[str, str], asked: int) -> None:
        self.offset = int(headers.get("jobctl-log-offset", asked))
        self._gap = _range(headers.get("jobctl-log-dropped", ""))
        self._in_marker = False
        if self._gap and self.offset > self._gap[0]:
            self._gap = None

    def passed(self, data: bytes) -> None:
        """Some bytes of the body went by."""
        while data:
            if self._in_marker:
                data = self._through_marker(data)
                continue
            room = len(data) if self._gap is None else self._gap[0] - self.offset
            if room == 0 and self._gap is not None:
                self._in_marker = True
                continue
            self.offset += min(room, len(data))
            data = data[room:]

    def _through_marker(self, data: bytes) -> bytes:
        _, newline, rest = data.partition(b"\n")
        if newline and self._gap is not None:
            self.offset, self._gap, self._in_marker = self._gap[1], None, False
        return rest


def _range(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    return (int(first), int(last)) if dash and first.isdigit() and last.isdigit() else None
