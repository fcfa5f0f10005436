"""The room on the simulated disk, in the place of what the daemon asks the filesystem."""

import errno
from typing import Final

from jobctl_daemon.disk import Reserve, Room, sizes
from jobctl_daemon.disk.trouble import Look
from simulation.disk import Disk

_TOTAL: Final = 1 << 30
_PIECES: Final = 8
#: Commits for which a piece of the reserve is enough.
_COMMITS: Final = 2


class SimulatedRoom(Room):
    """All of it free, or nothing."""

    def __init__(self, disk: Disk, folder: str, database: str, wanted_low: int) -> None:
        super().__init__(folder, database, wanted_low)
        self._disk = disk
        self._total = _TOTAL
        self.sizes = sizes(_TOTAL, wanted_low)
        self.reserve = _Pieces(disk)

    def seen(self) -> Look:
        return Look(0 if self._disk.full else _TOTAL, _TOTAL, -1, read_only=False, there=True, refused=self._refused)

    def refusal(self) -> int:
        return errno.ENOSPC if self._disk.full else 0


class _Pieces(Reserve):
    """A piece that is given up is room for the next commits."""

    def __init__(self, disk: Disk) -> None:
        super().__init__("reserve", _PIECES)
        self._disk = disk

    def held(self) -> int:
        return self._disk.reserve

    def make(self) -> None:
        if self._disk.full:
            raise OSError(errno.ENOSPC, "no space left on device")
        self._disk.reserve = _PIECES

    def give(self) -> bool:
        if not self._disk.reserve:
            return False
        self._disk.reserve -= 1
        self._disk.spare = _COMMITS
        return True
