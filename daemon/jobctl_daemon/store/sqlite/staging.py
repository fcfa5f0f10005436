"""A backup, looked at and copied to where it is made ready. The backup itself is never written to."""

import contextlib
import sqlite3
from pathlib import Path

from jobctl.errors import Damaged, VersionMismatch
from jobctl_daemon.rows import Copied
from jobctl_daemon.store.sqlite import backup, meta
from jobctl_daemon.store.sqlite.failures import code_of, translate
from jobctl_daemon.store.sqlite.migrate import check, schema_of, shipped
from jobctl_daemon.store.sqlite.opening import connect_untouching


def stage(source: Path, target: Path) -> Copied:
    """Copies a backup to a new file and checks every page of it.

    `VersionMismatch` for one of a newer or another program, `Damaged` for one that cannot be trusted.
    """
    try:
        check(source, shipped())
        with contextlib.closing(connect_untouching(source)) as connection:
            if not schema_of(connection):
                raise VersionMismatch(f"{source} is no database of jobctl: it is empty", "name another backup")
            _must_be_used(connection)
            return backup.copy(connection, target)
    except (backup.Unsound, Damaged) as error:
        raise Damaged(f"{source} is damaged: {error}", "nothing was changed; name another backup") from error
    except sqlite3.DatabaseError as error:
        if code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise Damaged(f"{source} is damaged: {error}", "nothing was changed; name another backup") from error
        raise translate(error) from error


def _must_be_used(connection: sqlite3.Connection) -> None:
    """A daemon that has opened its database has noted its epoch there."""
    if meta.get(connection, meta.EPOCH) is None:
        raise backup.Unsound("its table meta knows of no daemon that has used it")
