"""What a verb may touch, passed in: streams, environment, clock, user. Tests make another one."""

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from jobctl.clock import Clock, SystemClock


class World(NamedTuple):
    """The outside of one invocation."""

    environ: Mapping[str, str]
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    clock: Clock
    uid: int

    def interactive(self) -> bool:
        """Whether a person can be asked: both ends are a terminal."""
        return self.stdin.isatty() and self.stderr.isatty()


def real_world() -> World:
    return World(os.environ, sys.stdin, sys.stdout, sys.stderr, SystemClock(), os.getuid())
