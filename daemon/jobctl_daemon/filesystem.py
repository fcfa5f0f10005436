"""The folder the daemon lives in: private, local, and with files that are the daemon's own."""

import os
import pwd
import stat
from collections.abc import Callable
from contextlib import suppress
from shlex import quote
from typing import Final

from jobctl.errors import Forbidden, InvalidInput, Unavailable
from jobctl_daemon.mounts import network_kind

#: What the daemon itself writes in its folder. Tools that somebody ran as another user leave such files behind.
_FILES: Final = (
    "jobctl.db", "jobctl.db-wal", "jobctl.db-shm", "jobctl.db-open", "jobd.lock", "jobd.lock.json", "jobd.log",
    "reserve",
)  # fmt: skip
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


def make_home(home: str) -> None:
    """The folder of a trial of root's, whose `run/` everybody enters. One that is there stays as it is."""
    before = os.umask(0o022)
    try:
        with suppress(FileExistsError, FileNotFoundError):
            os.mkdir(home, 0o755)
    finally:
        os.umask(before)


def _make_private(state_dir: str) -> None:
    if os.statvfs(state_dir).f_flag & os.ST_RDONLY:
        raise Unavailable(
            f"{state_dir} is on a read-only filesystem", "see dmesg for errors of the disk, then mount it for writing"
        )
    if stat.S_IMODE(os.stat(state_dir).st_mode) == _OWN_FOLDER:
        return
    os.chmod(state_dir, _OWN_FOLDER)


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
