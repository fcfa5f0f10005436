"""Who a process is: its number alone is used again, (number, start time, boot) is not."""

from __future__ import annotations

import os

_FORKED_WITHOUT_EXEC = 0x40


class Stat:
    """The fields of /proc/PID/stat that the runner uses; start is in clock ticks since boot."""

    __slots__ = ("group", "parent", "pid", "session", "start", "state")

    def __init__(self, pid: int, text: bytes) -> None:
        # The name in parentheses may itself contain spaces and parentheses.
        fields = text[text.rindex(b")") + 2 :].split(None, 20)
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.start = int(fields[19])

    @property
    def dead(self) -> bool:
        """Tell whether only the entry of a process that has ended is left."""
        return self.state in b"ZXx"


def read_file(path: str, size: int = 4096) -> bytes:
    """Read up to size bytes of a small kernel file; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def stat(pid: int) -> Stat | None:
    """Return what the kernel says of a process, or None when there is none."""
    try:
        return Stat(pid, read_file(f"/proc/{pid}/stat"))
    except (OSError, ValueError, IndexError):
        return None


def start_time(pid: int) -> int | None:
    """Return a living or unreaped process's start time in ticks, or None."""
    found = stat(pid)
    return found.start if found else None


def lives(pid: int, start: int | None) -> bool:
    """Tell whether exactly this process still runs; an ended, unreaped one does not."""
    found = stat(pid)
    return found is not None and found.start == start and not found.dead


def boot_id() -> str:
    """Return the kernel's random name for this boot."""
    return read_file("/proc/sys/kernel/random/boot_id").decode("ascii").strip()


def is_unborn(pid: int) -> bool:
    """Tell whether a process was forked and has not had an exec since: PF_FORKNOEXEC in linux/sched.h.

    It holds for one that has died so, until it is reaped; and for one that is gone, which was nobody's command.
    """
    try:
        text = read_file(f"/proc/{pid}/stat")
        return bool(int(text[text.rindex(b")") + 2 :].split(None, 7)[6]) & _FORKED_WITHOUT_EXEC)
    except (OSError, ValueError, IndexError):
        return True
