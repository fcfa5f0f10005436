"""Kills by the kernel for want of memory, of which the host has one count: tests that look at it take turns."""

import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jobctl_daemon.runner.oom import _FRESH_S

_LOCK: Final = Path(tempfile.gettempdir()) / f"jobctl-test-oom-{os.geteuid()}.lock"


@contextlib.contextmanager
def kills_of_ours_alone() -> Iterator[None]:
    """Meanwhile no other test has the kernel kill somebody, nor just before. Also a decorator of a test."""
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            threading.Event().wait(_FRESH_S)
