"""The output of one attempt, followed from where it was last written to standard output.

Its log is the buffer: what standard output does not take stays there, and what was not passed on when the daemon died
is found there again. The file is opened for each look, so a thousand quiet commands hold no descriptor.
"""

from typing import Final, NamedTuple

from jobctl_daemon.execution.lines import Lines, Shape, Speaker
from jobctl_daemon.execution.logs import LogFiles, LogReader

#: Read at once, so that everybody has a turn.
SLICE: Final = 64 << 10
#: Standard output may be so far behind a command; then it leaves something out.
BEHIND_MAX: Final = 8 << 20
#: Of which so much of the end is kept.
KEPT: Final = 64 << 10
#: Bytes by which a log is known that was emptied and has grown again between two looks.
_REMEMBERED: Final = 32


class Place(NamedTuple):
    """Where it was: what a later daemon must know to go on."""

    run_id: int
    fence: int
    attempt: int
    job: str
    offset: int
    inode: int


class Voice:
    """One attempt. Not for two threads at once."""

    __slots__ = ("_files", "_inode", "_last", "_lines", "_offset", "_place", "ended", "left_out", "over", "size")

    def __init__(self, files: LogFiles, place: Place, shape: Shape) -> None:
        self._files = files
        self._place = place
        self._lines = Lines(Speaker(place.job, place.run_id, place.attempt), shape)
        self._offset = place.offset
        self._inode = place.inode
        self._last = b""
        self.ended = False
        """Nothing is added to its log any more."""
        self.size: int | None = None
        """How much it ever wrote, once that is on record."""
        self.over = False
        """All there is was read after it had ended."""
        self.left_out = 0
        """Bytes that were passed over since this was last asked for."""

    @property
    def place(self) -> Place:
        """Of the first byte that was not passed on."""
        return self._place._replace(offset=self._offset - self._lines.unfinished, inode=self._inode)

    def read(self, now_ms: int) -> bytes:
        """Lines that came since; nothing when none are finished. `over` tells that there will be none."""
        ended = self.ended  # known before the look, so that the look has seen the last byte
        reader = self._open()
        if reader is None:
            self.over = ended
            return self._lines.settle(now_ms, over=True) if ended else b""
        try:
            return self._read(reader, now_ms, ended=ended)
        except OSError:
            self.over = ended
            return b""
        finally:
            reader.close()

    def _open(self) -> LogReader | None:
        try:
            return self._files.open(self._place.run_id, self._place.fence, self.size)
        except OSError:
            return None

    def _read(self, reader: LogReader, now_ms: int, *, ended: bool) -> bytes:
        said = self._look_at_file(reader, now_ms)
        if said is None:
            return b""
        said += self._hurry(reader, now_ms)
        chunk = reader.read(self._offset, SLICE)
        if not chunk.data:
            self.over = ended
            return said + self._lines.settle(now_ms, over=ended)
        if chunk.dropped is not None:
            gone = chunk.dropped.end - chunk.dropped.start
            said += self._lines.note(f"{gone} bytes were removed by the log limit", now_ms)
        self._offset, self._last = chunk.end, chunk.data[-_REMEMBERED:]
        return said + self._lines.add(chunk.data, now_ms)

    def _look_at_file(self, reader: LogReader, now_ms: int) -> bytes | None:
        """Whether its file is still the one it was. None: it was made small at its end, which is not on record yet."""
        known, self._inode = self._inode, self._inode or reader.inode
        if reader.size() >= self._offset and self._goes_on(reader):
            self._inode = reader.inode
            return b""
        if known != reader.inode and not self.ended:
            return None
        self._offset, self._last = 0, b""
        return self._lines.note("the command has emptied its log", now_ms)

    def _goes_on(self, reader: LogReader) -> bool:
        """Whether what stands before its place is what was read there; unless the cap has removed that."""
        start = self._offset - len(self._last)
        before = reader.read(start, len(self._last)) if self._last else None
        return (
            before is None or before.offset != start or before.data == self._last or len(before.data) < len(self._last)
        )

    def _hurry(self, reader: LogReader, now_ms: int) -> bytes:
        """Leaves something out where standard output is too far behind."""
        gap = reader.dropped()
        removed = 0 if gap is None else max(0, gap.end - max(gap.start, self._offset))
        behind = reader.size() - self._offset - removed
        if behind <= BEHIND_MAX:
            return b""
        start = reader.size() - KEPT
        gone = start - self._offset
        self.left_out += gone
        self._offset, self._last = start, b""
        words = f"{gone} bytes are left out: standard output is too slow; see jobctl log {self._place.run_id}"
        return self._lines.note(words, now_ms)
