"""Retries as one text, typed as people say it."""

from typing import Any

import pytest

from jobctl.errors import InvalidInput
from jobctl_tui.words.retries import retry_of, text_of, usual


@pytest.mark.parametrize(
    ("text", "retry"),
    [
        ("3", {"max": 3}),
        ("5, 30s", {"max": 5, "backoff": "30s"}),
        ("5 times, wait 30s, max 5m", {"max": 5, "backoff": "30s", "backoff_max": "5m"}),
        ("2x 10s..1m", {"max": 2, "backoff": "10s", "backoff_max": "1m"}),
        ("3 × wait 10s doubling up to 2h", {"max": 3, "backoff": "10s", "backoff_max": "2h"}),
        ("4, max 5m", {"max": 4, "backoff_max": "5m"}),
        ("10s", {"backoff": "10s"}),
        ("none", {"max": 0}),
        ("0", {"max": 0}),
        ("", {}),
    ],
)
def test_a_text_says_how_often_and_how_far_apart(text: str, retry: dict[str, Any]) -> None:
    assert retry_of(text) == retry


@pytest.mark.parametrize("text", ["3 4 5", "soon", "3, 10", "3 10s 1m 5m"])
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"no delay|too much") as raised:
        retry_of(text)
    assert "3, 10s, 1h" in raised.value.hint


@pytest.mark.parametrize(
    "retry", [{"max": 3, "backoff": "10s", "backoff_max": "1h"}, {"max": 1, "backoff": "500ms", "backoff_max": "1d"}]
)
def test_what_is_shown_reads_back_as_it_was(retry: dict[str, Any]) -> None:
    assert retry_of(text_of(retry)) == retry


def test_no_retries_are_none_and_nothing_said_is_nothing() -> None:
    assert text_of({"max": 0, "backoff": "10s"}) == "none"
    assert text_of({}) == ""
    assert usual() == "3x, wait 10s doubling, max 1h"
