"""The last ten runs of a job."""

import pytest

from jobctl_tui.words import strip


def test_a_strip_of_few_runs_ends_where_those_of_many_end() -> None:
    assert strip.newest_at_the_end("..x") == "       ..x"
    assert strip.newest_at_the_end("x" * 4 + "." * 10) == "." * 10


def test_a_character_that_nobody_knows_is_a_question_mark() -> None:
    assert strip.known(".z\x1b") == ".??"


@pytest.mark.parametrize(
    ("recent", "style"), [("....", "-dim"), ("..x.", "-late"), ("...x", "-failed"), ("...x>", "-failed"), ("", "-dim")]
)
def test_the_eye_stops_where_the_newest_has_failed(recent: str, style: str) -> None:
    assert strip.style(recent) == style


def test_a_tally_counts_what_has_ended() -> None:
    assert strip.tally("..x.s>").words == "5 runs: 1 failed, 3 ok, 1 other"
    assert strip.tally(".r").words == "2 runs: 2 ok, 1 of them after a retry"
    assert strip.tally(">").words == ""
    assert strip.tally(".").words == "1 run: 1 ok"
