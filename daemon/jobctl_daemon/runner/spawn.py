"""Starts one command: new session, clean signals, limits and descriptors, its own stdin and log.

Where nothing but the program and the directory is named by the job, and the user is the runner's own, Popen takes the
vfork path (no preexec_fn, no user, no groups: each would make it a fork), which blocks the runner until the exec and
costs as little as posix_spawn. What vfork cannot set is set on the process right after: see _adjust. All other starts
are made by a child of the runner: see birth.py and child.py.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import resource
import stat
import subprocess

from .birth import Birth
from .failure import SpawnError, about, of_program, shown
from .identity import read_file
from .limits import SOFT_NOFILE
from .loop import Loop
from .niceness import can_go_back, lent
from .order import Order
from .output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


def spawn(order: Order, output: Output) -> tuple[int, list[str]]:
    """Start the command; return its pid and remarks on what could not be set. Raises SpawnError."""
    with _opened(order, output) as (stdin, log), lent(order.nice):
        try:
            return _started(order, order.cwd, stdin, log, [])
        except _NoDirectory as error:
            if order.cwd_else is None:
                raise about("working directory", order.cwd, error) from None
            remark = order.homeless(error.errno or errno.EIO)
        return _started(order, order.cwd_else, stdin, log, [remark])


def beget(order: Order, output: Output, loop: Loop) -> Birth:
    """Fork a child that becomes the command after its go(). Raises SpawnError."""
    with _opened(order, output) as (stdin, log):
        return Birth(loop, order, stdin, log)


class _NoDirectory(OSError):
    """The working directory cannot be entered."""


def _started(order: Order, cwd: bytes, stdin: int, log: int, remarks: list[str]) -> tuple[int, list[str]]:
    pid = _popen(order, cwd, stdin, log)
    return pid, remarks + _adjust(order, pid)


def _popen(order: Order, cwd: bytes, stdin: int, log: int) -> int:
    try:
        process = subprocess.Popen(
            order.argv,
            stdin=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=order.env,
            umask=order.umask,
            start_new_session=True,
            restore_signals=True,
            close_fds=True,
        )
    except OSError as error:
        if error.filename is cwd:
            raise _NoDirectory(error.errno, error.strerror) from None
        if error.filename is None:
            raise SpawnError(error.errno or errno.EIO, os.strerror(error.errno or errno.EIO)) from None
        raise of_program(order.argv, error.errno or errno.EIO, cwd) from None
    except MemoryError:
        raise SpawnError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from None
    except (ValueError, RuntimeError, subprocess.SubprocessError) as error:
        raise SpawnError(errno.EINVAL, str(error)) from None
    # The exit status is for our own wait4: Popen must neither poll it later nor warn of it.
    process.returncode = 0
    return process.pid


@contextlib.contextmanager
def _opened(order: Order, output: Output) -> Iterator[tuple[int, int]]:
    """Have the command's input and log open: what is the runner's own to open. Raises SpawnError."""
    opened = []
    try:
        opened.append(_open_log(order))
        output.goes_to(opened[0])
        if order.stdin_bytes is not None:
            opened.append(_in_memory(order.stdin_bytes))
        elif order.stdin_own is not None:
            opened.append(_open_own(order.stdin_own))
        yield opened[1] if len(opened) > 1 else _nothing(), opened[0]
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _open_log(order: Order) -> int:
    """Open the log in the daemon's private folder; what runs as another user may write it and not read it back.

    It needs that right of its own for /dev/stdout and /dev/stderr: they open the file anew (proc(5)).
    """
    try:
        descriptor = os.open(order.log, _LOG_FLAGS, 0o600)
        if order.user is not None and not order.user.is_me:
            try:
                os.fchown(descriptor, -1, order.user.gid)
                os.fchmod(descriptor, 0o620)
            except PermissionError:
                pass  # without root's rights; the switch is refused as well
    except OSError as error:
        raise about("log file", order.log, error) from None
    return descriptor


@functools.cache
def _nothing() -> int:
    # One for all: reading from it changes nothing that another reader could notice.
    return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)


def _open_own(path: bytes) -> int:
    # Made by jobd in a folder of its own, for this start alone: the user gets what is in it, and cannot open it.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise about("message", path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SpawnError(errno.EINVAL, f"message {shown(path)}: {os.strerror(errno.EINVAL)}")
    return descriptor


def _in_memory(payload: bytes) -> int:
    try:
        descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
        try:
            view = memoryview(payload)
            while view:
                view = view[os.write(descriptor, view) :]
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError:
            os.close(descriptor)
            raise
    except OSError as error:
        raise about("payload", b"in memory", error) from None
    return descriptor


def _adjust(order: Order, pid: int) -> list[str]:
    """Set what the vfork path cannot. The command runs already: for some microseconds it has the runner's values.

    On an ordinary host these are no different and nothing is done: the runner itself runs with nice 0 and the
    descriptor limit that commands get (see surroundings), and lends them a nice of their own where it can take it
    back. Left are a nice where it cannot, and an OOM score.
    """
    remarks = []
    try:
        if order.nice != os.getpriority(os.PRIO_PROCESS, 0) and not can_go_back():
            os.setpriority(os.PRIO_PGRP, pid, order.nice)
    except ProcessLookupError:
        pass
    except OSError as error:
        remarks.append(f"nice {order.nice}: {os.strerror(error.errno or 0)}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft > SOFT_NOFILE:
        with contextlib.suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (SOFT_NOFILE, hard))
    if _my_oom_score() != b"0":
        try:
            _write(f"/proc/{pid}/oom_score_adj", b"0")
        except OSError as error:
            remarks.append(f"oom_score_adj: {os.strerror(error.errno or 0)}")
    return remarks


@functools.cache
def _my_oom_score() -> bytes:
    try:
        return read_file("/proc/self/oom_score_adj").strip()
    except OSError:
        return b"0"


def _write(path: str, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)
