"""SQLite's errors in our words; no sqlite3 exception leaves this folder."""

import errno
import sqlite3
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from jobctl.errors import DaemonError, Damaged, InternalError, JobctlError, Unavailable


class Failure(StrEnum):
    """What kind of trouble an error of the database tells of; `why` of the error that a caller sees."""

    FULL = "full"
    READ_ONLY = "read_only"
    LOCKED = "locked"
    DAMAGED = "damaged"
    UNWRITABLE = "io"
    """The disk failed, or something that only a look at the disk can tell: see `settled`."""


_KINDS: Final = {
    sqlite3.SQLITE_FULL: Failure.FULL,
    sqlite3.SQLITE_READONLY: Failure.READ_ONLY,
    sqlite3.SQLITE_BUSY: Failure.LOCKED,
    sqlite3.SQLITE_LOCKED: Failure.LOCKED,
    sqlite3.SQLITE_CORRUPT: Failure.DAMAGED,
    sqlite3.SQLITE_NOTADB: Failure.DAMAGED,
    sqlite3.SQLITE_IOERR: Failure.UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: Failure.UNWRITABLE,
}

#: After these SQLite may have rolled the whole transaction back, so nothing of it may be trusted.
_TRANSACTION_LOST: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
    }
)

#: What one bad value raises: a constraint, a type SQLite does not know, a number over 64 bits, half a surrogate pair.
BAD_VALUE: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    ValueError,
    TypeError,
)


def code_of(error: BaseException) -> int:
    """The primary result code, 0 when it is no SQLite error."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def kind_of(error: BaseException) -> Failure | None:
    """The kind of trouble; None when it is the operation's own, or a bug."""
    return _KINDS.get(code_of(error))


def settled(kind: Failure | None, refusal: int) -> Failure | None:
    """SQLite does not tell which errno a failed write had; the errno of another write to the same disk does."""
    if kind is not Failure.UNWRITABLE:
        return kind
    if refusal in (errno.ENOSPC, errno.EDQUOT):
        return Failure.FULL
    return Failure.READ_ONLY if refusal == errno.EROFS else kind


def transaction_lost(error: BaseException) -> bool:
    """Whether the other operations of the same transaction are hit as well."""
    return code_of(error) in _TRANSACTION_LOST


def translate(error: Exception, kind: Failure | None = None, path: str = "", holders: Sequence[str] = ()) -> Exception:
    """The error a caller sees. What is neither SQLite's nor the system's passes through.

    `kind`: what the disk told of it; `holders`: the programs that hold its locks. The words of one kind are the same
    each time, so that a log can count them.
    """
    if isinstance(error, OSError):
        return Unavailable(f"the database cannot be opened: {error}", "check the state folder")
    if isinstance(error, JobctlError) or not isinstance(error, sqlite3.Error):
        return error
    return _in_words(kind or kind_of(error), error, path, ", ".join(holders) or "another program")


def _in_words(kind: Failure | None, error: sqlite3.Error, path: str, who: str) -> DaemonError | InternalError:
    if kind is None:
        return InternalError(f"the store failed: {error}", "please report it")
    what = f"the database {path}".rstrip()
    if kind is Failure.DAMAGED:
        name = getattr(error, "sqlite_errorname", "")
        return damaged(f"{what} is damaged: {error}" + (f" ({name})" if name else ""))
    words = {
        Failure.FULL: (
            "the disk of the state folder is full",
            "make room there, nothing else is needed: `df` shows what is left",
        ),
        Failure.READ_ONLY: (
            f"{what} is read-only",
            "its disk may have been mounted so after an error: see dmesg, and the owner and mode of the file",
        ),
        Failure.LOCKED: (
            f"{who} holds {what} locked",
            "end that program: no other one may write to the database while jobd runs",
        ),
        Failure.UNWRITABLE: (f"{what} cannot be read or written: {error}", "check the disk of the state folder"),
    }
    message, hint = words[kind]
    return Unavailable(message, hint, details={"why": str(kind)})


def damaged(message: str) -> Damaged:
    """What is wrong, with the way back: the same for everything that is found in the file."""
    return Damaged(
        f"{message}; it was left as it is",
        "commands go on; put a backup in its place with `jobctl restore FILE`, then start jobd",
        details={"why": str(Failure.DAMAGED)},
    )
