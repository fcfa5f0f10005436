"""A few histories from seeds; `tests/simulate` plays as many as it is asked for."""

from collections.abc import Callable

import pytest

from simulation.budget import play


@pytest.mark.timeout(1200)
def test_what_always_holds_holds_in_every_history(record_property: Callable[[str, object], None]) -> None:
    play(record_property, start=100_000, seeds=4)
