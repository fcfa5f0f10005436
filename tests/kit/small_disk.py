"""A filesystem of a test's own that can be filled, and made read-only."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


class SmallDisk:
    """A tmpfs; what fills it are files of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._fillers = 0

    def free(self) -> int:
        found = os.statvfs(self.place)
        return found.f_bavail * found.f_frsize

    def fill(self) -> None:
        """To the last block."""
        self._fillers += 1
        path = self.place / f"filler-{self._fillers}"
        with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                with contextlib.suppress(OSError):
                    while file.write(b"x" * size) == size:
                        pass

    def empty(self) -> None:
        """Takes away what filled it."""
        for path in self.place.glob("filler-*"):
            path.unlink()

    def remount(self, how: str) -> None:
        """ro, rw."""
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.place)], check=True)


@contextlib.contextmanager
def small_disk(place: Path, size: str = "50m") -> Iterator[SmallDisk]:
    """Mounted, and unmounted at the end; the test is skipped where nobody may mount."""
    place.mkdir(parents=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "jobctl-test", str(place)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip(f"a filesystem of its own cannot be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", str(place)], check=True)
