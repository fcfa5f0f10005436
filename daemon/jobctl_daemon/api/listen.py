"""The listening socket: as open as it is to be from the first moment, in a folder that only its owner changes.

The caller holds the daemon's lock, so a socket at the usual place belongs to nobody alive. At a place that somebody has
named it may be another program's: one at which anybody listens is never removed, nor is anything but a socket.
"""

import contextlib
import errno
import os
import select
import socket
import stat
from typing import Final

from jobctl.errors import Conflict, InvalidInput, Unavailable
from jobctl.paths import Places, checked_socket_path

BACKLOG = 512
#: What connect(2) says where nobody listens any more.
_NOBODY: Final = frozenset({errno.ECONNREFUSED, errno.ENOENT})
_ASKED: Final = 10
_PAUSE_MS: Final = 50


def listen(places: Places) -> socket.socket:
    """Binds and listens. `InvalidInput` for a path over 107 bytes or a folder that others may change.

    A user's socket is 0600 in a folder of 0700. The system daemon's is 0666 in one of 0755 by intent: everybody may
    knock, and is judged by what the kernel says of them.
    """
    path = checked_socket_path(places.socket)
    prepare_folder(os.path.dirname(path), 0o755 if places.system else 0o700, narrow=not places.socket_named)
    remove_stale(path)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel.setblocking(False)
        _bind(channel, path, 0o666 if places.system else 0o600)
        channel.listen(BACKLOG)
        link(places)
    except BaseException:
        channel.close()
        raise
    return channel


def _bind(channel: socket.socket, path: str, mode: int) -> None:
    """bind(2) makes the file with 0777 & ~umask, so the umask decides before anybody can see it."""
    before = os.umask(0o777 & ~mode)
    try:
        channel.bind(path)
    except OSError as error:
        raise Unavailable(
            f"cannot listen on {path}: {error.strerror}", "see the rights and room of its folder"
        ) from error
    finally:
        os.umask(before)


def prepare_folder(folder: str, mode: int, *, narrow: bool = True) -> None:
    """Makes the folder, or checks it: it must be ours, and only we may write in it.

    One of our own is narrowed to `mode`; one that somebody has named stays as it is.
    """
    there = os.path.isdir(folder)
    try:
        _make(folder, mode)
        found = os.stat(folder)
    except OSError as error:
        raise Unavailable(
            f"cannot make the socket's folder {folder}: {error.strerror}", "choose JOBCTL_HOME"
        ) from error
    if found.st_uid != os.geteuid():
        raise InvalidInput(
            f"the socket's folder {folder} belongs to uid {found.st_uid}, who could replace the socket",
            "choose a folder of your own with JOBCTL_HOME",
        )
    if there and not narrow:
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InvalidInput(
                f"others may write in the socket's folder {folder} (mode {stat.S_IMODE(found.st_mode):04o})",
                "choose one for JOBCTL_SOCKET in which only you may write",
            )
    elif stat.S_IMODE(found.st_mode) != mode:
        os.chmod(folder, mode)


def _make(folder: str, mode: int) -> None:
    """The folder itself has its mode from its beginning, whatever the umask; those above it are private as ever."""
    os.makedirs(os.path.dirname(folder) or "/", mode=0o700, exist_ok=True)
    before = os.umask(0o777 & ~mode)
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder, mode)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    finally:
        os.umask(before)


def remove_stale(path: str) -> None:
    """Removes the socket of a daemon that died; anything else under that name is not ours to remove."""
    if must_be_free(path):
        os.unlink(path)


def must_be_free(path: str) -> bool:
    """Whether a socket is there at which nobody listens. `InvalidInput`: something else is there; `Conflict`: somebody
    listens, whoever it is."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise Unavailable(f"cannot look at {path}: {error.strerror}", "see the rights of its folder") from error
    if not stat.S_ISSOCK(found.st_mode):
        raise InvalidInput(
            f"{path} is there and is {_kind(found.st_mode)}, no socket", "move it away, or choose JOBCTL_HOME"
        )
    if _is_heard(path):
        raise Conflict(
            f"a program listens at {path} already, and it is not the daemon of this state folder",
            "end it, or choose another place: JOBCTL_SOCKET, JOBCTL_HOME",
        )
    return True


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a symbolic link" if stat.S_ISLNK(mode) else "a file"


def _is_heard(path: str) -> bool:
    """Any answer but these counts as somebody: a full queue, or one of another type, is one that is in use.

    It is asked for a moment: of a daemon that is just being killed the lock may go before the socket does.
    """
    for _ in range(_ASKED):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            if probe.connect_ex(path) in _NOBODY:
                return False
        select.poll().poll(_PAUSE_MS)
    return True


def link(places: Places) -> None:
    """The second name under XDG_RUNTIME_DIR, which goes at logout while the socket stays. Its lack is no error."""
    if places.socket_link is None or places.socket_link == places.socket:
        return
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(places.socket_link), mode=0o700, exist_ok=True)
        draft = f"{places.socket_link}.{os.getpid()}"
        os.symlink(places.socket, draft)
        os.replace(draft, places.socket_link)


def remove(places: Places, channel_inode: int) -> None:
    """Removes what `listen` made, unless somebody else has put a socket there since."""
    with contextlib.suppress(OSError):
        if os.lstat(places.socket).st_ino == channel_inode:
            os.unlink(places.socket)
    if places.socket_link is not None:
        with contextlib.suppress(OSError):
            if os.readlink(places.socket_link) == places.socket:
                os.unlink(places.socket_link)
