"""Who holds the daemon's lock, and who waits for it.

The lock is a flock(2) for life: it goes with its process, however that ends, and no child inherits it. The lock file
has the holder's process id and nothing else, for scripts; what more there is to say stands in a file beside it, and is
believed only if it is of the same process.
"""

import contextlib
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from typing import Final

from jobctl.errors import Conflict
from jobctl.wire import rfc3339

_STATES: Final = {"T": "it is stopped, by SIGSTOP or a debugger", "Z": "it is dead and not yet collected"}


@dataclass(frozen=True, slots=True)
class Holder:
    """The daemon that has the lock."""

    pid: int
    since_ms: int
    """Wall time at which it got the lock."""
    version: str
    socket: str


def lock(path: str) -> int:
    """Takes the lock for life; raises `Conflict` that says who has it."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Conflict(f"jobd is running already for {os.path.dirname(path)}: {words(path)}", _hint(path)) from error
    return descriptor


def wait_for_lock(path: str) -> int:
    """The same, once whoever holds it is gone. Blocks without a look in between: the kernel hands it over."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def name_holder(descriptor: int, path: str, holder: Holder) -> None:
    """Writes down who holds it now. Also where there is no room left: the id overwrites another one in its place."""
    pid = f"{holder.pid}\n".encode("ascii")
    os.pwrite(descriptor, pid, 0)
    os.ftruncate(descriptor, len(pid))
    beside = _beside(path)
    with contextlib.suppress(OSError):
        with open(f"{beside}.new", "w", encoding="utf-8") as file:
            json.dump(asdict(holder), file)
        os.replace(f"{beside}.new", beside)


def words(path: str) -> str:
    """The holder in words: as much as is known."""
    pid = _pid(path)
    if pid is None:
        return "pid unknown"
    holder = _holder(path, pid)
    said = [f"pid {pid}"]
    if holder is not None:
        said += [f"since {rfc3339(holder.since_ms)}", f"version {holder.version}", f"socket {holder.socket}"]
    if state := _STATES.get(_state(pid)):
        said.append(state)
    return ", ".join(said)


def waiting(path: str, locks: str = "/proc/locks") -> list[int]:
    """The processes that wait for the lock; none where that is unknown. proc(5): an arrow marks those that wait."""
    try:
        found = os.stat(path)
        with open(locks, encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return []
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return sorted({int(line[5]) for line in lines if line[1:3] == ["->", "FLOCK"] and line[6] == inode})


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _beside(path: str) -> str:
    return f"{path}.json"


def _pid(path: str) -> int | None:
    try:
        with open(path, "rb") as file:
            return int(file.readline(32))
    except (OSError, ValueError):
        return None


def _holder(path: str, pid: int) -> Holder | None:
    try:
        with open(_beside(path), encoding="utf-8") as file:
            holder = Holder(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None
    return holder if holder.pid == pid else None


def _state(pid: int) -> str:
    """The letter of proc(5), stat; empty when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _hint(path: str) -> str:
    pid = _pid(path)
    if pid is not None and _state(pid) == "T":
        return f"kill -CONT {pid} lets it go on; with --standby this one takes over when it is gone"
    return "jobctl status; with --standby this one takes over when it is gone"
