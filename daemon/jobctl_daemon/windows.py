"""Which part of a list a screen asks for."""

from jobctl.filters import Filter
from jobctl_daemon.rows import Row


class JobWindow(Row, frozen=True):
    """Of jobs. One-shots that are done are no part of it, unless the filter asks for them."""

    sort: str = "attention"
    reverse: bool = False
    q: Filter = Filter()
    offset: int = 0
    limit: int = 100
    around: int | None = None
    """A job: the part is then the page that has it, if the list does."""


class RunWindow(Row, frozen=True):
    """Of runs. Deliveries of mail are no part of it."""

    midnight_ms: int
    """When today began."""
    q: Filter = Filter()
    offset: int = 0
    limit: int = 100
    around: int | None = None
    """A run: the part is then the page that has it, if the list does."""
