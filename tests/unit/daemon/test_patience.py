"""Blocking questions get an answer in time, or none."""

import threading
import time

import pytest

from jobctl.errors import Unavailable
from jobctl_daemon.patience import within


def test_the_answer_and_the_error_are_handed_on() -> None:
    def fails() -> int:
        raise KeyError("nobody")

    assert within(10, lambda: 3, "what three is") == 3
    with pytest.raises(KeyError, match="nobody"):
        within(10, fails, "who that is")


def test_nobody_waits_longer_than_he_wants_and_only_so_many_hang_at_once() -> None:
    let_go = threading.Event()
    began = time.monotonic()
    try:
        for _ in range(40):
            with pytest.raises(Unavailable, match="nobody says who ghost is"):
                within(0.02, lambda: let_go.wait(30), "who ghost is")
        assert time.monotonic() - began < 5
        assert sum(thread.name == "question" for thread in threading.enumerate()) == 16
    finally:
        let_go.set()
    until = time.monotonic() + 10
    while True:
        try:
            assert within(5, lambda: "again", "that it goes on") == "again"
            break
        except Unavailable:
            assert time.monotonic() < until
