"""Lends a command its niceness before it starts: the runner takes it on for the start, where it can go back."""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def lent(nice: int) -> Iterator[None]:
    """Have this niceness for the block. Where it could not be given back nothing is done: see spawn._adjust."""
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    if nice == mine or not can_go_back():
        yield
        return
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, mine)


@functools.cache
def can_go_back() -> bool:
    """Tell whether the runner has the right to raise a priority."""
    # Down is what takes a right; up again is open to everybody, so the trial harms nothing.
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, mine - 1)
    except OSError:
        return False
    os.setpriority(os.PRIO_PROCESS, 0, mine)
    return True
