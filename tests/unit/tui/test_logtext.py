"""What is shown of a line, what is found in it, and where it is broken."""

import signal

import pytest

from jobctl.errors import InvalidInput
from jobctl_tui.live.loglines import line_end
from jobctl_tui.live.logtext import Shown, shown
from jobctl_tui.live.seeker import GaveUp, Seeker, compiled, found_in, spans_of
from jobctl_tui.words.linewrap import wrapped


@pytest.mark.parametrize(
    ("data", "text", "overwritten"),
    [
        (b"plain", "plain", 0),
        (b"", "", 0),
        (b"dos\r", "dos", 0),
        (b"1%\r2%\r3%", "3%", 2),
        (b"1%\r2%\r\x1b[K", "2%", 1),
        (b"\x1b[1;31mred\x1b[0m", "red", 0),
        (b"a\tb", "a       b", 0),
        (b"\x1b]0;title\x07x", "x", 0),
        (b"caf\xc3\xa9 \xff", "café \ufffd", 0),
        ("❤\ufe0f".encode(), "❤", 0),
        (b"bell\x07", "bell\\x07", 0),
    ],
)
def test_a_line_as_a_terminal_would_have_left_it(data: bytes, text: str, overwritten: int) -> None:
    assert shown(data) == Shown(text, overwritten)


def test_upper_and_lower_case_are_the_same_unless_the_pattern_says_so() -> None:
    assert compiled("error").search("ERROR")
    assert not compiled("Error").search("ERROR")
    with pytest.raises(InvalidInput):
        compiled("[")


def test_lines_are_found_and_what_has_no_end_is_left_for_later() -> None:
    regex = compiled("o")
    assert found_in(regex, 100, b"one\ntwo\nthree\nfo", final=False) == ([100, 104], 114)
    assert found_in(regex, 100, b"one\ntwo\nthree\nfo", final=True) == ([100, 104, 114], 116)


@pytest.mark.parametrize("final", [True, False])
def test_plain_pieces_are_looked_through_as_any_other(final: bool) -> None:
    regex = compiled("7|^$")
    texts = ("", "\n", "7", "7\n", "a\n7\n\nb7", "a\n7\n\nb7\n", "\n\n\n", "x" * 9000 + "7\n7")
    for text in texts:
        plain = text.encode()
        at, rest = found_in(regex, 50, plain, final=final)
        found: list[int] = []
        begin, limit = 50, 50 + len(plain)
        while begin < limit:
            end = line_end(plain, 50, begin)
            if end is None and not final:
                break
            end = limit if end is None else end
            if regex.search(plain[begin - 50 : end - 50].removesuffix(b"\n").decode()):
                found.append(begin)
            begin = end
        assert (at, rest) == (found, begin)


def test_what_matches_nothing_has_no_span() -> None:
    assert spans_of(compiled("x*"), "axxb") == [(1, 3)]


def test_another_process_answers_the_same() -> None:
    seeker = Seeker("tw?o")
    assert seeker.find(0, b"one\ntwo\nto\n", final=True) == ([4, 8], 11)
    assert seeker.spans(["two to", "none"]) == [[(0, 3), (4, 6)], []]
    seeker.close()


def test_a_pattern_without_end_is_given_up_and_its_process_is_gone() -> None:
    seeker = Seeker("(a+)+$")
    with pytest.raises(GaveUp):
        seeker.find(0, b"a" * 60 + b"!\n", final=True)
    process = seeker._process
    assert process is not None
    assert process.wait(10) == -signal.SIGPROF
    seeker.close()


def test_a_process_that_is_killed_from_elsewhere_gives_up() -> None:
    seeker = Seeker("x")
    seeker.spans(["x"])
    seeker.kill()
    with pytest.raises(GaveUp):
        seeker.spans(["x"])
    seeker.close()


def test_rows_end_behind_spaces_where_that_leaves_them_half_full() -> None:
    text = "could not write to file: no space left"
    assert [text[a:b] for a, b in wrapped(text, 20)] == ["could not write to ", "file: no space left"]
    assert [b - a for a, b in wrapped("x" * 50, 20)] == [20, 20, 10]
    assert wrapped("", 20) == ((0, 0),)
    assert wrapped("abc", 0) == ((0, 1), (1, 2), (2, 3))


def test_wide_characters_are_not_cut_in_two() -> None:
    assert [b - a for a, b in wrapped("漢" * 10, 7)] == [3, 3, 3, 1]
    assert [b - a for a, b in wrapped("a" + "漢" * 4, 4)] == [2, 2, 1]
