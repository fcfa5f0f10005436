"""The folder the daemon lives in: private, local, and held by one daemon."""

import fcntl
import os

from jobctl.errors import Conflict, InvalidInput

#: SQLite's locks and its shared memory do not hold over these (sqlite.org/wal.html, "use over a network").
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs"})


def prepare(state_dir: str) -> None:
    """Makes the folder with mode 0700; refuses one on a network filesystem, or that is somebody else's."""
    os.makedirs(state_dir, mode=0o700, exist_ok=True)
    status = os.stat(state_dir)
    if status.st_uid != os.geteuid():
        raise InvalidInput(f"{state_dir} belongs to another user (uid {status.st_uid})", "choose another JOBCTL_HOME")
    os.chmod(state_dir, 0o700)
    kind = filesystem_type(state_dir)
    if kind in _NETWORK:
        raise InvalidInput(
            f"the state folder {state_dir} lies on a network filesystem ({kind})",
            "put it on a local disk: set XDG_STATE_HOME or JOBCTL_HOME",
        )


def filesystem_type(path: str, mounts: str = "/proc/self/mountinfo") -> str:
    """The type of the filesystem that holds `path` (proc(5), mountinfo); empty when it cannot be told."""
    best, kind = "", ""
    real = os.path.realpath(path)
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                left, _, right = line.partition(" - ")
                place = left.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
                inside = place == "/" or real == place or real.startswith(place + "/")
                if inside and len(place) >= len(best):
                    best, kind = place, right.split(" ", 1)[0]
    except OSError:
        return ""
    return kind


def lock(path: str) -> int:
    """Takes the daemon's lock for life; raises `Conflict` naming the holder.

    The descriptor is close-on-exec, so no runner or command inherits the lock.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(descriptor)
        raise Conflict(
            f"jobd is running already for {os.path.dirname(path)} (pid {holder})", "jobctl status"
        ) from error
    return descriptor


def name_holder(descriptor: int, pid: int) -> None:
    """Writes into the lock file who holds it."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{pid}\n".encode("ascii"), 0)
