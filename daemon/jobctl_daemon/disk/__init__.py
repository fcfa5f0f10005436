"""Room on the disk of the state folder: what is left, what is kept back, and when new work has to wait."""

from jobctl_daemon.disk.reserve import Reserve
from jobctl_daemon.disk.room import Room, refused_start
from jobctl_daemon.disk.sizes import Sizes, sizes
from jobctl_daemon.disk.trouble import Trouble

__all__ = ["Reserve", "Room", "Sizes", "Trouble", "refused_start", "sizes"]
