"""`python -m jobctl_daemon.runner`: starts a runner.

Exit status: 0 listening (or, with --foreground, ended as it should), 64 wrong usage, 74 the state directory
cannot be used, 75 the name is taken by a living runner.
"""

from __future__ import annotations

import os
import sys

from . import daemonise, readiness, surroundings
from .lock import Held
from .options import USAGE, Options, Usage
from .runner import Runner

_USAGE, _IO, _TAKEN = 64, 74, 75


def main(arguments: list[str]) -> int:
    """Run until there is nothing left to do; return the exit status."""
    try:
        options = Options(arguments)
    except Usage as error:
        return _tell(_USAGE, f"runner: {error}\n{USAGE}")
    os.closerange(3, 1 << 20)
    notify = readiness.take_address()
    done = _tell if options.foreground else daemonise.detach()
    os.chdir("/")
    surroundings.put_right(started_by_hand=not options.foreground)
    try:
        runner = Runner(options)
    except Held:
        return done(_TAKEN, f"runner: {options.instance} is running already")
    except OSError as error:
        return done(_IO, f"runner: {error}")
    daemonise.let_go_of_terminal()
    done(0, "")
    readiness.tell(notify)
    runner.run()
    return 0


def _tell(status: int, error: str) -> int:
    if error:
        os.write(2, error.encode("utf-8", "backslashreplace") + b"\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
