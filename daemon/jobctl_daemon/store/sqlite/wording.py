"""From SQLite's errors to ours, with a look at the disk where SQLite does not tell."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from jobctl.errors import Damaged
from jobctl_daemon.disk import Room
from jobctl_daemon.store.sqlite import holders
from jobctl_daemon.store.sqlite.failures import Failure, kind_of, settled, translate


class Wording:
    """Of one database. `on_damage` hears of the first damage, on whatever thread it was found.

    `damage` is that one: from then on the file, and what lies beside it, is left as it is.
    """

    def __init__(self, path: Path, room: Room | None = None) -> None:
        self._path = path
        self._room = room
        self.on_damage: Callable[[Damaged], None] = _nobody
        self.damage: Damaged | None = None

    def kind(self, error: BaseException) -> Failure | None:
        """What kind of trouble it is; None when it is none of the file or the disk."""
        kind = kind_of(error)
        if kind is Failure.UNWRITABLE and self._room is not None:
            return settled(kind, self._room.refusal())
        return kind

    def of(self, error: Exception) -> Exception:
        """The error for the caller."""
        if not isinstance(error, sqlite3.Error):
            return translate(error)
        kind = self.kind(error)
        if kind in (Failure.FULL, Failure.READ_ONLY) and self._room is not None:
            trouble = self._room.look()  # it knows numbers
            if trouble is not None:
                return trouble.error()
        worded = translate(error, kind, str(self._path), holders.writers(self._path) if kind is Failure.LOCKED else ())
        if isinstance(worded, Damaged) and self.damage is None:
            self.damage = worded
            self.on_damage(worded)
        return worded


def _nobody(_: Damaged) -> None:
    return None
