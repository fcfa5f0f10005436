"""The listening socket: private from the first moment, in a folder that only its owner can change.

The caller holds the daemon's lock, so a socket that is already there belongs to nobody alive.
"""

import contextlib
import os
import socket
import stat

from jobctl.errors import InvalidInput, Unavailable
from jobctl.paths import Places, checked_socket_path

BACKLOG = 512


def listen(places: Places) -> socket.socket:
    """Binds and listens. `InvalidInput` for a path over 107 bytes or a folder that others may change.

    A user's socket is 0600 in a folder of 0700. The system daemon's is 0666 in one of 0755 by intent: everybody may
    knock, and is judged by what the kernel says of them.
    """
    path = checked_socket_path(places.socket)
    prepare_folder(os.path.dirname(path), 0o755 if places.system else 0o700)
    remove_stale(path)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel.setblocking(False)
        _bind_private(channel, path)
        channel.listen(BACKLOG)
        if places.system:
            os.chmod(path, 0o666)
        link(places)
    except BaseException:
        channel.close()
        raise
    return channel


def _bind_private(channel: socket.socket, path: str) -> None:
    """bind(2) makes the file with 0777 & ~umask, so the umask decides before anybody can see it."""
    before = os.umask(0o177)
    try:
        channel.bind(path)
    except OSError as error:
        raise Unavailable(
            f"cannot listen on {path}: {error.strerror}", "see the rights and room of its folder"
        ) from error
    finally:
        os.umask(before)


def prepare_folder(folder: str, mode: int) -> None:
    """Makes the folder, or checks and narrows it: it must be ours, and only we may write in it."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
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
    if stat.S_IMODE(found.st_mode) != mode:
        os.chmod(folder, mode)


def remove_stale(path: str) -> None:
    """Removes the socket of a daemon that died; anything else under that name is not ours to remove."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise InvalidInput(f"{path} is there and is no socket", "move it away, or choose JOBCTL_HOME")
    os.unlink(path)


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
