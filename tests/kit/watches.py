"""A user who gets no more watches of files from the kernel."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kit.accounts import Account


@contextmanager
def no_watches_left(who: Account) -> Iterator[None]:
    """Another process of the user has all inotify instances that the kernel gives him."""
    program = (
        "import ctypes, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "while libc.inotify_init() >= 0: pass\n"
        "print('none left', flush=True)\n"
        "sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        who.command([sys.executable, "-c", program]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"none left\n"
        yield
    finally:
        holder.kill()
        holder.communicate()
