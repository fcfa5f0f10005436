"""A new file that is there whole or not at all, and that nobody else can read."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO

from jobctl.errors import CallerError, Conflict, Forbidden, InvalidInput

#: Filesystems that know no files without a name say one of these.
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})


@contextlib.contextmanager
def new_file(path: str, *, force: bool = False) -> Iterator[IO[bytes]]:
    """A file to be filled; it gets its name, on the disk, when the block ends well.

    Where the filesystem can do it the file has no name until then, so that a writer that is killed leaves nothing.
    `Conflict` when something has the name already; with `force` a file or a link is replaced in one step, and nothing
    else: root could put a file in the place of /dev/null.
    """
    if not force and os.path.lexists(path):
        raise _exists(path)
    _must_be_replaceable(path)
    folder = os.path.dirname(path) or "."
    try:
        descriptor, draft = _nameless(folder, path)
    except OSError as error:
        raise _refused(path, error) from error
    try:
        with open(descriptor, "wb", closefd=False) as file:
            yield file
        os.fsync(descriptor)
        draft = _named(descriptor, draft, path, force=force)
        _sync_folder(folder)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        os.close(descriptor)
        if draft is not None:
            with contextlib.suppress(OSError):
                os.unlink(draft)


def _must_be_replaceable(path: str) -> None:
    with contextlib.suppress(OSError):
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            raise InvalidInput(f"{path} is no plain file, so it is not replaced", "name another file", field="FILE")


def _nameless(folder: str, path: str) -> tuple[int, str | None]:
    """A descriptor, and the name that the file has for now; None: none at all."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), None
    except OSError as error:
        if error.errno not in _NO_NAMELESS:
            raise
    draft = _draft(path)
    return os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), draft


def _named(descriptor: int, draft: str | None, path: str, *, force: bool) -> str | None:
    """Gives the file its name; returns a name that is left to be taken away."""
    if draft is None and not force:
        _link(descriptor, path)
        return None
    if draft is None:
        draft = _draft(path)
        _link(descriptor, draft)
    if force:
        os.rename(draft, path)
        return None
    os.link(draft, path)
    return draft


def _link(descriptor: int, path: str) -> None:
    """open(2), O_TMPFILE: the way without a privilege."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(str(descriptor), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _draft(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:200]}.{secrets.token_hex(4)}")


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # not every filesystem can
            raise
    finally:
        os.close(descriptor)


def _exists(path: str) -> Conflict:
    return Conflict(f"{path} exists already", "name a new file, or say --force to replace it")


def _refused(path: str, error: OSError) -> CallerError:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Forbidden(f"{path} cannot be written", "name a file in a folder of your own", details=_why(error))
    hint = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "name a file in a folder that is there"
    return CallerError(f"{path} cannot be written: {error.strerror}", hint, details=_why(error))


def _why(error: OSError) -> dict[str, object]:
    return {"why": error.strerror}
