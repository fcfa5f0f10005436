"""How long runs of a job usually take, from how long its last ones took."""

from collections.abc import Sequence
from typing import Final, NamedTuple

#: Runs that succeeded, the newest ones, of which the usual time is told.
LOOKED_AT: Final = 30


class Usual(NamedTuple):
    """The median, and what one run in twenty exceeds; in ms."""

    p50_ms: int
    p95_ms: int


def usual(took_ms: Sequence[int]) -> Usual | None:
    """Of these durations, by nearest rank; None when there are none."""
    ordered = sorted(took_ms)
    return Usual(_rank(ordered, 50), _rank(ordered, 95)) if ordered else None


def _rank(ordered: Sequence[int], percent: int) -> int:
    return ordered[-(-percent * len(ordered) // 100) - 1]
