"""A look at where tables may be: which are there, and whether what holds them is what it was."""

import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from jobctl.crontabs import is_utf8, shown
from jobctl.errors import Unavailable
from jobctl_daemon.asides import Asides
from jobctl_daemon.decide.meant import GONE
from jobctl_daemon.decide.tables import passed_over
from jobctl_daemon.marks import Mark, mark
from jobctl_daemon.tables.places import Table, TablePlaces


@dataclass(frozen=True, slots=True)
class Look:
    """One folder, or the folder of one file, as it is now."""

    identity: str | None
    """Device and inode of the folder; None: it is not there, or cannot be read."""
    why: str = ""
    """Why there is no identity."""
    there: bool = True
    """Whether there is a folder."""
    tables: dict[str, tuple[Table, Mark]] = field(default_factory=dict)
    passed_over: dict[str, str] = field(default_factory=dict)
    """Files in cron.d that cron reads not, and why, where somebody may think that it does."""


@dataclass(slots=True)
class Found:
    """A look at everything."""

    looks: dict[str, Look] = field(default_factory=dict)
    """By folder, and by file where it stands alone."""
    silent: dict[str, str] = field(default_factory=dict)
    """Those whose file system does not answer, and what it does."""

    @property
    def paths(self) -> set[str]:
        """The tables that are there."""
        return {path for look in self.looks.values() for path in look.tables}

    @property
    def identities(self) -> dict[str, str]:
        """Of what could be looked at, as `looks` has it; `GONE` for a folder that is not there."""
        return {key: look.identity or GONE for key, look in self.looks.items() if look.identity or not look.there}

    def whole(self, places: TablePlaces, known: Collection[str]) -> dict[str, str]:
        """Folders that hold known tables and miss none of them, with their identity."""
        there = self.paths
        holding = {places.holder(path) for path in known} - {places.holder(path) for path in known if path not in there}
        return {
            folder: look.identity
            for key, look in self.looks.items()
            if look.identity is not None and (folder := key if key in places.folders else places.holder(key)) in holding
        }


async def look_everywhere(places: TablePlaces, asides: Asides, within_s: float) -> Found:
    """All folders and files, each with so much time."""
    found = Found()
    questions: list[tuple[str, Callable[[], Look]]] = [
        *((folder, partial(look_into, folder, places)) for folder in places.folders),
        *((file, partial(look_at, file, places)) for file in places.files),
    ]
    for key, question in questions:
        try:
            found.looks[key] = await asides.ask(key, question, within_s)
        except Unavailable as error:
            found.silent[key] = error.message
    return found


def look_into(folder: str, places: TablePlaces) -> Look:
    """All tables of a folder. It blocks."""
    try:
        identity = _identity(folder)
        names = os.listdir(folder)
    except OSError as error:
        return _unseen(error)
    look = Look(identity)
    for name in names:
        path = os.path.join(folder, name)
        table = places.table(path)
        if table is not None:
            seen = mark(path)
            if seen and not stat.S_ISDIR(seen[2]):
                look.tables[path] = (table, seen)
        elif folder == places.cron_d and (why := passed_over(name)) and os.path.isfile(path):
            look.passed_over[shown(path)] = why
        elif folder == places.spool and not is_utf8(name):
            look.passed_over[shown(path)] = "no user can have this name: it is not UTF-8"
    return look


def look_at(path: str, places: TablePlaces) -> Look:
    """The one table of a file of its own. It blocks."""
    try:
        look = Look(_identity(os.path.dirname(path)))
    except OSError as error:
        return _unseen(error)
    table, seen = places.table(path), mark(path)
    if table is not None and seen:
        look.tables[path] = (table, seen)
    return look


def _unseen(error: OSError) -> Look:
    there = not isinstance(error, FileNotFoundError)
    return Look(None, error.strerror or str(error) if there else "it is not there", there=there)


def _identity(folder: str) -> str:
    there = os.stat(folder)
    if not stat.S_ISDIR(there.st_mode):
        raise NotADirectoryError(0, "it is no folder")
    return f"{there.st_dev}:{there.st_ino}"
