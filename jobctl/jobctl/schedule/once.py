"""One instant, and no other."""

from dataclasses import dataclass

from .base import Schedule
from .fire import Fire


@dataclass(frozen=True, slots=True)
class Once(Schedule):
    """Fires at `at_ms`, UTC milliseconds since the epoch."""

    at_ms: int

    def next_after(self, t_ms: int) -> Fire | None:
        """The instant, while it is still ahead of `t_ms`."""
        return Fire(self.at_ms) if self.at_ms > t_ms else None
