"""Nothing that a job wrote acts on a terminal."""

import json
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.reading.safe import LogFilter, cell, json_text, text

CLIPBOARD = "\x1b]52;c;aGk=\x07"


@pytest.mark.parametrize(
    ("wild", "tame"),
    [
        (CLIPBOARD, "\\x1b]52;c;aGk=\\x07"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("[/x] tr '[a-z]'", "[/x] tr '[a-z]'"),
        ("日本語 é", "日本語 é"),
        ("bad \udcff byte", "bad \N{REPLACEMENT CHARACTER} byte"),
    ],
)
def test_a_cell(wild: str, tame: str) -> None:
    assert cell(wild) == tame


@given(st.text())
def test_a_cell_holds_no_control_character(wild: str) -> None:
    assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in cell(wild))


def test_a_text_keeps_its_lines() -> None:
    assert text("a\n\tb\x1b[31m") == "a\n\tb\\x1b[31m"


@given(st.text())
def test_json_keeps_its_value_and_loses_its_teeth(wild: str) -> None:
    made = json_text(json.dumps({"a": wild}, ensure_ascii=False))
    assert json.loads(made) == {"a": wild}
    assert cell(made) == made


LOG = (
    "plain \x1b[1;31mred\x1b[0m " + CLIPBOARD + "\x1b]0;title\x1b\\after\r\n10%\r20%\rdone\x9b2J\x90q\x9c\x1bc é 日本\n"
)
SHOWN = "plain red after\n10%\n20%\ndone é 日本\n"


@given(st.lists(st.integers(0, len(LOG.encode())), max_size=6))
def test_a_log_is_filtered_however_it_is_cut(cuts: list[int]) -> None:
    data = LOG.encode()
    edges = [0, *sorted(cuts), len(data)]
    screen = LogFilter()
    shown = "".join(screen.feed(data[a:b]) for a, b in pairwise(edges))
    assert shown + screen.feed(b"", final=True) == SHOWN


@given(st.binary(max_size=200), st.integers(0, 200))
def test_whatever_the_bytes_a_terminal_gets_no_control_character(data: bytes, at: int) -> None:
    screen = LogFilter()
    shown = screen.feed(data[:at]) + screen.feed(data[at:], final=True)
    assert "\x1b" not in shown
    assert not any(unicodedata.category(char) == "Cc" for char in shown if char not in "\n\t")


def test_an_endless_sequence_does_not_hold_the_log_back_for_ever() -> None:
    screen = LogFilter()
    shown = screen.feed(b"\x1b]0;" + b"x" * 10_000)
    assert "x" in shown
