"""What whoever starts the daemon may have left to it: closed standard streams, signals that are ignored or blocked."""

import os
import signal
import sys


def make_usual() -> None:
    """As it is for a program that somebody starts by hand. The first thing a process does.

    A file that is opened where standard error is closed gets its number, and whatever is complained of goes into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Where it is ignored nobody can wait for a child.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
