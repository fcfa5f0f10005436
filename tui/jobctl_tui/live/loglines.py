"""Lines of a log of any length, by the offsets of their bytes: only blocks around what is looked at are kept. Pure.

A line is known by where it begins, which stays what it is while the log grows, while its head is read and while the
cap removes its middle; only how many lines are before it needs the whole log to have been counted once.

So that one line of a gigabyte is nothing special, a line ends at the latest at the second multiple of `CELL` behind
its beginning: at a multiple of `CELL` before which there is no newline in `CELL` bytes. Whether a line begins at some
offset is thus seen from the few bytes before it, and lines can be counted block by block in any order.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

CELL: Final = 4096
BLOCK: Final = 16 * CELL
#: Blocks that are kept beside the last one.
BLOCKS_MAX: Final = 96

_NEWLINE: Final = b"\n"


class LogLine(NamedTuple):
    """`data` is from `start` to `next` without a newline at its end."""

    start: int
    next: int
    data: bytes
    continued: bool = False
    """It goes on the line before, which was too long for one."""
    unfinished: bool = False
    """Nothing has been written behind it yet."""
    dropped: int = 0
    """It is no line: so many bytes from `start` on were removed by the log's limit."""


class Missing(Exception):
    """A block is not here; the caller is to ask for it."""

    def __init__(self, block: int) -> None:
        super().__init__(f"block {block} is not here")
        self.block = block


class _Part(NamedTuple):
    """A stretch of the log without a gap in it: before the removed middle (0), or behind it (1)."""

    number: int
    low: int
    high: int


def line_end(data: bytes | bytearray, base: int, start: int) -> int | None:
    """Where the next line begins behind that which begins at `start`; None: not within `data`, which is at `base`."""
    limit = _break(start)
    newline = data.find(_NEWLINE, start - base, limit - base)
    if newline >= 0:
        return base + newline + 1
    return limit if base + len(data) >= limit else None


def ends_in(data: bytes | bytearray, base: int, low: int, high: int) -> int:
    """How many lines end within `low` to `high` of `data`, which begins at `base`. Both are multiples of `CELL`, or
    an edge of what there is."""
    total = 0
    at = low
    while at < high:
        edge = min(high, (at // CELL + 1) * CELL)
        newlines = data.count(_NEWLINE, at - base, edge - base)
        total += max(newlines, 1) if edge - at == CELL else newlines
        at = edge
    return total


def _break(start: int) -> int:
    """Where a line that begins there ends if it has no newline."""
    return -(-start // CELL) * CELL + CELL


class LogLines:
    """What is known of one log. Answers are exact as far as they go; `Missing` says which block they need."""

    def __init__(self) -> None:
        self.end = 0
        """Behind the last byte that is known."""
        self.dropped: tuple[int, int] | None = None
        """From where to where the cap has removed bytes."""
        self._blocks: OrderedDict[tuple[int, int], tuple[int, bytearray]] = OrderedDict()
        self._counts: tuple[list[int], list[int]] = ([0], [0])
        """Of each part: lines that end before its first block, its second, …; as far as it has been counted."""
        self._ends: dict[tuple[int, int], int] = {}
        """Of blocks that were counted before those in front of them."""

    # ── bytes come in ──────────────────────────────────────
    def begin(self, end: int) -> None:
        """The log has so many bytes; none of them are here."""
        self.end = end

    def append(self, offset: int, data: bytes) -> None:
        """More at the end; bytes that are here already are left out."""
        if offset > self.end:
            self.drop(self.dropped[0] if self.dropped else self.end, offset)
        data = data[self.end - offset :]
        at, self.end = self.end, self.end + len(data)
        self._put(at, data)
        self._count_on()
        self._forget()

    def put(self, offset: int, data: bytes) -> None:
        """What was asked for, from a block's beginning on, or from where it begins to be there."""
        for _, at, piece in self._known(offset, data):
            self._put(at, piece)
        self._count_on()
        self._forget()

    def drop(self, first: int, end: int) -> None:
        """The bytes from `first` to before `end` are gone. What is told late says no more than is known."""
        if end <= max(first, self.dropped[1] if self.dropped else 0):
            return
        self.end = max(self.end, end)
        kept = self._blocks
        self.dropped, self._blocks = (first, end), OrderedDict()
        for start, data in kept.values():
            self._put(start, bytes(data[: max(0, first - start)]))
            if start + len(data) > end:
                skip = max(0, end - start)
                self._put(start + skip, bytes(data[skip:]))
        del self._counts[0][first // BLOCK + 1 :]
        self._counts[1][:] = [0]
        self._ends = {}
        self._count_on()

    def _put(self, offset: int, data: bytes) -> None:
        at = 0
        while at < len(data):
            block = (offset + at) // BLOCK
            piece = data[at : (block + 1) * BLOCK - offset]
            self._put_piece((self._part(offset + at).number, block), offset + at, piece)
            at += len(piece)

    def _put_piece(self, key: tuple[int, int], offset: int, piece: bytes) -> None:
        start, data = self._blocks.get(key, (offset, bytearray()))
        if start <= offset <= start + len(data):
            data += piece[max(0, start + len(data) - offset) :]
        elif offset + len(piece) >= start:  # the beginning of what was here
            start, data = offset, bytearray(piece) + data[offset + len(piece) - start :]
        else:
            return
        self._blocks[key] = (start, data)
        self._blocks.move_to_end(key)

    def _forget(self) -> None:
        """The least used blocks; the last one stays, more is to be written behind it."""
        if self.end:
            last = (self._part(self.end).number, (self.end - 1) // BLOCK)
            if last in self._blocks:
                self._blocks.move_to_end(last)
        while len(self._blocks) > BLOCKS_MAX + 1:
            self._blocks.popitem(last=False)

    # ── lines ──────────────────────────────────────────────
    def line(self, start: int) -> LogLine | None:
        """The line that begins there, or what stands for it; None: there is none, it is the end. Raises `Missing`."""
        gap = self.dropped
        if gap is not None and gap[0] <= start < gap[1]:
            return LogLine(gap[0], gap[1], b"", dropped=gap[1] - gap[0])
        part = self._part(start)
        if start >= part.high:
            return None
        stop = min(_break(start), part.high)
        data = self._bytes(start, stop)
        end = line_end(data, start, start)
        whole = end if end is not None else part.high
        text = data[: whole - start].removesuffix(_NEWLINE)
        unfinished = end is None and whole == self.end
        return LogLine(start, whole, bytes(text), self._continues(start, part), unfinished)

    def before(self, start: int) -> LogLine | None:
        """The line before that which begins at `start` (or at the end); None: there is none. Raises `Missing`."""
        gap = self.dropped
        if start <= 0:
            return None
        if gap is not None and gap[0] < start <= gap[1]:
            return self.line(gap[0])
        low = self._part(start - 1).low
        window = max(low, start - 1 - 2 * CELL)
        data = self._bytes(window, start - 1)
        newline = data.rfind(_NEWLINE)
        begin = window + newline + 1 if newline >= 0 or window == low else None
        multiple = (start - 1) // CELL * CELL
        if begin is None or multiple - CELL >= begin:
            begin = multiple
        return self.line(begin)

    def holding(self, offset: int) -> LogLine | None:
        """The line that the byte is in. Raises `Missing`."""
        offset = max(0, min(offset, self.end))
        return self.before(min(self.end, offset + 1))

    def _continues(self, start: int, part: _Part) -> bool:
        return start > part.low and self._bytes(start - 1, start) != _NEWLINE

    # ── how many ───────────────────────────────────────────
    def number(self, start: int) -> int | None:
        """The line's number, from 1; None while the log before it has not been counted. Raises `Missing`."""
        part = self._part(start)
        block = start // BLOCK
        counts = self._counts[part.number]
        place = block - part.low // BLOCK
        if place >= len(counts) or (part.number and self._total(0) is None):
            return None
        low = max(part.low, block * BLOCK)
        before = counts[place] + ends_in(self._bytes(low, start), low, low, start)
        # A cell that is cut short by `start` in its middle has no break of its own in it: the break is at its end.
        return before + 1 + ((self._total(0) or 0) + 1 if part.number else 0)

    @property
    def count(self) -> int | None:
        """Lines there are, with the one that stands for what was removed; None while they have not been counted."""
        head, tail = self._total(0), self._total(1) if self.dropped else 0
        if head is None or tail is None:
            return None
        return head + (tail + 1 if self.dropped else 0)

    def uncounted(self) -> int | None:
        """The first block that is still to be counted."""
        for part in self._parts():
            place = len(self._counts[part.number]) - 1
            block = part.low // BLOCK + place
            if block * BLOCK < part.high and not self._is_open(part, block):
                return block
        return None

    def counted(self, offset: int, data: bytes) -> None:
        """Lines of whole blocks that are not kept."""
        for block, low, piece in self._whole(offset, data):
            self._ends[self._part(low).number, block] = ends_in(piece, low, low, low + len(piece))
        self._count_on()

    def _whole(self, offset: int, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        for part, first, piece in self._known(offset, data):
            at, end = first, first + len(piece)
            while at < end:
                block = at // BLOCK
                low, high = max(part.low, block * BLOCK), min(part.high, (block + 1) * BLOCK)
                if at == low and high <= end and not self._is_open(part, block):
                    yield block, low, piece[low - first : high - first]
                at = high

    def _known(self, offset: int, data: bytes) -> Iterator[tuple[_Part, int, bytes]]:
        """Without what the follower has not told of yet, and without what is gone by now."""
        for part in self._parts():
            low, high = max(offset, part.low), min(offset + len(data), part.high)
            if low < high:
                yield part, low, data[low - offset : high - offset]

    def _count_on(self) -> None:
        """As far as blocks are counted or here without a break."""
        for part in self._parts():
            counts = self._counts[part.number]
            while True:
                block = part.low // BLOCK + len(counts) - 1
                low, high = max(part.low, block * BLOCK), min(part.high, (block + 1) * BLOCK)
                if low >= high or self._is_open(part, block):
                    break
                ends = self._ends.pop((part.number, block), None)
                if ends is None:
                    try:
                        ends = ends_in(self._bytes(low, high, used=False), low, low, high)
                    except Missing:
                        break
                counts.append(counts[-1] + ends)

    def _is_open(self, part: _Part, block: int) -> bool:
        """Whether more may be written into it."""
        return part.high == self.end and (block + 1) * BLOCK > part.high

    def _total(self, number: int) -> int | None:
        part = self._parts()[number]
        counts = self._counts[number]
        block = part.low // BLOCK + len(counts) - 1
        low = max(part.low, block * BLOCK)
        if low >= part.high:
            return counts[-1] + self._unended(part)
        if not self._is_open(part, block):
            return None
        try:
            data = self._bytes(low, part.high, used=False)
        except Missing:
            return None
        return counts[-1] + ends_in(data, low, low, part.high) + self._unended(part)

    def _unended(self, part: _Part) -> int:
        """1 when its last line has no end: it ends with neither a newline nor at a break."""
        if part.high == part.low:
            return 0
        try:
            data = self._bytes(max(part.low, part.high - CELL), part.high, used=False)
        except Missing:
            return 0
        ends = data.endswith(_NEWLINE) or (part.high % CELL == 0 and len(data) == CELL and _NEWLINE not in data)
        return 0 if ends else 1

    # ── bytes are looked for ───────────────────────────────
    def _parts(self) -> tuple[_Part, ...]:
        if self.dropped is None:
            return (_Part(0, 0, self.end),)
        return (_Part(0, 0, self.dropped[0]), _Part(1, self.dropped[1], self.end))

    def _part(self, offset: int) -> _Part:
        parts = self._parts()
        return parts[-1] if offset >= parts[-1].low else parts[0]

    def _bytes(self, low: int, high: int, *, used: bool = True) -> bytes:
        """Of one part. Raises `Missing`."""
        if low >= high:
            return b""
        number = self._part(low).number
        pieces = []
        for block in range(low // BLOCK, (high - 1) // BLOCK + 1):
            first, last = max(low, block * BLOCK), min(high, (block + 1) * BLOCK)
            start, data = self._blocks.get((number, block), (0, b""))
            if not (start <= first and last <= start + len(data)):
                raise Missing(block)
            if used:
                self._blocks.move_to_end((number, block))
            pieces.append(bytes(data[first - start : last - start]))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
