"""What holds in every database of jobctl at each commit (docs/invariants.md), asked of its tables alone.

The rules are those that `jobctl doctor --deep` asks a living database.
"""

import sqlite3

from jobctl_daemon.store.sqlite.invariants import broken


def invariants(connection: sqlite3.Connection, *, limits: bool = True) -> None:
    """Raises AssertionError with every sentence that does not hold. `limits`: none was lowered under what runs."""
    found = [f"broken: {rule.sentence}: {rows[:5]}" for rule, rows in broken(connection, limits=limits)]
    assert not found, "\n".join(found)
