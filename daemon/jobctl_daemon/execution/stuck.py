"""Ends a start that does not come back: a child of a runner that has not become its command in half a minute.

A runner waits for the exec of what it starts (vfork(2)), so an exec from a filesystem that hangs holds it up, with
all its other commands. Nothing runs of such a command yet: its process is the runner's own image. Killing it gives the
runner back; it reports the start as failed. What sits in the kernel beyond the reach of signals stays, and is told of.
"""

import os
import signal

import structlog

#: As long as an exec may take.
SPAWN_S = 30.0


def end_hanging_start(runner: int | None) -> bool:
    """Whether there was one, and it was killed. A runner that is stopped has no such child of that age."""
    if runner is None:
        return False
    image, killed = _image(runner), False
    for pid in _children(runner):
        if image is not None and _image(pid) == image and _age_s(pid) > SPAWN_S / 2 and _kill(pid, runner, image):
            structlog.get_logger().warning("runner.start_hangs", runner=runner, pid=pid)
            killed = True  # there may be others, which the runner has forked and is held up to look after
    return killed


def _kill(pid: int, runner: int, image: tuple[str, bytes]) -> bool:
    """Looked at again through the handle: an exec that came back in this very moment is left alone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if _parent(pid) != runner or _image(pid) != image:
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    except OSError as error:
        structlog.get_logger().warning("runner.start_not_ended", runner=runner, pid=pid, error=str(error))
        return False
    finally:
        os.close(handle)


def _children(parent: int) -> list[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if _parent(pid) == parent]


def _image(pid: int) -> tuple[str, bytes] | None:
    """Program and arguments: the same for a runner and for what it has forked and not yet turned into a command."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.readlink(f"/proc/{pid}/exe"), file.read()
    except OSError:
        return None


def _stat(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # From the state on: the name before it may hold blanks and parentheses.
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _age_s(pid: int) -> float:
    fields = _stat(pid)
    if not fields:
        return 0.0
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
