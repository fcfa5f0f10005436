"""The folder the daemon lives in: private, local, its files the daemon's own, and held by one daemon."""

import contextlib
import errno
import fcntl
import os
import pwd
import stat
from collections.abc import Callable
from shlex import quote
from typing import Final

from jobctl.errors import Conflict, Forbidden, InvalidInput, Unavailable
from jobctl_daemon.mounts import network_kind

#: What the daemon itself writes in its folder. Tools that somebody ran as another user leave such files behind.
_FILES: Final = ("jobctl.db", "jobctl.db-wal", "jobctl.db-shm", "jobctl.db-open", "jobd.lock", "jobd.log", "reserve")
_FOLDERS: Final = ("runs", "runner")
_OWN_FILE: Final = 0o600
_OWN_FOLDER: Final = 0o700


def prepare(state_dir: str) -> None:
    """Makes the folder with mode 0700. Refuses one on a network filesystem, and whatever in it is somebody else's.

    `InvalidInput` and `Forbidden` name the place, who owns it and its mode, and the command that puts it right.
    """
    try:
        os.makedirs(state_dir, mode=_OWN_FOLDER, exist_ok=True)
    except FileExistsError as error:
        raise InvalidInput(f"{state_dir} is no folder", f"move it away: mv {quote(state_dir)} {quote(state_dir)}.old") \
            from error  # fmt: skip
    except PermissionError as error:
        raise Forbidden(f"{state_dir} cannot be made: {error.strerror}", "choose another JOBCTL_HOME") from error
    kind = network_kind(state_dir)
    if kind:
        raise InvalidInput(
            f"state_dir {state_dir} lies on a network filesystem ({kind}): the database's locks do not hold there",
            "put state_dir on a local disk: set XDG_STATE_HOME or JOBCTL_HOME",
        )
    _must_be_own(state_dir, _OWN_FOLDER, stat.S_ISDIR, "folder", os.stat(state_dir))
    _make_private(state_dir)
    for name in _FILES:
        _check(os.path.join(state_dir, name), _OWN_FILE, stat.S_ISREG, "plain file")
    for name in _FOLDERS:
        _check(os.path.join(state_dir, name), _OWN_FOLDER, stat.S_ISDIR, "folder")


def _make_private(state_dir: str) -> None:
    if stat.S_IMODE(os.stat(state_dir).st_mode) == _OWN_FOLDER:
        return
    try:
        os.chmod(state_dir, _OWN_FOLDER)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        raise Unavailable(
            f"{state_dir} is on a read-only filesystem", "look at dmesg for errors of the disk; mount it for writing"
        ) from error


def _check(path: str, mode: int, is_kind: Callable[[int], bool], word: str) -> None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    _must_be_own(path, mode, is_kind, word, found)


def _must_be_own(path: str, mode: int, is_kind: Callable[[int], bool], word: str, found: os.stat_result) -> None:
    if not is_kind(found.st_mode):
        hint = "link the whole state folder instead" if stat.S_ISLNK(found.st_mode) else "move it away"
        raise Forbidden(f"{path} is no {word}", hint)
    has = stat.S_IMODE(found.st_mode)
    what = f"{path} (owner {_name(found.st_uid)}, mode {has:04o})"
    if found.st_uid != os.geteuid():
        raise Forbidden(
            f"{what} belongs to somebody else, jobd runs as {_name(os.geteuid())}",
            f"give it back, as root: chown {os.geteuid()}:{os.getegid()} {quote(path)}",
        )
    if has & mode != mode:
        raise Forbidden(
            f"{what} may not be written by its owner", f"give it its mode back: chmod {mode:o} {quote(path)}"
        )


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name}, uid {uid}"
    except KeyError:
        return f"uid {uid}"


def lock(path: str) -> int:
    """Takes the daemon's lock for life; raises `Conflict` naming the holder.

    The descriptor is close-on-exec, so no runner or command inherits the lock.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
    """Writes into the lock file who holds it. In this order the file keeps its block, also on a full disk; without
    one the holder has no name, which is no reason not to run."""
    text = f"{pid}\n".encode("ascii")
    with contextlib.suppress(OSError):
        os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
