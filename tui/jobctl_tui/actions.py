"""Everything that can be done on the screens, once: keys, key bar, help and palette are made from it.

An action is found by its id. Who has the scope has a method of that name with `act_` before it and `_` for each dot
and dash: `job.pause` is `act_job_pause`.
"""

from enum import StrEnum
from typing import NamedTuple


class Scope(StrEnum):
    """Where an action can be taken."""

    EVERYWHERE = "everywhere"
    LISTS = "lists"
    JOBS = "jobs"
    RUNS = "runs"
    UPCOMING = "upcoming"
    TIMES = "times"
    DEAD = "dead"
    DAEMON = "daemon"
    RUN = "run"
    EDITOR = "editor"
    DOWN = "down"


class Risk(StrEnum):
    """What an action may spoil."""

    NONE = "none"
    """It changes nothing outside the screens."""
    UNDONE = "undone"
    """It changes something that `u` gives back: done at once."""
    ASKED = "asked"
    """It cannot be taken back: asked first."""


class Action(NamedTuple):
    """One of them. `keys` are Textual's names of keys, the first is the one that is shown."""

    id: str
    keys: tuple[str, ...]
    label: str
    """On the key bar, one or two words; an ellipsis when it asks first."""
    scope: Scope
    help: str
    """In the help and the palette: what it does, in a few words."""
    rank: int = 50
    """Smaller stays longer on a key bar that is too short; 0 always."""
    risk: Risk = Risk.NONE
    group: str = "act"
    """Its column in the help: move, act, find or view."""
    cli: str = ""
    """The same on the command line, with JOB, RUN or QUERY for what it is done to."""

    @property
    def changes(self) -> bool:
        """Whether a read-only screen leaves it out."""
        return self.risk is not Risk.NONE
