"""SQLite's errors in our words; no sqlite3 exception leaves this folder."""

import sqlite3
from typing import Final

from jobctl.errors import DaemonError, InternalError, JobctlError, Unavailable

#: After these SQLite may have rolled the whole transaction back, so nothing of it may be trusted.
_TRANSACTION_LOST: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_CORRUPT,
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


def transaction_lost(error: BaseException) -> bool:
    """Whether the other operations of the same transaction are hit as well."""
    return code_of(error) in _TRANSACTION_LOST


def translate(error: Exception) -> Exception:
    """The error a caller sees. What is neither SQLite's nor the system's passes through."""
    if isinstance(error, OSError):
        return Unavailable(f"the database cannot be opened: {error}", "check the state directory")
    if isinstance(error, JobctlError) or not isinstance(error, sqlite3.Error):
        return error
    return _in_words(code_of(error), error)


def _in_words(code: int, error: sqlite3.Error) -> DaemonError | InternalError:
    if code == sqlite3.SQLITE_FULL:
        return Unavailable("the disk of the state directory is full", "make room there; nothing else is needed")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return Unavailable(f"the database cannot be written: {error}", "check the disk of the state directory")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Unavailable(
            f"the database is damaged: {error}",
            "stop the daemon, keep the file, and put a backup in its place",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("another program holds the database", "no other program may open it while jobd runs")
    return InternalError(f"the store failed: {error}", "please report it")
