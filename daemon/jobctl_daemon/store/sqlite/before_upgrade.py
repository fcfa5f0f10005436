"""The copy that is kept of a database before its schema is changed: the way back from an upgrade."""

import contextlib
import os
import re
import sqlite3
from pathlib import Path
from typing import Final

from jobctl_daemon.store.sqlite import backup
from jobctl_daemon.store.sqlite.aside import Stop
from jobctl_daemon.store.sqlite.opening import connect_untouching
from jobctl_daemon.store.sqlite.statements import load

SQL = load("before_upgrade")

#: So many are kept, the newest.
KEPT: Final = 2
_NAME: Final = re.compile(r"(\d{4})")


def path_of(database: Path, schema: int) -> Path:
    """Where the copy of a schema lies: beside the database."""
    return database.with_name(f"{database.stem}-schema-{schema:04}{database.suffix}")


def kept(database: Path) -> list[Path]:
    """The copies that are there, oldest schema first."""
    pattern = path_of(database, 0).name.replace("0000", "[0-9][0-9][0-9][0-9]")
    return sorted(database.parent.glob(pattern))


def newest_up_to(database: Path, schema: int) -> Path | None:
    """The copy that a program which knows this schema can open; None: there is none."""
    possible = [path for path in kept(database) if _number(path) <= schema]
    return possible[-1] if possible else None


def keep(connection: sqlite3.Connection, database: Path, schema: int) -> Path:
    """Copies the database as it is and removes older copies. A copy of the same schema is replaced when the new one is
    whole."""
    wanted = path_of(database, schema)
    draft = database.with_name(f"{backup.PREFIX}{wanted.name}{backup.SUFFIX}")
    backup.discard(draft)
    backup.copy_living(connection, draft, Stop())
    os.rename(draft, wanted)
    for old in kept(database)[:-KEPT]:
        os.unlink(old)
    return wanted


def recorded_since(database: Path, copy: Path) -> dict[str, int]:
    """How many events of each kind the database has that were not there when the copy was made. Both stay untouched.

    Events have been the same in every schema, and their numbers are never given out twice.
    """
    with contextlib.closing(connect_untouching(copy)) as before:
        (last,) = before.execute(SQL.last_event).fetchone()
    with contextlib.closing(connect_untouching(database)) as now:
        return dict(now.execute(SQL.since, {"last": last}))


def _number(path: Path) -> int:
    found = _NAME.search(path.stem.rpartition("-")[2])
    return int(found[1]) if found else 0
