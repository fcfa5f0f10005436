"""One bad row harms only itself: a batch that fails is done again row by row."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from jobctl_daemon.store.sqlite.failures import BAD_VALUE

Item = TypeVar("Item")
Result = TypeVar("Result")


def isolated(
    connection: sqlite3.Connection,
    items: Sequence[Item],
    apply: Callable[[Sequence[Item]], Result],
    refuse: Callable[[Item, Exception], Result],
) -> list[Result]:
    """The result of `apply` to all items; when one of them is bad, its results one by one, and `refuse`'s for the bad.

    `apply` must leave nothing outside the database, because it is called again.
    """
    try:
        return [_in_savepoint(connection, items, apply)]
    except BAD_VALUE as error:
        if len(items) == 1:
            return [refuse(items[0], error)]
    return [result for item in items for result in isolated(connection, [item], apply, refuse)]


def _in_savepoint(
    connection: sqlite3.Connection, items: Sequence[Item], apply: Callable[[Sequence[Item]], Result]
) -> Result:
    connection.execute("SAVEPOINT rows")
    try:
        result = apply(items)
    except BAD_VALUE:
        connection.execute("ROLLBACK TO rows")
        connection.execute("RELEASE rows")
        raise
    connection.execute("RELEASE rows")
    return result
