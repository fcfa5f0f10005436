"""One instant at which a schedule asks for a run."""

from dataclasses import dataclass
from typing import Literal

Note = Literal["gap", "overlap"]


@dataclass(frozen=True, slots=True)
class Fire:
    """`at_ms` is UTC milliseconds since the epoch.

    `note` is "gap" when the clock jumped over the nominal time and this is the end of the jump, "overlap" when
    the wall time occurs twice. `coalesced` counts the other nominal times of the same gap that this run stands for.
    """

    at_ms: int
    note: Note | None = None
    coalesced: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """How many fires; `exact` is False when `number` is only a lower bound."""

    number: int
    exact: bool = True
