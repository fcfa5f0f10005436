"""Numbered, forward-only migrations. A migration and its stamp are one transaction, so none is ever half applied."""

import contextlib
import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import jobctl
from jobctl.errors import VersionMismatch
from jobctl_daemon.store.sqlite import before_upgrade
from jobctl_daemon.store.sqlite.failures import Failure, damaged, kind_of
from jobctl_daemon.store.sqlite.opening import connect_untouching

_FILE: Final = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema, as shipped."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def shipped() -> tuple[Migration, ...]:
    """The migrations of this program, in order."""
    entries = {entry.name: entry for entry in (files(__package__) / "migrations").iterdir()}
    named = [match for name in sorted(entries) if (match := _FILE.fullmatch(name))]
    return tuple(Migration(int(match[1]), match[2], entries[match[0]].read_text("utf-8")) for match in named)


def check(path: Path, known: Sequence[Migration]) -> None:
    """Raises `VersionMismatch` for a file this program must not write, `Damaged` for one that nobody can read.

    Reads only; a missing or empty file is fine.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        connection = connect_untouching(path)
        try:
            stamps = _stamps(connection)
            _compare(path, stamps, known)
            parts = _parts(connection)
        finally:
            connection.close()
    except _Foreign as error:
        raise VersionMismatch(
            f"{path} cannot be read as a database of jobctl: {error}",
            "it was left as it is; move it away, or put a backup in its place with `jobctl restore FILE`",
        ) from error
    except sqlite3.DatabaseError as error:
        kind = kind_of(error)
        if kind is None or kind is Failure.DAMAGED:
            raise damaged(f"{path} cannot be read as a database: {error}") from error
        raise
    lost = sorted(_made_by(known[: len(stamps)]) - parts)
    if lost:
        raise damaged(f"the database {path} lacks {lost[0]}" + (f" and {len(lost) - 1} more" if lost[1:] else ""))


def migrate(connection: sqlite3.Connection, path: Path, known: Sequence[Migration]) -> int:
    """Applies what is missing, each in its own transaction; returns how many. `path` is for messages."""
    stamps = _stamps(connection)
    _compare(path, stamps, known)
    missing = [migration for migration in known if migration.number not in stamps]
    for migration in missing:
        _apply(connection, migration)
    return len(missing)


def schema_of(connection: sqlite3.Connection) -> int:
    """The number of the last step that was applied; 0: the database is empty."""
    return max(_stamps(connection), default=0)


def _made_by(known: Sequence[Migration]) -> frozenset[str]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for migration in known:
            _apply(connection, migration)
        return _parts(connection)


def _parts(connection: sqlite3.Connection) -> frozenset[str]:
    """Everything that the schema has a name for, in words: tables and their columns, indexes, triggers, views."""
    named = connection.execute(
        "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    columns = connection.execute(
        "SELECT 'column ' || m.name || '.' || c.name FROM sqlite_schema m, pragma_table_xinfo(m.name) c"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return frozenset(str(words) for rows in (named.fetchall(), columns.fetchall()) for (words,) in rows)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _split(migration.text):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO migrations (number, name, checksum, program) VALUES (?, ?, ?, ?)",
            (migration.number, migration.name, migration.checksum, jobctl.__version__),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _split(text: str) -> Iterator[str]:
    """The statements of a script. `executescript` is no way: it commits first."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _stamps(connection: sqlite3.Connection) -> dict[int, str]:
    """Number → checksum of what was applied; none of a file without tables. `_Foreign` when it is not ours."""
    (user_version,) = connection.execute("PRAGMA user_version").fetchone()
    if user_version:
        raise _Foreign(f"its user_version is {user_version}, and jobctl leaves that 0")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables:
        return {}
    if "migrations" not in tables:
        raise _Foreign("it has tables of another program")
    try:
        rows = connection.execute("SELECT number, checksum FROM migrations ORDER BY number").fetchall()
    except sqlite3.OperationalError as error:
        if kind_of(error) is not None:
            raise
        raise _Foreign(f"its table of versions is not ours: {error}") from error
    if not rows:
        raise _Foreign("its table of versions is empty, though it has others")
    for number, checksum in rows:
        if not isinstance(number, int) or not isinstance(checksum, str) or number < 1:
            raise _Foreign(f"its table of versions says {number!r}")
    return dict(rows)


class _Foreign(Exception):
    """The file was not made by jobctl, or somebody changed what says which version made it."""


def _compare(path: Path, stamps: dict[int, str], known: Sequence[Migration]) -> None:
    ours = {migration.number: migration for migration in known}
    newest = max(stamps, default=0)
    if newest > max(ours, default=0):
        raise VersionMismatch(
            f"{path} has schema {newest}, this program knows {max(ours, default=0)}",
            f"it was written by a newer jobctl: install that one, or {_way_back(path, max(ours, default=0))}",
        )
    if sorted(stamps) != list(range(1, newest + 1)):
        raise VersionMismatch(f"{path} lists the schema steps {sorted(stamps)}", "put a backup in its place")
    for number, checksum in stamps.items():
        if checksum != ours[number].checksum:
            raise VersionMismatch(
                f"{path} was made by another schema step {number} ({ours[number].name}) than this program has",
                "install the program that made it",
            )


def _way_back(path: Path, known: int) -> str:
    copy = before_upgrade.newest_up_to(path, known)
    if copy is None:
        return "restore a backup made before the upgrade"
    return f"go back to the copy made before the upgrade: jobctl restore {copy}"
