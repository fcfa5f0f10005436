"""A whole database as values, to compare it with what it was."""

import sqlite3
from typing import Any


def everything(connection: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, by its columns; but for the list of migrations."""
    names = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        if not name.startswith("sqlite_") and name != "migrations"
    ]
    found = {}
    for name in names:
        cursor = connection.execute(f"SELECT * FROM {name}")
        columns = [column[0] for column in cursor.description]
        found[name] = [dict(zip(columns, row, strict=True)) for row in cursor]
    return found
