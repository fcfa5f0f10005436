"""The folder with the users' own crontabs, as cron keeps it: a file for each user, of that user, for nobody else.

A table is replaced whole, by a rename: who reads it sees the old one or the new one. Names are single path segments
below a folder that is held open, and no link in it is followed, so that nothing leads out. All of it blocks: never on
the loop.
"""

import contextlib
import errno
import fcntl
import grp
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from jobctl.errors import Conflict, Forbidden, InvalidInput, JobctlError, Unavailable

#: cron takes no name with a dot at its beginning for a table, and neither do we.
_DRAFT: Final = ".jobctl."
_GROUP: Final = "crontab"
#: As Debian makes it: root writes and lists, the group of its crontab program writes, nobody removes others' files.
_HOST_FOLDER: Final = 0o1730
_OWN_FOLDER: Final = 0o700
_FILE: Final = 0o600
#: A name in a folder has so many bytes at the most, and the draft's is longer.
_NAME_BYTES_MAX: Final = 255 - len(_DRAFT)
#: More than a table that is put here can have; one that somebody else has put here is read so far and no further.
READ_BYTES_MAX: Final = 16 * 1024 * 1024
Check = Callable[[bytes | None], None]
"""Is given the table that is there, None without one, and refuses by raising."""
#: Whose tables are root's own: cron runs them as those of the user they are named after.
_ROOT: Final = 0

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class Spool:
    """`host`: the folder of the host's cron; otherwise the daemon's own user's."""

    folder: str
    host: bool

    def path(self, user: str) -> str:
        """Where the table of a user is. `InvalidInput` for a name that is no name of a file."""
        return os.path.join(self.folder, checked_name(user))

    def read(self, user: str, *, eyes: int | None = None) -> bytes | None:
        """The table, byte for byte; None when there is none.

        `eyes`: for whose uid, `Forbidden` where the file is neither theirs nor root's: a name may have had another
        holder, whose table is still there. None: for root, who sees whoever's.
        """
        name = checked_name(user)
        with self._open() as folder:
            return None if folder is None else _read(folder, name, self.path(user), eyes)

    def replace(self, user: str, uid: int, data: bytes, check: Check | None = None, *, eyes: int | None = None) -> None:
        """Puts `data` in the place of the user's table, on the disk when this returns; otherwise nothing has changed.

        Nobody else writes here between the check and that. The name is the user's, whoever's the file is that is
        there; a check tells of its content, so it is for the same `eyes` as a look at it.
        """
        name = checked_name(user)
        self._make()
        with self._locked() as folder:
            if check is not None:
                check(_read(folder, name, self.path(user), eyes))
            draft = _DRAFT + name
            try:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=folder)
                self._write(folder, draft, uid, data)
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise _not_written(self.path(user), error) from error

    def remove(self, user: str, check: Check | None = None, *, eyes: int | None = None) -> bool:
        """Whether there was one; it is gone from the disk when this returns. `eyes` as in `replace`."""
        name = checked_name(user)
        if not os.path.isdir(self.folder):
            return False
        with self._locked() as folder:
            try:
                if check is not None:
                    check(_read(folder, name, self.path(user), eyes))
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
            except FileNotFoundError:
                return False
            except OSError as error:
                raise _not_written(self.path(user), error) from error
        return True

    # ── the folder ───────────────────────────────────────────────
    @contextlib.contextmanager
    def _open(self) -> Iterator[int | None]:
        """The folder, held open; None when there is none."""
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise _no_folder(self.folder, error) from error
        try:
            yield folder
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """The folder, and nobody else of this host changes tables through it meanwhile."""
        with self._open() as folder:
            if folder is None:
                raise _no_folder(self.folder, OSError(errno.ENOENT, os.strerror(errno.ENOENT)))
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield folder

    def _make(self) -> None:
        if os.path.isdir(self.folder):
            return
        try:
            os.makedirs(os.path.dirname(self.folder), mode=0o755, exist_ok=True)
            os.mkdir(self.folder, mode=_OWN_FOLDER)
            if self.host and (group := _cron_group()) != -1:
                os.chown(self.folder, -1, group, follow_symlinks=False)
                os.chmod(self.folder, _HOST_FOLDER)
        except FileExistsError:
            return
        except OSError as error:
            raise _not_written(self.folder, error) from error

    def _write(self, folder: int, name: str, uid: int, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, _FILE, dir_fd=folder)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, _FILE)
            if self.host and os.geteuid() == 0:
                os.fchown(descriptor, uid, _cron_group())
            os.fsync(descriptor)


def checked_name(user: str) -> str:
    """The user's name, which is the name of a file. `InvalidInput` where it would be another, or would lead away."""
    size = len(os.fsencode(user))
    if not user or user.startswith(".") or "/" in user or "\0" in user or size > _NAME_BYTES_MAX:
        raise InvalidInput(f"{user[:80]!a} is not the name of a user", "see getent passwd", field="user")
    return user


def _read(folder: int, name: str, path: str, eyes: int | None) -> bytes | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Conflict(f"{path} is a symbolic link, and no link is followed there", "put a file there") from error
        raise Forbidden(f"{path} cannot be read", details={"why": error.strerror}) from error
    try:
        there = os.fstat(descriptor)
        if not stat.S_ISREG(there.st_mode):
            raise _no_file(path)
        if eyes is not None and there.st_uid not in (eyes, _ROOT):
            raise _another_s(path)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(READ_BYTES_MAX)
    finally:
        os.close(descriptor)


def _no_file(path: str) -> Conflict:
    return Conflict(f"{path} is no regular file", "move it away")


def _another_s(path: str) -> Forbidden:
    return Forbidden(
        f"{path} belongs to another account",
        "root says whose it is (chown), or put one of your own there, or remove it: crontab -, crontab -r",
        details={"field": "owner"},
    )


def _cron_group() -> int:
    """The group of Debian's crontab program, which may look into the folder; -1 where there is none."""
    try:
        return grp.getgrnam(_GROUP).gr_gid
    except KeyError:
        return -1


def _no_folder(path: str, error: OSError) -> Unavailable:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Unavailable(f"{path} is no folder, or a symbolic link", "make it a folder: crontabs are kept there")
    return Unavailable(f"{path} cannot be opened", "see its owner and mode", details={"why": error.strerror})


def _not_written(path: str, error: OSError) -> JobctlError:
    if error.errno == errno.EISDIR:
        return _no_file(path)
    hint = "make room there, then try again" if error.errno in _NO_ROOM else "see its owner, its mode, and dmesg"
    return Unavailable(
        f"{path} could not be written: {error.strerror}; it is as it was", hint, details={"why": error.strerror}
    )
