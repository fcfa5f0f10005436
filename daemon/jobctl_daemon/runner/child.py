"""What a forked child of the runner does until it is the command: all that a user's names could hold up or misuse.

It drops root before it touches anything that was named, so every open is the user's own. While it does, its memory
still is a copy of the runner's, with other people's orders in it: the kernel makes a process that has changed its user
undumpable (fs.suid_dumpable in proc_sys_fs(5) is 0), so nobody but root can trace it or read it until its exec.

One thread has forked it, and nothing of the runner's loop is used any more: an exec or an exit is all that follows.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import os
import resource
import signal

from . import env_file, strict
from .failure import SpawnError, about, of_program
from .identity import read_file
from .limits import SOFT_NOFILE
from .order import Order, User

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: After so long an unborn child ends by itself, also when its runner has died meanwhile.
ALONE_S = 40
#: What is written to the runner: lines that begin with one of these.
STAGE, NOTE, ERROR = b"s", b"n", b"e"
_FAILED = 127


def become(order: Order, line: int, stdin: int, log: int) -> NoReturn:
    """Turn this process into the command; what stands in the way is written to the line.

    line is a socket to the runner that an exec closes. A byte on it means go; before that nothing is done.
    """
    try:
        gc.disable()
        os.setsid()
        _arrange(line, stdin, log)
        if os.read(line, 1):
            _go(order, line)
    except SpawnError as error:
        _tell(line, ERROR, b"%d %s" % (error.errno, error.detail.encode("utf-8", "surrogateescape")))
    except OSError as error:
        _tell(line, ERROR, b"%d %s" % (error.errno or errno.EIO, str(error).encode("utf-8", "replace")))
    except MemoryError:
        _tell(line, ERROR, b"%d out of memory" % errno.ENOMEM)
    except BaseException as error:  # noqa: BLE001 - this process must never come back into the runner's loop
        _tell(line, ERROR, b"%d %s" % (errno.EINVAL, repr(error).encode("utf-8", "replace")))
    finally:
        os._exit(_FAILED)


@functools.cache
def handled() -> tuple[int, ...]:
    """Return the signals that the runner does not leave at their default; asked before its first fork."""
    left_alone = (signal.SIG_DFL, None)
    catchable = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return tuple(int(number) for number in catchable if signal.getsignal(number) not in left_alone)


def _arrange(line: int, stdin: int, log: int) -> None:
    """Leave no descriptor of the runner's open: not even by /proc/self/fd shall a user's name lead to one."""
    signal.set_wakeup_fd(-1)
    for number in handled():
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.dup2(stdin, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.closerange(3, line)
    os.closerange(line + 1, most if most > 0 else 1 << 20)


def _go(order: Order, line: int) -> NoReturn:
    for note in _adjust(order):
        _tell(line, NOTE, note.encode())
    if order.user is not None and not order.user.is_me:
        _note_login(order.user.uid)
        _switch(order.user)
    os.umask(order.umask)
    signal.alarm(ALONE_S)
    env = _environment(order, line)
    _open_stdin(order, line)
    _change_directory(order, line)
    _refuse_what_others_can_change(order, env, line)
    _tell(line, STAGE, b"program %s" % order.argv[0])
    signal.alarm(0)
    _execute(order.argv, env)


def _adjust(order: Order) -> list[str]:
    """Set what takes root's rights. As on the other path, what cannot be set is said and hinders nothing."""
    notes = []
    try:
        if order.nice != os.getpriority(os.PRIO_PROCESS, 0):
            os.setpriority(os.PRIO_PROCESS, 0, order.nice)
    except OSError as error:
        notes.append(f"nice {order.nice}: {error.strerror}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not 0 <= soft <= SOFT_NOFILE:
        resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT_NOFILE, hard))
    try:
        if read_file("/proc/self/oom_score_adj").strip() != b"0":
            _write("/proc/self/oom_score_adj", b"0")
    except OSError as error:
        notes.append(f"oom_score_adj: {error.strerror}")
    return notes


def _note_login(uid: int) -> None:
    """Tell the kernel's audit whose actions these are, as pam_loginuid(8) does for cron; where it has none, nothing."""
    with contextlib.suppress(OSError):
        _write("/proc/self/loginuid", b"%d" % uid)


def _switch(user: User) -> None:
    """Become the user for good: real, effective and saved ids, its groups and no others, no capability."""
    try:
        os.setgroups(user.groups)
        os.setresgid(user.gid, user.gid, user.gid)
        os.setresuid(user.uid, user.uid, user.uid)
    except OSError as error:
        raise SpawnError(error.errno or errno.EPERM, f"user {user.name or user.uid}: {error.strerror}") from None
    same = os.getresuid() == (user.uid,) * 3 and os.getresgid() == (user.gid,) * 3
    if not same or set(os.getgroups()) != set(user.groups) or (user.uid != 0 and _is_capable()):
        raise SpawnError(errno.EPERM, f"user {user.name or user.uid}: root's rights cannot be given up")


def _is_capable() -> bool:
    """Tell whether capabilities are left: securebits of whoever started the runner can keep them (capabilities(7))."""
    for text in read_file("/proc/self/status").splitlines():
        if text.startswith((b"CapPrm:", b"CapEff:", b"CapAmb:")) and int(text.split()[1], 16):
            return True
    return False


def _environment(order: Order, line: int) -> dict[bytes, bytes]:
    """Return the command's variables. As in systemd, the file's win over the given ones."""
    if order.env_file is None:
        return order.env
    _tell(line, STAGE, b"environment file %s" % order.env_file)
    try:
        return {**order.env, **env_file.read(order.env_file), **order.marks}
    except OSError as error:
        raise about("environment file", order.env_file, error) from None


def _open_stdin(order: Order, line: int) -> None:
    if order.stdin_file is None:
        return
    _tell(line, STAGE, b"payload file %s" % order.stdin_file)
    try:
        descriptor = env_file.opened(order.stdin_file)
    except OSError as error:
        raise about("payload file", order.stdin_file, error) from None
    os.set_blocking(descriptor, True)
    os.dup2(descriptor, 0)
    os.close(descriptor)


def _change_directory(order: Order, line: int) -> None:
    """Where the job names none, a home that cannot be entered is no reason not to run."""
    _tell(line, STAGE, b"working directory %s" % order.cwd)
    try:
        os.chdir(order.cwd)
    except OSError as error:
        if order.cwd_else is None:
            raise about("working directory", order.cwd, error) from None
        os.chdir(order.cwd_else)
        _tell(line, NOTE, order.homeless(error.errno or errno.EIO).encode("utf-8", "surrogateescape"))


def _refuse_what_others_can_change(order: Order, env: dict[bytes, bytes], line: int) -> None:
    if order.trusted is None:
        return
    _tell(line, STAGE, b"a look at who can change what runs")
    strict.check(order, env)


def _execute(argv: list[bytes], env: dict[bytes, bytes]) -> NoReturn:
    """Exec, a program without a slash from the PATH that it gets. What is not simply missing there is told first."""
    if b"/" in argv[0]:
        places = [argv[0]]
    else:
        path = env.get(b"PATH", os.fsencode(os.defpath))
        places = [os.path.join(folder, argv[0]) for folder in path.split(b":")]
    first = errno.ENOENT
    for place in places:
        try:
            os.execve(place, argv, env)
        except OSError as error:
            found = error.errno or errno.EIO
            if len(places) == 1 or (first == errno.ENOENT and found not in (errno.ENOENT, errno.ENOTDIR)):
                first = found
        except ValueError as error:
            raise SpawnError(errno.EINVAL, str(error)) from None
    raise of_program(argv, first)


def _tell(line: int, kind: bytes, words: bytes) -> None:
    """Write one line; a runner that is gone hears nothing, and SIGPIPE ends this process."""
    os.write(line, kind + words.replace(b"\n", b" ") + b"\n")


def _write(path: str, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)
