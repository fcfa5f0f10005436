"""Output becomes lines that stand alone, in the way that was chosen."""

import json

import pytest

from jobctl_daemon.execution.lines import LINE_BYTES_MAX, SHAPES, UNFINISHED_MS, Lines, Speaker

SPEAKER = Speaker("backup", 17, 2)
T0 = 1_800_000_000_000


def lines(shape: str = "lines") -> Lines:
    return Lines(SPEAKER, SHAPES[shape])


def test_whole_lines_are_passed_on_and_the_rest_waits() -> None:
    made = lines()
    assert made.add(b"one\ntw", T0) == b"backup[17]: one\n"
    assert made.unfinished == 2
    assert made.add(b"o\n\n", T0) == b"backup[17]: two\nbackup[17]: \n"
    assert made.unfinished == 0


def test_what_stays_unfinished_is_passed_on_after_a_moment_and_at_the_end() -> None:
    made = lines()
    assert made.add(b"Password: ", T0) == b""
    assert made.settle(T0 + UNFINISHED_MS - 1, over=False) == b""
    assert made.settle(T0 + UNFINISHED_MS, over=False) == b"backup[17]: Password: \n"
    assert made.settle(T0 + 10 * UNFINISHED_MS, over=False) == b""
    assert made.add(b"last", T0) == b""
    assert made.settle(T0, over=True) == b"backup[17]: last\n"


def test_a_clock_that_is_set_back_keeps_nothing_back() -> None:
    made = lines()
    made.add(b"x", T0)
    assert made.settle(T0 - 3_600_000, over=False) == b"backup[17]: x\n"


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_is_too_long_comes_in_pieces(end: bytes) -> None:
    made = lines("plain")
    said = made.add(b"x" * (2 * LINE_BYTES_MAX + 5) + end, T0) + made.settle(T0, over=True)
    assert [len(line) for line in said.splitlines()] == [LINE_BYTES_MAX, LINE_BYTES_MAX, 5]


def test_bytes_stay_as_they_are() -> None:
    data = bytes(byte for byte in range(256) if byte != 10) + b"\n"
    assert lines("plain").add(data, T0) == data
    assert lines().add(data, T0) == b"backup[17]: " + data


def test_json_is_an_object_a_line_whatever_the_bytes() -> None:
    made = lines("json")
    (first,) = made.add(b"\xff\x00\x1b[31m\xc3\xa4\r\n", T0).splitlines()
    assert json.loads(first) == {
        "at": "2027-01-15T08:00:00Z",
        "job": "backup",
        "run": 17,
        "attempt": 2,
        "line": "\ufffd\x00\x1b[31mä\r",
    }
    made.add(b"half", T0)
    assert json.loads(made.settle(T0 + UNFINISHED_MS, over=False))["whole"] is False


def test_a_line_of_ours_never_joins_one_of_the_command() -> None:
    made = lines()
    made.add(b"half", T0)
    assert made.note("9 bytes are left out", T0) == b"backup[17]: half\nbackup[17]: [jobctl: 9 bytes are left out]\n"
