"""Histories from seeds: one of the files over which the fixed budget is spread."""

from collections.abc import Callable

import pytest

from simulation.budget import play


@pytest.mark.timeout(1200)
@pytest.mark.long
def test_what_always_holds_holds_in_every_history(record_property: Callable[[str, object], None]) -> None:
    play(record_property, start=0, seeds=25)
