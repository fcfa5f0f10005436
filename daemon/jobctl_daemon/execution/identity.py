"""Who commands run as, and which boot this is. Reads the password database and /proc; decides nothing."""

import contextlib
import grp
import os
import pwd
from dataclasses import dataclass, replace

from jobctl.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class User:
    """What a command needs to know of the user it runs as."""

    name: str
    uid: int
    gid: int
    home: str
    groups: tuple[int, ...]
    expires_day: int | None = None
    """Days from 1970-01-01 to the one on which the account ends (shadow(5)); None: it does not, as far as is known."""
    own_group: bool = False
    """Whether `gid` is a group of this user alone."""


def user_by_name(name: str) -> User:
    """May ask the network, so never on the loop. Raises `InvalidInput` when there is no such user."""
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError) as error:
        raise InvalidInput(f"no such user: {name}", "see getent passwd", field="user") from error
    user = _user(entry)
    return replace(user, expires_day=_expires_day(name), own_group=_is_own_group(user))


def _expires_day(name: str) -> int | None:
    """Of a local account; others' directories end them in their own ways. Only root may read it."""
    try:
        with open("/etc/shadow", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.rstrip("\n").split(":")
                if fields[0] == name:
                    return int(fields[7]) if len(fields) > 7 and fields[7] else None
    except (OSError, ValueError):
        return None
    return None


def _is_own_group(user: User) -> bool:
    try:
        group = grp.getgrgid(user.gid)
    except KeyError:
        return False
    return group.gr_name == user.name and set(group.gr_mem) <= {user.name}


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
