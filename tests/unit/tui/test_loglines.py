"""Lines of a log by offsets, against a plain model that has the whole log."""

import random
from itertools import pairwise

import pytest

from jobctl_tui.live.loglines import BLOCK, BLOCKS_MAX, CELL, LogLine, LogLines, Missing


def starts_of(data: bytes, low: int, high: int) -> list[int]:
    """Where lines begin within a part of a log, by the words of the module."""
    starts = []
    for at in range(low, high):
        newline = at > low and data[at - 1 : at] == b"\n"
        broken = at % CELL == 0 and at - CELL >= low and b"\n" not in data[at - CELL : at]
        if at == low or newline or broken:
            starts.append(at)
    return starts


def loaded(lines: LogLines, data: bytes, ask):
    """The answer, when every block that it needs has been brought."""
    for _ in range(50):
        try:
            return ask()
        except Missing as missing:
            low = missing.block * BLOCK
            high = low + BLOCK
            lines.put(low, data[low:high])
    raise AssertionError("a block is asked for again and again")


def forward(lines: LogLines, data: bytes) -> list[LogLine]:
    found, at = [], 0
    while (line := loaded(lines, data, lambda at=at: lines.line(at))) is not None:
        found.append(line)
        at = line.next
    return found


def backward(lines: LogLines, data: bytes) -> list[LogLine]:
    found, at = [], lines.end
    while (line := loaded(lines, data, lambda at=at: lines.before(at))) is not None:
        found.append(line)
        at = line.start
    return found[::-1]


def a_log(seed: int, size: int) -> bytes:
    """Short lines, empty ones, some longer than a cell, some that fill cells exactly."""
    draw = random.Random(seed)
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < size:
        kind = draw.random()
        length = draw.randrange(120) if kind < 0.9 else draw.choice([0, CELL - 1, CELL, CELL + 1, 3 * CELL, 5000])
        pieces.append(draw.randbytes(length).replace(b"\n", b"x") + b"\n")
    return b"".join(pieces)[:size]


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_the_same_forward_backward_and_by_the_model(seed: int) -> None:
    data = a_log(seed, 3 * BLOCK + 777 * seed)
    lines = LogLines()
    lines.begin(len(data))
    there = forward(lines, data)
    assert [line.start for line in there] == starts_of(data, 0, len(data))
    assert there == backward(lines, data)
    assert all(one.next == two.start for one, two in pairwise(there))
    assert b"".join(data[line.start : line.next] for line in there) == data
    assert max(line.next - line.start for line in there) <= 2 * CELL


@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_those_of_the_model_when_all_has_been_counted(seed: int) -> None:
    data = a_log(seed + 50, 4 * BLOCK + 999 * seed)
    lines = LogLines()
    lines.begin(len(data))
    there = [line.start for line in forward(lines, data)]
    for at, start in enumerate(there):
        assert loaded(lines, data, lambda start=start: lines.number(start)) == at + 1
    assert lines.count == len(there)


@pytest.mark.parametrize("seed", range(8))
def test_a_removed_middle_is_one_line_that_takes_part_in_no_offset(seed: int) -> None:
    data = a_log(seed + 100, 3 * BLOCK)
    first, end = (CELL * (seed + 1), CELL * (seed + 3)) if seed % 2 else (CELL - seed, 2 * BLOCK + CELL * seed + 7)
    lines = LogLines()
    lines.begin(len(data))
    lines.drop(first, end)
    expected = [*starts_of(data, 0, first), first, *starts_of(data, end, len(data))]
    there = forward(lines, data)
    assert [line.start for line in there] == expected
    assert there == backward(lines, data)
    assert [line.dropped for line in there if line.dropped] == [end - first]
    assert lines.count == len(expected)
    assert [loaded(lines, data, lambda s=line.start: lines.number(s)) for line in there if not line.dropped] == [
        at + 1 for at, line in enumerate(there) if not line.dropped
    ]


def test_what_is_written_piece_by_piece_is_the_same_as_at_once() -> None:
    data = a_log(7, 2 * BLOCK)
    draw = random.Random(8)
    lines, at = LogLines(), 0
    while at < len(data):
        step = draw.randrange(1, 3000)
        lines.append(at, data[at : at + step])
        at = lines.end
    assert [line.start for line in forward(lines, data)] == starts_of(data, 0, len(data))
    assert lines.count == len(starts_of(data, 0, len(data)))


def test_bytes_that_come_twice_are_taken_once() -> None:
    lines = LogLines()
    lines.append(0, b"one\ntwo\n")
    lines.append(4, b"two\nthree\n")
    assert [line.data for line in forward(lines, b"")] == [b"one", b"two", b"three"]


def test_a_line_that_grows_is_unfinished_until_it_ends() -> None:
    lines = LogLines()
    lines.append(0, b"first\n50%")
    assert lines.line(6) == LogLine(6, 9, b"50%", unfinished=True)
    assert lines.count == 2
    lines.append(9, b" done\n")
    assert lines.line(6) == LogLine(6, 15, b"50% done")
    assert lines.count == 2


def test_the_gap_of_a_running_command_moves_and_what_is_still_there_is_kept() -> None:
    data = a_log(11, 6 * BLOCK)
    lines = LogLines()
    lines.append(0, data[: 3 * BLOCK])
    for end in (2 * BLOCK, 2 * BLOCK + CELL, 3 * BLOCK):
        lines.drop(CELL, end)
    assert lines.end == 3 * BLOCK
    lines.append(3 * BLOCK, data[3 * BLOCK : 4 * BLOCK])
    lines.append(5 * BLOCK, data[5 * BLOCK :])
    assert lines.dropped == (CELL, 5 * BLOCK)
    assert [line.start for line in forward(lines, data)] == [
        *starts_of(data, 0, CELL), CELL, *starts_of(data, 5 * BLOCK, 6 * BLOCK)
    ]  # fmt: skip


def test_a_counted_block_need_not_be_kept() -> None:
    line = b"x" * 79 + b"\n"
    data = line * (40 * BLOCK // len(line))
    lines = LogLines()
    lines.begin(len(data))
    while (block := lines.uncounted()) is not None:
        lines.counted(block * BLOCK, data[block * BLOCK : (block + 7) * BLOCK])
    loaded(lines, data, lambda: lines.before(len(data)))
    assert lines.count == len(data) // 80


def test_a_part_that_was_read_beyond_what_has_been_told_is_counted_as_far_as_that() -> None:
    """As when the run ends while its log is read through: the answer knows of more than the follower has told."""
    data = (b"z" * 63 + b"\n") * (3 * BLOCK // 64)
    for gap in (None, (BLOCK // 2, 2 * BLOCK)):
        lines = LogLines()
        if gap is not None:
            lines.drop(*gap)
        lines.begin(2 * BLOCK)
        lines.counted(0, data)
        lines.append(2 * BLOCK, data[2 * BLOCK :])
        removed = gap[1] - gap[0] if gap is not None else 0
        assert lines.count == (len(data) - removed) // 64 + bool(gap)


def test_a_part_that_was_read_before_its_middle_was_removed_is_counted_without_it() -> None:
    data = (b"z" * 63 + b"\n") * (6 * BLOCK // 64)
    lines = LogLines()
    lines.begin(len(data))
    lines.drop(BLOCK, 4 * BLOCK)
    lines.counted(0, data)
    lines.drop(BLOCK, 3 * BLOCK)  # an answer from before
    assert lines.dropped == (BLOCK, 4 * BLOCK)
    assert lines.count == 3 * BLOCK // 64 + 1


def test_a_block_that_grows_is_not_counted_before_it_is_full() -> None:
    data = (b"z" * 63 + b"\n") * (2 * BLOCK // 64)
    lines = LogLines()
    lines.begin(BLOCK + 640)
    lines.counted(0, data[: BLOCK + 640])
    lines.append(BLOCK + 640, data[BLOCK + 640 :])
    while (block := lines.uncounted()) is not None:
        lines.counted(block * BLOCK, data[block * BLOCK :])
    assert lines.count == len(data) // 64


def test_no_more_blocks_are_kept_than_allowed() -> None:
    data = (b"y" * 99 + b"\n") * (2 * BLOCKS_MAX * BLOCK // 100)
    lines = LogLines()
    lines.append(0, data)
    assert sum(len(kept) for _, kept in lines._blocks.values()) <= (BLOCKS_MAX + 1) * BLOCK
    assert lines.count == len(data) // 100
    assert loaded(lines, data, lambda: lines.line(0)).data == b"y" * 99


def test_the_line_that_holds_a_byte_is_found() -> None:
    lines = LogLines()
    lines.append(0, b"one\ntwo\nthree\n")
    assert [lines.holding(at).start for at in (0, 3, 4, 9, 13)] == [0, 0, 4, 8, 8]
