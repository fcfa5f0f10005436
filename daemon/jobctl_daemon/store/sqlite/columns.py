"""JSON columns: definitions, lists and the data of events."""

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

#: A text longer than this (a big standard input) is decoded each time and not kept in memory.
_KEPT_CHARS: Final = 4_096


def text(value: object) -> str:
    """JSON text of a value; SQLite's STRICT tables take no bytes for TEXT."""
    return str(_encode(value), "utf-8")


def gap(value: T | None) -> T | int:
    """The value, or what stands for NULL."""
    return GAP if value is None else value


def schedule(column: str) -> ScheduleSpec:
    return _schedule_kept(column) if len(column) <= _KEPT_CHARS else _schedule.decode(column)


def execution(column: str) -> Execution:
    """Decoded once for each text: a burst is a few definitions many times."""
    return _execution_kept(column) if len(column) <= _KEPT_CHARS else _execution.decode(column)


def policies(column: str) -> Policies:
    return _policies_kept(column) if len(column) <= _KEPT_CHARS else _policies.decode(column)


def data(column: str) -> dict[str, Any]:
    """The data of an event."""
    found: dict[str, Any] = _any.decode(column)
    return found


def listed(column: str | None) -> list[Any]:
    """A list column; NULL is the empty list."""
    return _any.decode(column) if column else []


#: A look-up in a table costs a fifth of calling the enum.
TRIGGERS: Final = {str(trigger): trigger for trigger in Trigger}

# Keyed by the text itself, so that no edit and no rolled-back write can make them wrong.
_schedule_kept = lru_cache(maxsize=512)(_schedule.decode)
_execution_kept = lru_cache(maxsize=512)(_execution.decode)
_policies_kept = lru_cache(maxsize=512)(_policies.decode)
