"""Who has more than his share of a budget."""

import pytest

from jobctl_daemon.decide.shares import beyond


@pytest.mark.parametrize(
    ("uses", "most", "over"),
    [
        ({}, 10, {}),
        ({1: 10}, 10, {}),
        ({1: 11}, 10, {1: 1}),
        ({1: 2, 2: 9}, 10, {2: 1}),
        ({1: 9, 2: 9}, 10, {1: 4, 2: 4}),
        ({1: 1, 2: 4, 3: 100}, 10, {3: 95}),
        ({1: 1, 2: 1, 3: 1}, 2, {1: 1, 2: 1, 3: 1}),
        ({1: 5, 2: 0}, 0, {1: 5}),
    ],
)
def test_who_needs_little_keeps_it(uses: dict[int, int], most: int, over: dict[int, int]) -> None:
    assert beyond(uses, most) == over
