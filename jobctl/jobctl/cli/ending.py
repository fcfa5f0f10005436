"""How a verb ends when it neither returns nor fails with an error of `jobctl.errors`.

A verb says what happened; `main.py` turns it into a number.
"""

from enum import Enum


class How(Enum):
    """What a caller can tell from the exit code alone."""

    TROUBLE = "trouble"
    PARTLY = "partly"
    TIMED_OUT = "timed out"
    NOT_RUNNING = "not running"


class Ended(Exception):
    """Everything was printed already; only the exit code is left."""

    def __init__(self, how: How) -> None:
        super().__init__(how.value)
        self.how = how


class CommandEnded(Exception):
    """A run is over, and the caller asked to end as its command did."""

    def __init__(self, run: dict[str, object]) -> None:
        super().__init__(str(run.get("state")))
        self.run = run
