"""The smallest part of a history that still breaks the same sentence."""

import re
from collections.abc import Sequence

from simulation.history import Step, Told, play
from simulation.world import Given

#: Histories that are played for it at the most.
TRIES: int = 400


def shrunk(given: Given, steps: Sequence[Step], told: Told, tries: int = TRIES) -> tuple[list[int], Told]:
    """The numbers of the steps that are needed, and what is told of them (delta debugging: Zeller, 2002)."""
    assert told.failure is not None
    wanted, left = kind(told.failure.sentence), tries
    kept, best = list(range(min(told.failure.step + 1, len(steps)))), told
    size = max(1, len(kept) // 2)
    while left > 0:
        smaller = False
        place = 0
        while place < len(kept) and left > 0:
            fewer = kept[:place] + kept[place + size :]
            left -= 1
            again = play(given, steps, only=fewer)
            if again.failure is not None and kind(again.failure.sentence) == wanted:
                kept, best, smaller = fewer, again, True
            else:
                place += size
        if size == 1 and not smaller:
            break
        size = max(1, size // 2) if not smaller or size > 1 else 1
    return kept, best


def kind(sentence: str) -> str:
    """The sentence without its numbers and lists: what is broken, not by whom."""
    return re.sub(r"\d+|\[.*\]|\{.*\}|'[^']*'", "#", sentence.splitlines()[0])
