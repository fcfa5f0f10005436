"""Notes of the daemon about itself: epoch, watermark, and what services keep between starts."""

import sqlite3
from typing import Final

from jobctl_daemon.store.sqlite.statements import load

SQL = load("meta")

EPOCH: Final = "epoch"
#: The latest wall time that the clock has shown since it was last set back, as far as a claim or a clean stop told.
WATERMARK: Final = "watermark_ms"
#: When a daemon last stopped in an orderly way.
STOPPED: Final = "stopped_ms"
#: What it had shown before: fences never fall below it, whatever the clock does.
FENCE_FLOOR: Final = "fence_floor_ms"
#: How often the clock was set back.
GENERATION: Final = "generation"
#: When somebody last asked whether a write goes through.
PROBED: Final = "probed_ms"
#: The newest finished run that retention has seen.
TIDIED: Final = "tidied_through"


def read(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute(SQL.all))


def write(connection: sqlite3.Connection, values: dict[str, str]) -> None:
    connection.executemany(SQL.put, values.items())


def take_epoch(connection: sqlite3.Connection, node: str, now_ms: int) -> int:
    """Raises the epoch by one and says who took it when."""
    epoch = _number(connection, EPOCH) + 1
    write(connection, {EPOCH: str(epoch), "node": node, "epoch_ms": str(now_ms)})
    return epoch


def holds_epoch(connection: sqlite3.Connection, epoch: int) -> bool:
    """Whether nobody has taken the store over since `epoch`."""
    return _number(connection, EPOCH) == epoch


def raise_watermark(connection: sqlite3.Connection, now_ms: int) -> int:
    """The higher one of the watermark and now is the new watermark. Returns what fences must not fall below."""
    before = _number(connection, WATERMARK)
    if now_ms > before:
        write(connection, {WATERMARK: str(now_ms)})
    return max(before, now_ms, _number(connection, FENCE_FLOOR))


def lower_watermark(connection: sqlite3.Connection, seen_ms: int, now_ms: int) -> None:
    """The clock was set back from `seen_ms`: the watermark counts from now, the floor of the fences stays up."""
    floor = max(seen_ms, _number(connection, WATERMARK), _number(connection, FENCE_FLOOR))
    write(connection, {WATERMARK: str(now_ms), FENCE_FLOOR: str(floor)})


def drop(connection: sqlite3.Connection, key: str) -> None:
    """Forgets a note."""
    connection.execute(SQL.drop, (key,))


def get(connection: sqlite3.Connection, key: str) -> str | None:
    """One note."""
    row = connection.execute(SQL.get, (key,)).fetchone()
    return row[0] if row else None


def _number(connection: sqlite3.Connection, key: str) -> int:
    return int(get(connection, key) or 0)
