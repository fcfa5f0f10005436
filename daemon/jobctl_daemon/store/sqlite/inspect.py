"""A living database looked through: each rule of `invariants`, and each table, in reads that are short."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from jobctl_daemon.rows import Broken
from jobctl_daemon.store.sqlite import invariants
from jobctl_daemon.store.sqlite.aside import Stop
from jobctl_daemon.store.sqlite.statements import load

SQL = load("inspect")

_SHOWN: Final = 5
_MENDED: Final = (3, 51, 3)
_MENDED_BEFORE: Final = (3, 50, 7)
#: Instructions of SQLite between two looks at whether anybody waits.
_LOOK_EVERY: Final = 100_000


def inspect(connection: sqlite3.Connection, stop: Stop) -> list[Broken]:
    """What does not hold; nothing is written."""
    connection.set_progress_handler(stop.is_set, _LOOK_EVERY)
    return [*_damaged(connection, stop), *_broken(connection, stop)]


def engine(version: tuple[int, ...]) -> tuple[str, str | None]:
    """What is at work, and the fault that this version has (sqlite.org/wal.html, "the WAL-reset bug")."""
    name = f"SQLite {'.'.join(map(str, version))}"
    if version >= _MENDED or _MENDED_BEFORE <= version < (3, 51):
        return name, None
    return name, "it must have one writer (until 3.51.3), and here it has one"


def _broken(connection: sqlite3.Connection, stop: Stop) -> Iterator[Broken]:
    for rule in invariants.RULES:
        rows: list[tuple[object, ...]] = []
        for low, high in invariants.windows(connection, rule):
            stop.check()
            rows += invariants.ask(connection, rule, low, high)
        if rows:
            where = tuple(str(row[0]) for row in rows[:_SHOWN])
            yield Broken(sentence=rule.sentence, of=rule.of, where=where, count=len(rows), lasting=rule.lasting)


def _damaged(connection: sqlite3.Connection, stop: Stop) -> Iterator[Broken]:
    """Table by table: a check of the whole file would be one read for as long as it takes."""
    for (name,) in connection.execute(SQL.tables).fetchall():
        stop.check()
        quoted = '"' + str(name).replace('"', '""') + '"'
        try:
            found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({quoted})")]
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            found = [str(error)]
        if found != ["ok"]:
            words = "; ".join(found[:_SHOWN]).replace("\n", ": ")
            yield Broken(sentence=f"its file is damaged: {words}", of="table", where=(str(name),), count=len(found))
