"""Starts one command: new session, clean signals, limits and descriptors, its own stdin and log.

Without a user switch Popen takes the vfork path (no preexec_fn, no user, no groups: each would make it a
fork), which blocks the runner until the exec and costs as little as posix_spawn. What vfork cannot set is
set on the process right after: see _adjust.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import resource
import subprocess

from . import env_file
from .borrow import borrowed
from .identity import read_file
from .niceness import can_go_back, lent
from .order import Order, User

_TRANSIENT = frozenset({
    errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETXTBSY, errno.ENOSPC, errno.EDQUOT, errno.EIO,
})  # fmt: skip
SOFT_NOFILE = 1024
_LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


class SpawnError(Exception):
    """A command that could not be started; transient means nothing was used up and it may be tried again."""

    def __init__(self, number: int, detail: str) -> None:
        super().__init__(detail)
        self.errno = number
        self.name = errno.errorcode.get(number, str(number))
        self.detail = detail
        self.transient = number in _TRANSIENT


def spawn(order: Order) -> tuple[int, list[str]]:
    """Start the command; return its pid and remarks on what could not be set. Raises SpawnError."""
    user = None if order.user is None or order.user.is_me else order.user
    opened: list[int] = []
    try:
        log = _opened(opened, "log file", order.log, _open_log, order.log)
        stdin = _stdin(order, user, opened)
        cwd = _directory(order, user, opened)
        env = _environment(order, user)
        with lent(order.nice):
            pid = _popen(order, user, env, cwd, stdin, log)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return pid, _adjust(order, pid)


def _popen(order: Order, user: User | None, env: dict[bytes, bytes], cwd: bytes, stdin: int, log: int) -> int:
    try:
        process = subprocess.Popen(
            order.argv,
            stdin=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
            umask=order.umask,
            start_new_session=True,
            restore_signals=True,
            close_fds=True,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=user.groups if user else None,
        )
    except OSError as error:
        raise SpawnError(error.errno or errno.EIO, _reason(error, order, cwd, user)) from None
    except MemoryError:
        raise SpawnError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from None
    except (ValueError, RuntimeError, subprocess.SubprocessError) as error:
        raise SpawnError(errno.EINVAL, str(error)) from None
    # The exit status is for our own wait4: Popen must neither poll it later nor warn of it.
    process.returncode = 0
    return process.pid


def _reason(error: OSError, order: Order, cwd: bytes, user: User | None) -> str:
    text = os.strerror(error.errno or errno.EIO)
    if error.filename is cwd:
        if user is not None and error.errno == errno.EPERM:
            return f"user {user.uid}: {text}"
        return f"working directory {_show(order.cwd)}: {text}"
    program = order.argv[0]
    if error.errno == errno.ENOENT and b"/" in program and os.path.exists(program):
        return f"program {_show(program)}: its interpreter is missing"
    if error.filename is None:
        return text
    return f"program {_show(program)}: {text}"


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _opened(opened: list[int], what: str, path: bytes, function, *arguments) -> int:  # type: ignore[no-untyped-def]
    try:
        descriptor: int = function(*arguments)
    except OSError as error:
        raise SpawnError(error.errno or errno.EIO, f"{what} {_show(path)}: {os.strerror(error.errno or 0)}") from None
    opened.append(descriptor)
    return descriptor


def _open_log(path: bytes) -> int:
    return os.open(path, _LOG_FLAGS, 0o600)


def _stdin(order: Order, user: User | None, opened: list[int]) -> int:
    if order.stdin_bytes is not None:
        return _opened(opened, "payload", b"in memory", _in_memory, order.stdin_bytes)
    if order.stdin_file is not None:
        with borrowed(user):
            return _opened(opened, "payload file", order.stdin_file, _open_payload, order.stdin_file)
    return _nothing()


@functools.cache
def _nothing() -> int:
    # One for all: reading from it changes nothing that another reader could notice.
    return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)


def _environment(order: Order, user: User | None) -> dict[bytes, bytes]:
    """Return the command's variables. As in systemd, the file's win over the given ones."""
    if order.env_file is None:
        return order.env
    try:
        with borrowed(user):
            return {**order.env, **env_file.read(order.env_file), **order.marks}
    except OSError as error:
        detail = f"environment file {_show(order.env_file)}: {error.strerror}"
        raise SpawnError(error.errno or errno.EIO, detail) from None


def _in_memory(payload: bytes) -> int:
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    try:
        view = memoryview(payload)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _open_payload(path: bytes) -> int:
    # Without O_NONBLOCK the open of a FIFO that nobody writes would hold up every other command.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return descriptor


def _directory(order: Order, user: User | None, opened: list[int]) -> bytes:
    """Return the directory to change to. The child changes before it switches, so the user's right is proved here."""
    if user is None:
        return order.cwd
    with borrowed(user):
        descriptor = _opened(opened, "working directory", order.cwd, _open_directory, order.cwd)
    return b"/proc/self/fd/%d" % descriptor


def _open_directory(path: bytes) -> int:
    descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.stat(".", dir_fd=descriptor)
    except OSError:
        os.close(descriptor)
        raise
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
