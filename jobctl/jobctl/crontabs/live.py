"""The crontabs that a cron daemon of this host reads: finding, reading and writing them.

A user's own table goes through the `crontab` program, as for everybody. /etc/crontab and /etc/cron.d are files; the
spool is read by root alone.
"""

import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobctl.errors import Conflict, Forbidden, InvalidInput

from .parts import FOLDERS, Entry
from .parts_folder import entries_of
from .periodic import ANACRONTAB
from .users import uid_of

ROOT = "/"
SPOOL = "var/spool/cron/crontabs"
#: Debian's cron reads only files with such names in cron.d (`valid_name` in database.c).
_CRON_D_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PRIVATE = 0o600
_BYTES_MAX = 16 * 1024 * 1024
_PROGRAM_S = 30
#: crontab(1) says so and ends with 1 where there is none.
_NONE_YET = b"no crontab for"
#: So does our own crontab(1), of a daemon that does not keep any yet.
_NOT_KEPT = "this daemon does not run crontabs"


@dataclass(frozen=True, slots=True)
class LiveTable:
    """One table as it was read. `owner` is set for a user's table, which goes back through `crontab` where it can."""

    path: str
    data: bytes
    owner: str | None = None
    own: bool = False
    """The caller's own, reached by the `crontab` program."""

    @property
    def system(self) -> bool:
        """Whether it has a user column."""
        return self.owner is None


def own_table(environ: Mapping[str, str], user: str) -> LiveTable | None:
    """The caller's own table; None when there is none, or no cron. Raises `Forbidden` with cron's words."""
    try:
        done = _crontab(["-l"], environ)
    except FileNotFoundError:
        return None
    if done.returncode == 0:
        return LiveTable(f"crontab of {user}", done.stdout, user, own=True)
    if _NONE_YET in done.stderr or not done.stderr.strip():
        return None
    raise Forbidden("crontab -l did not work", details={"why": _words(done.stderr)})


def host_tables(environ: Mapping[str, str], user: str, uid: int) -> list[LiveTable]:
    """Every table that cron reads on this host and the caller may read: the files, and the spool for root."""
    tables = list(_files(judged=uid == 0))
    spool = os.path.join(ROOT, SPOOL)
    if uid == 0 and os.path.isdir(spool):
        return tables + list(_spool(spool))
    try:
        own = own_table(environ, user)
    except Forbidden as error:
        if uid != 0 or _NOT_KEPT not in str(error.details.get("why")):
            raise
        own = None  # no spool, and jobctl's own crontab: this host has no cron that could keep one
    return tables + ([own] if own else [])


def _files(*, judged: bool) -> Iterator[LiveTable]:
    """`judged`: only what is root's counts. Others are shown a table of their own making too."""
    folder = os.path.join(ROOT, "etc/cron.d")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [os.path.join(ROOT, "etc/crontab")]
    paths += [os.path.join(folder, name) for name in names if _CRON_D_NAME.fullmatch(name)]
    for path in paths:
        data = _read_as_cron_would(path, owner=0 if judged else None)
        if data is not None:
            yield LiveTable(path, data)


def anacrontab() -> bytes | None:
    """/etc/anacrontab; None without one."""
    return _read_as_cron_would(os.path.join(ROOT, ANACRONTAB.removeprefix("/")))


def script_folders() -> dict[str, tuple[Entry, ...]]:
    """What is in cron.hourly to cron.monthly; nothing of a folder that cannot be looked at."""
    found = {}
    for folder in FOLDERS:
        try:
            found[folder] = entries_of(os.path.join(ROOT, folder.removeprefix("/")))
        except OSError:
            continue
    return found


def _spool(folder: str) -> Iterator[LiveTable]:
    for name in sorted(os.listdir(folder)):
        owner = None if name.startswith((".", "tmp.")) else uid_of(name)
        data = None if owner is None else _read_as_cron_would(os.path.join(folder, name), owner=owner, private=True)
        if data is not None:
            yield LiveTable(os.path.join(folder, name), data, name)


def _read_as_cron_would(path: str, *, owner: int | None = None, private: bool = False) -> bytes | None:
    """The bytes; None for what cron ignores too: no regular file, one that others may write, or one that is neither its
    owner's nor root's (`process_crontab` in database.c). `private`: a table of the spool, of mode 0600 and no link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if private else 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            found = os.fstat(file.fileno())
            mode = stat.S_IMODE(found.st_mode)
            insecure = mode != _PRIVATE if private else mode & (stat.S_IWGRP | stat.S_IWOTH)
            if not stat.S_ISREG(found.st_mode) or insecure or found.st_nlink != 1 or found.st_size > _BYTES_MAX:
                return None
            return file.read() if owner in (None, found.st_uid) or found.st_uid == 0 else None
    except OSError:
        return None


def read_again(table: LiveTable, environ: Mapping[str, str]) -> bytes:
    """What the table says now; nothing when it has gone."""
    if table.own:
        again = own_table(environ, table.owner or "")
        return again.data if again else b""
    try:
        with open(table.path, "rb") as file:
            return file.read(_BYTES_MAX)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Forbidden(f"{table.path} cannot be read", details={"why": error.strerror}) from error


def write(table: LiveTable, data: bytes, environ: Mapping[str, str]) -> None:
    """Put `data` in place of the table, whole: through `crontab` for the caller's own, else by a rename."""
    if not table.own:
        _replace(table.path, data)
        return
    try:
        done = _crontab(["-"], environ, data)
    except FileNotFoundError as error:
        raise Conflict("there is no crontab program any more", "install it, then run this again") from error
    if done.returncode != 0:
        raise Conflict("crontab refused the new table", details={"why": _words(done.stderr)})


def _replace(path: str, data: bytes) -> None:
    """A rename is seen by cron at once, and nobody ever reads half a table. Owner and mode stay."""
    path = os.path.realpath(path)
    try:
        found = os.stat(path)
        # cron.d ignores names with a dot, so the new file is never read twice.
        descriptor, name = tempfile.mkstemp(prefix=".jobctl.", dir=os.path.dirname(path))
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fchown(descriptor, found.st_uid, found.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
                os.fsync(descriptor)
            os.rename(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise Forbidden(f"{path} cannot be written", "run this as root", details={"why": error.strerror}) from error


def _crontab(
    arguments: list[str], environ: Mapping[str, str], data: bytes | None = None
) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            ["crontab", *arguments],
            input=data if data is not None else b"",
            capture_output=True,
            timeout=_PROGRAM_S,
            env=dict(environ),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Conflict(f"crontab did not end within {_PROGRAM_S} s", "see what it waits for") from error
    except PermissionError as error:
        raise Forbidden("crontab may not be run", details={"why": error.strerror}) from error


def _words(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip()[:500]


def read_file(path: str) -> bytes:
    """A file that the caller named. Raises `InvalidInput` for what is no file, or cannot be read."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > _BYTES_MAX:
                raise InvalidInput(f"{path} is larger than {_BYTES_MAX >> 20} MB", "this is no crontab", field="FILE")
            return file.read(_BYTES_MAX)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", "name a crontab file", field="FILE") from error
