"""Fires as the wall clock of a zone shows them."""

from dataclasses import dataclass
from datetime import datetime

from .fire import Fire, Note
from .offsets import FIRST_MS, LAST_MS
from .zone import find_zone


@dataclass(frozen=True, slots=True)
class LocalFire:
    """A fire with its local time: `local` is ISO 8601 with the offset, `abbreviation` the zone's (`CEST`)."""

    at_ms: int
    note: Note | None
    coalesced: int
    local: str
    abbreviation: str


def local_fire(fire: Fire, tz: str) -> LocalFire:
    """The fire on the wall clock of a zone. Raises `InvalidInput` for an unknown zone."""
    local = _moment(fire.at_ms, tz)
    return LocalFire(fire.at_ms, fire.note, fire.coalesced, local.isoformat(), local.tzname() or "")


def local_time(at_ms: int, tz: str) -> str:
    """An instant in ISO 8601 with the offset of a zone; seconds are the finest. Raises `InvalidInput`."""
    return _moment(at_ms, tz).isoformat()


def _moment(at_ms: int, tz: str) -> datetime:
    return datetime.fromtimestamp(min(max(at_ms, FIRST_MS), LAST_MS) // 1000, find_zone(tz))
