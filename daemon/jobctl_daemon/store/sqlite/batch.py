"""Several operations in one commit, each as if it were alone."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jobctl_daemon.store.sqlite.failures import transaction_lost

Operation = Callable[[sqlite3.Connection], Any]
#: Asked after an operation failed alone; True: something was done about it, so it is worth another try.
Relief = Callable[[Operation, Exception], bool]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation returned, or why it failed (as SQLite says it)."""

    value: Any = None
    error: Exception | None = None


class _TransactionLost(Exception):
    """The whole transaction is gone; what has been done in it must be done again."""


class _NotBegun(Exception):
    """No transaction could be begun: nothing was tried, and nothing else would fare better."""


def _no_relief(_: Operation, __: Exception) -> bool:
    return False


def commit(
    connection: sqlite3.Connection, operations: Sequence[Operation], relief: Relief = _no_relief
) -> list[Outcome]:
    """Runs the operations in one transaction and answers after its COMMIT, in their order.

    One that raises undoes itself alone. When the transaction as a whole is lost (a full disk takes the savepoints with
    it), all of them are run again one by one, so that only those fail which do not fit. When another program holds the
    file, all fail at once: each would wait for it as long as the first.
    """
    if len(operations) == 1:
        return [_alone(connection, operations[0], relief)]
    try:
        return _together(connection, operations)
    except _NotBegun as lost:
        return [Outcome(error=_cause(lost))] * len(operations)
    except _TransactionLost:
        return [_alone(connection, operation, relief) for operation in operations]


def _alone(connection: sqlite3.Connection, operation: Operation, relief: Relief) -> Outcome:
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            value = operation(connection)
            connection.execute("COMMIT")
            return Outcome(value)
        except Exception as error:  # noqa: BLE001 - whatever it is goes to the caller
            _roll_back(connection)
            if not relief(operation, error):
                return Outcome(error=error)


def _together(connection: sqlite3.Connection, operations: Sequence[Operation]) -> list[Outcome]:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise _NotBegun from error
    try:
        outcomes = [_guarded(connection, operation) for operation in operations]
        connection.execute("COMMIT")
    except (sqlite3.Error, _TransactionLost) as error:
        _roll_back(connection)
        raise _TransactionLost from error
    return outcomes


def _guarded(connection: sqlite3.Connection, operation: Operation) -> Outcome:
    connection.execute("SAVEPOINT operation")
    try:
        outcome = Outcome(operation(connection))
    except Exception as error:
        if transaction_lost(error) or not connection.in_transaction:
            raise _TransactionLost from error
        connection.execute("ROLLBACK TO operation")
        outcome = Outcome(error=error)
    connection.execute("RELEASE operation")
    return outcome


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _cause(error: Exception) -> Exception:
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error
