"""What failures have in common: the last words, but for numbers, ids and addresses."""

import pytest

from jobctl_daemon.decide.fingerprint import LINE_CHARS_MAX, fingerprint, last_line, shortened


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("no space left after 17 bytes", "no space left after 4096 bytes"),
        ("cannot open /tmp/x1234.tmp", "cannot open /tmp/x98.tmp"),
        ("segfault at 0xdeadbeef00", "segfault at 0x7fFF12"),
        ("request 550e8400-e29b-41d4-a716-446655440000 failed", "request 6ba7b810-9dad-11d1-80b4-00c04fd430c8 failed"),
        ("commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad bad", "commit 9c1185a5c5e9fc54612808977ee8f548b2258d31 bad"),
        ("2026-11-29T20:10:00Z timeout", "2027-01-02T03:04:05Z timeout"),
        ("error on line 3", "error on line 30000"),
    ],
)  # fmt: skip
def test_failures_that_differ_in_numbers_and_ids_are_one_failure(one: str, two: str) -> None:
    assert fingerprint("exit_code 1", one) == fingerprint("exit_code 1", two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("no space left", "no memory left"),
        ("connection refused", "Connection refused"),
        ("cannot open a.txt", "cannot open b.txt"),
        ("feedface is a word", "deadbeef is a word"),
        ("x", None),
    ],
)
def test_other_words_are_another_failure(one: str, two: str | None) -> None:
    assert fingerprint("exit_code 1", one) != fingerprint("exit_code 1", two)


def test_another_end_is_another_failure_whatever_it_said() -> None:
    kinds = ["exit_code 1", "exit_code 2", "signal 9", "oom 9", "timed_out", "lost"]
    assert len({fingerprint(kind, "no space left") for kind in kinds}) == len(kinds)


def test_a_fingerprint_is_twelve_hex_digits_for_anything_that_was_printed() -> None:
    for line in ("", None, "x" * 10_000, "\udc80 half a character", "ä" * 300):
        found = fingerprint("exit_code 1", line)
        assert len(found) == 12
        assert set(found) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        (b"", None),
        (b"\n \n\t\n", None),
        (b"first\nlast", "last"),
        (b"last\n\n  \n", "last"),
        (b"one\r\ntwo\r\n", "two"),
        (b"\x1b[31mred\x1b[0m and  wide\t apart \n", "red and wide apart"),
        (b"progress 10%\rprogress 99%\r", "progress 99%"),
        (b"\xff\xfe broken", "�� broken"),
        (b"bell\x07\x00 rung", "bell rung"),
        (b"\x1b[2J\x1b[H", None),
    ],
)
def test_the_last_line_with_something_in_it(tail: bytes, line: str | None) -> None:
    assert last_line(tail) == line


def test_a_long_line_is_shown_by_its_beginning_and_its_end() -> None:
    shown = shortened(last_line(b"begin " + b"x" * 5_000 + b" disk full"))
    assert shown is not None
    assert len(shown) <= LINE_CHARS_MAX
    assert shown.startswith("begin x")
    assert shown.endswith("x disk full")


def test_long_lines_are_told_apart_by_their_ends() -> None:
    begin = "x" * 6_000
    assert fingerprint("exit_code 5", f"{begin} disk full") != fingerprint("exit_code 5", f"{begin} bad password")


def test_how_much_of_a_long_line_is_left_makes_no_other_failure() -> None:
    whole = f"{'y' * 3_000} item 4711 failed"
    assert fingerprint("exit_code 5", whole) == fingerprint("exit_code 5", whole[1_000:])


@pytest.mark.parametrize(
    "escape",
    [
        b"\x1b]0;title\x07",
        b"\x1b]52;c;Zm9v\x1b\\",
        b"\x1bPq#0\x1b\\",
        b"\x1b(B",
        b"\x1b7",
        "\x9b31m".encode(),
        b"\x1b[38:2::1:2:3m",
    ],
)
def test_no_escape_sequence_stays_or_is_a_line(escape: bytes) -> None:
    assert last_line(b"err\n" + escape) == "err"
    assert last_line(b"er" + escape + b"r") == "err"
