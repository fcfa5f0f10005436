"""Which installation this is. Runners are named after it, so that no runner of another one is given new work.

A version alone does not tell a repaired installation from the one before it: the runners of that would go on starting
commands, from a folder that is to be removed.
"""

import os
import sys
import zlib
from functools import cache

from jobctl import __version__


@cache
def build_id() -> str:
    """The version with eight hex digits over where it is installed and what its runner is made of."""
    digest = zlib.crc32(os.fsencode(os.path.realpath(sys.prefix)))
    folder = os.path.join(os.path.dirname(__file__), "runner")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as file:
                digest = zlib.crc32(file.read(), digest)
    return f"{__version__}-{digest:08x}"
