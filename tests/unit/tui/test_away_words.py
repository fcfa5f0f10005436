"""What is said while the daemon is away, and texts on several lines."""

from datetime import UTC

import pytest

from jobctl.errors import Unreachable, VersionMismatch
from jobctl.reading.times import milliseconds
from jobctl.reading.width import width
from jobctl_tui.keys.down import ACTIONS
from jobctl_tui.live.link import Link
from jobctl_tui.words import away
from jobctl_tui.words.glyphs import ASCII, UTF8
from jobctl_tui.words.when import When
from jobctl_tui.words.wrap import wrapped

NOW = milliseconds("2026-11-29T02:12:41Z")
WHEN = When(local=UTC)
REFUSED = Unreachable(
    "cannot reach the daemon", "start one: jobctl daemon start", details={"why": "connection refused"}
)


def text(link: Link, columns: int = 70, **more: list[str]) -> str:
    return "\n".join("".join(words for words, _ in line) for line in away.lines(link, NOW, WHEN, columns, **more))


def test_it_says_why_since_when_what_is_shown_is_stale_and_what_to_do() -> None:
    said = text(Link("down", NOW - 34_000, REFUSED, 6, NOW + 4000, NOW - 34_000))
    assert said.startswith("connection refused\n")
    assert "what was true at 02:12:07, 34s ago" in said
    assert "NOT firing" in said
    assert said.endswith("Try: start one: jobctl daemon start")


def test_one_that_was_never_reached_shows_nothing_that_was_true() -> None:
    said = text(Link("down", NOW, REFUSED, 1))
    assert "Nothing has been read yet" in said
    assert "true at" not in said


def test_a_refusal_is_not_called_down() -> None:
    link = Link("refused", NOW, VersionMismatch("the daemon speaks protocol 9"), 1)
    assert away.title(link) == "The daemon will not serve these screens"
    assert text(link).startswith("the daemon speaks protocol 9")


def test_what_else_is_known_stands_at_the_end() -> None:
    assert text(Link("down", NOW, REFUSED), facts=["/run/jobd.sock: socket"]).endswith("/run/jobd.sock: socket")


def test_an_error_with_escapes_in_it_is_made_safe() -> None:
    assert "\x1b" not in text(Link("down", NOW, Unreachable("x", details={"why": "\x1b]52;c;QQ\x07 [/x]"})))


@pytest.mark.parametrize(
    ("at_ms", "said"), [(NOW + 3001, "Retry 6 in 4 s…"), (NOW + 10, "Retry 6 in 1 s…"), (NOW - 5, "Retry 6 in 0 s…")]
)
def test_seconds_to_the_next_try_are_counted_down(at_ms: int, said: str) -> None:
    assert away.retry(Link("down", NOW, REFUSED, 6, at_ms), NOW, UTF8) == said


def test_a_try_that_is_under_way_counts_nothing() -> None:
    assert away.retry(Link("down", NOW, REFUSED, 6, None), NOW, ASCII) == "Retry 6~"


def test_the_keys_are_named() -> None:
    said = "".join(words for words, _ in away.keys(ACTIONS, UTF8, 100))
    assert said.split("  ")[1:] == ["⏎ retry now", "s start daemon", "d doctor", "L daemon log", "y copy error"]


@pytest.mark.parametrize("room", range(70))
def test_keys_for_which_there_is_no_room_are_left_out_whole(room: int) -> None:
    said = "".join(words for words, _ in away.keys(ACTIONS, UTF8, room))
    assert width(said) <= room
    assert not said or said.endswith(tuple(action.label.lower() for action in ACTIONS))


# ── several lines ──────────────────────────────────────────────


def test_lines_are_cut_between_words_and_nothing_is_lost() -> None:
    words = "the socket is stale, its daemon is gone and nobody has started another"
    lines = list(wrapped(words, 20, "  "))
    assert all(width(line) <= 20 for line in lines)
    assert " ".join(line.strip() for line in lines) == words
    assert all(line.startswith("  ") for line in lines[1:])


@pytest.mark.parametrize("columns", [8, 9, 20, 200])
def test_a_word_that_is_longer_than_a_line_is_cut(columns: int) -> None:
    path = "/var/lib/" + "very-long-" * 20 + "jobd.sock"
    lines = list(wrapped(f"in {path}: gone", columns, "  "))
    assert all(0 < width(line) <= columns for line in lines)
    assert "".join(line.strip() for line in lines).replace(" ", "") == f"in{path}:gone"


def test_wide_letters_count_twice() -> None:
    assert list(wrapped("日本語日本語", 8)) == ["日本語日", "本語"]


def test_an_empty_text_is_one_empty_line() -> None:
    assert list(wrapped("", 20)) == [""]
