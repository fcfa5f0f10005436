"""Control groups that runners leave behind when they are killed: a test takes away those of its own state folder."""

import binascii
import contextlib
import os
from pathlib import Path
from typing import Final

_PLACES: Final = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def remove_groups(state: str | Path) -> None:
    """Removes the empty groups of the runners of a state folder; each name ends in a number of that folder."""
    mine = f"jobctl-*-{binascii.crc32(os.fsencode(state)):08x}"
    for place in _PLACES:
        for group in Path(place).glob(mine):
            for below in sorted(group.glob("**/"), reverse=True):
                with contextlib.suppress(OSError):
                    below.rmdir()
