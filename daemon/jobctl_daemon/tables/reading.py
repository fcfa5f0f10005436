"""Reading one table as cron does: what it refuses is not read. All of it blocks: never on the loop."""

import errno
import os
import pwd
import stat
from dataclasses import dataclass
from typing import Final

from jobctl_daemon.decide.tables import FileFacts, Kind, refusal
from jobctl_daemon.marks import Mark, mark
from jobctl_daemon.opening import unblocked, unlinked
from jobctl_daemon.tables.places import Table

#: Far more than 10,000 lines of cron's longest command.
BYTES_MAX: Final = 16 * 1024 * 1024
_ROOT: Final = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found: the bytes, or why there are none; and the mark before it was opened."""

    mark: Mark
    data: bytes | None = None
    refused: str | None = None
    owner_uid: int = _ROOT
    """Whose table it is."""


class _Refused(Exception):
    """Why it is not read."""


def read_table(table: Table) -> Reading:
    """The table, or why cron would not run it. A name without a user is refused, and so is what cannot be read."""
    before = mark(table.path)
    owner_uid = _ROOT
    try:
        owner_uid = _owner(table)
        return Reading(before, _read(table, owner_uid), None, owner_uid)
    except _Refused as why:
        return Reading(before, None, str(why), owner_uid)
    except OSError as error:
        return Reading(before, None, f"it cannot be read: {error.strerror or error}", owner_uid)


def written_ms(seen: Mark) -> int:
    """When the file was last written to, through a link as well; 0 for what is not there."""
    return max(seen[7::9], default=0) // 1_000_000


def _owner(table: Table) -> int:
    if table.user is None:
        return _ROOT
    try:
        return pwd.getpwnam(table.user).pw_uid
    except (KeyError, ValueError, UnicodeError) as error:
        raise _Refused(f"there is no user {table.user!r} on this host") from error


def _read(table: Table, owner_uid: int) -> bytes:
    there = os.lstat(table.path)
    link_uid = there.st_uid if stat.S_ISLNK(there.st_mode) else None
    if link_uid is not None and table.kind is Kind.SYSTEM:
        there = os.stat(table.path)
    _judge(table, there, link_uid, owner_uid)
    try:
        with open(table.path, "rb", opener=unblocked if table.kind is Kind.SYSTEM else unlinked) as file:
            _judge(table, os.fstat(file.fileno()), link_uid, owner_uid)  # it may be another one by now
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _Refused("it is a symbolic link, and in the spool cron follows none") from error
        raise
    if len(data) > BYTES_MAX:
        raise _Refused(f"it is larger than {BYTES_MAX >> 20} MiB")
    return data


def _judge(table: Table, there: os.stat_result, link_uid: int | None, owner_uid: int) -> None:
    facts = FileFacts(there.st_mode, there.st_uid, there.st_nlink, there.st_size, link_uid)
    why = refusal(table.kind, facts, owner_uid)
    if why is not None:
        raise _Refused(why)
