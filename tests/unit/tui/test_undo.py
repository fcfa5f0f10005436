"""What can be taken back, and for how long."""

from typing import Any

from jobctl.client.sync import Client
from jobctl_tui.live.undo import KEPT_MS, Undos


def back(client: Client) -> Any:
    return None


def test_nothing_was_done_and_nothing_can_be_taken_back() -> None:
    assert Undos().newest(0) is None


def test_the_newest_change_is_taken_back_first_and_then_the_one_before() -> None:
    undos = Undos().done("paused a", back, 1000).done("paused b", back, 2000)
    newest = undos.newest(2000)
    assert newest is not None
    assert newest.words == "paused b"
    before = undos.taken(newest).newest(2000)
    assert before is not None
    assert before.words == "paused a"
    assert undos.taken(newest).taken(before).newest(2000) is None


def test_a_change_can_be_taken_back_for_thirty_seconds() -> None:
    undos = Undos().done("paused a", back, 1000)
    assert KEPT_MS == 30_000
    assert undos.newest(31_000) is not None
    assert undos.newest(31_001) is None


def test_two_changes_of_the_same_words_are_two() -> None:
    undos = Undos().done("paused a", back, 1000).done("paused a", back, 1000)
    newest = undos.newest(1000)
    assert newest is not None
    assert undos.taken(newest).newest(1000) is not None


def test_what_is_kept_is_bounded() -> None:
    undos = Undos()
    for number in range(1000):
        undos = undos.done(f"paused {number}", back, 0)
    assert len(undos.kept) <= 20
    newest = undos.newest(0)
    assert newest is not None
    assert newest.words == "paused 999"
