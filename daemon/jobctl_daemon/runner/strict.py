"""Refuses to run what others can change, where the operator wants that (strict_files in jobd.toml)."""

from __future__ import annotations

import errno
import os

from jobctl.trust import weaknesses

from .failure import SpawnError
from .order import Order

_SHOWN = 3


def check(order: Order, env: dict[bytes, bytes]) -> None:
    """Raise SpawnError for an order that trusts some and whose command others can change. In the child, as the user."""
    if order.trusted is None:
        return
    uids, gids = order.trusted
    also = [os.fsdecode(order.env_file)] if order.env_file is not None else []
    path = os.fsdecode(env.get(b"PATH", os.fsencode(os.defpath)))
    argv = [os.fsdecode(word) for word in order.argv]
    found = weaknesses(argv, os.getcwd(), path, also, uids, gids)
    if found:
        raise SpawnError(errno.EPERM, "strict_files: others can change what it runs: " + "; ".join(found[:_SHOWN]))
