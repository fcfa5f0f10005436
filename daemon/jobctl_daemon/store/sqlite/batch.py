"""Several operations in one commit, each as if it were alone."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jobctl_daemon.store.sqlite.failures import transaction_lost, translate

Operation = Callable[[sqlite3.Connection], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation returned, or why it failed."""

    value: Any = None
    error: Exception | None = None


class _TransactionLost(Exception):
    """The whole transaction is gone; what has been done in it must be done again."""


def commit(connection: sqlite3.Connection, operations: Sequence[Operation]) -> list[Outcome]:
    """Runs the operations in one transaction and answers after its COMMIT, in their order.

    One that raises undoes itself alone. When the transaction as a whole is lost (a full disk takes the savepoints with
    it), all of them are run again one by one, so that only those fail which do not fit.
    """
    if len(operations) == 1:
        return [_alone(connection, operations[0])]
    try:
        return _together(connection, operations)
    except _TransactionLost:
        return [_alone(connection, operation) for operation in operations]


def _alone(connection: sqlite3.Connection, operation: Operation) -> Outcome:
    try:
        connection.execute("BEGIN IMMEDIATE")
        value = operation(connection)
        connection.execute("COMMIT")
    except Exception as error:  # noqa: BLE001 - whatever it is goes to the caller
        _roll_back(connection)
        return Outcome(error=translate(error))
    return Outcome(value)


def _together(connection: sqlite3.Connection, operations: Sequence[Operation]) -> list[Outcome]:
    try:
        connection.execute("BEGIN IMMEDIATE")
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
        outcome = Outcome(error=translate(error))
    connection.execute("RELEASE operation")
    return outcome


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
