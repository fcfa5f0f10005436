"""Histories that the test suite plays. JOBCTL_SEEDS asks for more than its fixed budget."""

import os
from collections.abc import Callable

from simulation.__main__ import STEPS, Totals, many, show


def play(record: Callable[[str, object], None], start: int, seeds: int) -> None:
    """Plays so many from `start` on and tells what they came to. A failing one is shown as small as can be."""
    totals: Totals = many(list(range(start, start + int(os.environ.get("JOBCTL_SEEDS", seeds)))), STEPS)
    record("counts", "\n".join(["simulation: " + line.strip() for line in totals.lines()]))
    for seed, _ in totals.failed[:1]:
        raise AssertionError("\n".join(show(seed, STEPS, tries=60)))
