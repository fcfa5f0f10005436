"""Who commands run as, and which boot this is. Reads the password database and /proc; decides nothing."""

import contextlib
import os
import pwd
from dataclasses import dataclass

from jobctl.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class User:
    """What a command needs to know of the user it runs as."""

    name: str
    uid: int
    gid: int
    home: str
    groups: tuple[int, ...]


def user_by_name(name: str) -> User:
    """Raises `InvalidInput` when there is no such user."""
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError) as error:
        raise InvalidInput(f"there is no user {name!r} on this host", "see getent passwd", field="user") from error
    return _user(entry)


def user_by_uid(uid: int) -> User:
    """The user of the uid; one without an entry is named by its number and lives in /."""
    with contextlib.suppress(KeyError):
        return _user(pwd.getpwuid(uid))
    return User(str(uid), uid, os.getgid(), os.environ.get("HOME", "/"), ())


def _user(entry: pwd.struct_passwd) -> User:
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir, groups)


def boot_id() -> str:
    """The kernel's random id of this boot (proc_sys_kernel(5)); in a container that of its host."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def boot_key() -> str:
    """One value for each boot, and in a container for each start of its PID 1."""
    try:
        with open("/proc/1/stat", "rb") as file:
            # The name in the second field may hold blanks and parentheses; the start time is field 22.
            started = file.read().rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError):
        started = "?"
    return f"{boot_id()}.{started}"
