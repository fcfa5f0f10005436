"""Which other programs hold SQLite's locks on a database, by /proc/locks (proc(5)).

In WAL mode the locks are on single bytes of the -shm file (sqlite.org/walformat.html, "WAL locks"). Only looked at:
opening that file here, and closing it again, would drop our own locks on it.
"""

import os
from pathlib import Path
from typing import Final

_WRITE: Final = range(120, 121)
_READ: Final = range(123, 128)


def writers(database: Path, locks: str = "/proc/locks") -> tuple[str, ...]:
    """Who may write now; without this process."""
    return _holders(database, _WRITE, locks)


def readers(database: Path, locks: str = "/proc/locks") -> tuple[str, ...]:
    """Who reads now; without this process."""
    return _holders(database, _READ, locks)


def _holders(database: Path, wanted: range, locks: str) -> tuple[str, ...]:
    try:
        found = os.stat(f"{database}-shm")
        with open(locks, encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return ()
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    pids = {
        int(words[4])
        for words in lines
        if len(words) >= 8 and words[1] == "POSIX" and words[5] == place and _touches(words[6], words[7], wanted)
    }
    return tuple(_named(pid) for pid in sorted(pids) if pid != os.getpid())


def _touches(first: str, last: str, wanted: range) -> bool:
    return int(first) < wanted.stop and (last == "EOF" or int(last) >= wanted.start)


def _named(pid: int) -> str:
    if pid <= 0:
        return "a program that this host does not see"
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return f"{file.read().strip()} (pid {pid})"
    except OSError:
        return f"pid {pid}"
