"""JSON columns: definitions, lists and the data of events.

A definition that cannot be read (a bad disk, a hand in the file) harms its own job alone: what stands for it waits for
no time, runs nothing and is not tried again, and `unreadable` says what is wrong with it.
"""

from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from jobctl.model import Execution, Policies, ScheduleSpec
from jobctl.states import Trigger

T = TypeVar("T")

_encode: Final = msgspec.json.Encoder().encode
_schedule: Final = msgspec.json.Decoder(ScheduleSpec)
_execution: Final = msgspec.json.Decoder(Execution)
_policies: Final = msgspec.json.Decoder(Policies)
_any: Final = msgspec.json.Decoder()

#: Stands for NULL in the rows of hot statements, which say nullif(?, GAP): the sqlite3 module looks for an adapter for
#: each None (and bool, and enum) that it binds, which costs more than the column does.
GAP: Final = -(1 << 62)

_SPOILT: Final = (msgspec.MsgspecError, RecursionError)
#: What stands for what cannot be read. No zone has this name, so nothing is ever expanded from it.
NO_SCHEDULE: Final = ScheduleSpec(timezone="?", words="a schedule that cannot be read")
NO_EXECUTION: Final = Execution()
NO_POLICIES: Final = Policies()

#: A text longer than this (a big standard input) is decoded each time and not kept in memory.
_KEPT_CHARS: Final = 4_096


def text(value: object) -> str:
    """JSON text of a value; SQLite's STRICT tables take no bytes for TEXT."""
    return str(_encode(value), "utf-8")


def gap(value: T | None) -> T | int:
    """The value, or what stands for NULL."""
    return GAP if value is None else value


def schedule(column: str) -> ScheduleSpec:
    try:
        return _schedule_kept(column) if len(column) <= _KEPT_CHARS else _schedule.decode(column)
    except _SPOILT:
        return NO_SCHEDULE


def execution(column: str) -> Execution:
    """Decoded once for each text: a burst is a few definitions many times."""
    try:
        return _execution_kept(column) if len(column) <= _KEPT_CHARS else _execution.decode(column)
    except _SPOILT:
        return NO_EXECUTION


def policies(column: str) -> Policies:
    try:
        return _policies_kept(column) if len(column) <= _KEPT_CHARS else _policies.decode(column)
    except _SPOILT:
        return NO_POLICIES


def unreadable(**columns: str) -> str | None:
    """Why a definition cannot be read, by the names of its columns; None: all of them can."""
    for name, column in columns.items():
        try:
            _DECODERS[name].decode(column)
        except _SPOILT as error:
            return f"its {name} cannot be read: {error}"
    return None


def trigger(word: str) -> Trigger:
    """What asked for a run. A look-up in a table costs a fifth of calling the enum."""
    return _TRIGGERS.get(word, Trigger.MANUAL)


def data(column: str) -> dict[str, Any]:
    """The data of an event; of one that cannot be read, what stands there."""
    try:
        found = _any.decode(column)
    except _SPOILT:
        found = None
    return found if isinstance(found, dict) else {"unreadable": column}


def listed(column: str | None) -> list[Any]:
    """A list column; NULL is the empty list."""
    return _any.decode(column) if column else []


_TRIGGERS: Final = {str(each): each for each in Trigger}
_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "schedule": _schedule,
    "command": _execution,
    "policies": _policies,
}

# Keyed by the text itself, so that no edit and no rolled-back write can make them wrong.
_schedule_kept = lru_cache(maxsize=512)(_schedule.decode)
_execution_kept = lru_cache(maxsize=512)(_execution.decode)
_policies_kept = lru_cache(maxsize=512)(_policies.decode)
