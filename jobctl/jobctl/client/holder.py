"""Whether a daemon has the state folder, seen from outside: taking its lock to find out would keep another from it."""

import os


def holder(lock_file: str, locks: str = "/proc/locks") -> int | None:
    """The process that holds the daemon's lock, as it says itself; 0 when it does not; None: nobody holds it.

    proc(5): the kernel's list names the process that took a lock, which for a daemon in the background is gone.
    """
    try:
        found = os.stat(lock_file)
        with open(locks, encoding="ascii", errors="replace") as file:
            held = [line.split() for line in file]
    except OSError:
        return None
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    if not any(line[1] == "FLOCK" and line[5] == inode for line in held if len(line) > 5):
        return None
    try:
        with open(lock_file, "rb") as name:
            return int(name.readline(32))
    except (OSError, ValueError):
        return 0
