"""Does one thing with the rights of the job's user, in a process with one thread."""

from __future__ import annotations

import os
from contextlib import contextmanager

from .order import User

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def borrowed(user: User | None) -> Iterator[None]:
    """Take a user's effective identity for the block. The real and the saved one stay, so nobody can signal us.

    Without the right to switch nothing is borrowed: the start itself is refused a moment later.
    """
    if user is None or os.geteuid() != 0:
        yield
        return
    groups, gid = os.getgroups(), os.getegid()
    try:
        os.setgroups(user.groups)
        os.setegid(user.gid)
        os.seteuid(user.uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        os.setgroups(groups)
