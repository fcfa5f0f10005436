"""What a draft is checked against."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is true at the door: the moment, the host, and who asks."""

    now_ms: int
    host_tz: str
    daemon_user: str
    caller_uid: int
    system: bool
    """Whether the daemon is root's, and may run commands as others."""
    path: str
    """PATH of a login of the daemon's user, and so of commands that run as it."""
    others_path: str | None = None
    """That of all other users; None: the same."""
    user_exists: Callable[[str], bool] = lambda _: True
    host_tz_known: bool = True
    """False when the host does not say its zone and UTC is a guess."""
    owner: str | None = None
    """Whose job it is, and so as whom it runs unless it says otherwise; None: the daemon's user's."""
    upstream: tuple[int, str] | None = None
    """Id and name of the job that `after_of` names, when it was found."""
