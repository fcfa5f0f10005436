"""Another database in the place of the one that is there. What is replaced is kept whole, never deleted.

A database is up to four files (itself, -wal, -shm, and the mark that it is open), and no call renames them together. So
the intention is written down first. From then on the swap is carried through, by whoever comes next if need be: a
daemon finishes it before it opens anything. Before that nothing has been touched.
"""

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Final

#: Where the new one is made, and where the old ones go, beside the database.
STAGING: Final = "restoring"
KEPT: Final = "replaced"
_ORDER: Final = "restore.json"


def staged(database: Path) -> Path:
    """Where the new database is made ready, under its own name in a folder of its own."""
    return database.parent / STAGING / database.name


def prepare(database: Path) -> Path:
    """An empty folder for the new database; what an interrupted attempt left there goes."""
    discard(database)
    path = staged(database)
    path.parent.mkdir(mode=0o700)
    return path


def discard(database: Path) -> None:
    """Removes what was made ready and is not wanted; never once the swap is ordered."""
    if not _order(database).exists():
        _draft(database).unlink(missing_ok=True)
        shutil.rmtree(database.parent / STAGING, ignore_errors=True)
        kept = database.parent / KEPT
        for folder in (*kept.glob("*"), kept):
            with contextlib.suppress(OSError):
                folder.rmdir()  # what is not empty stays


def order(database: Path, stamp: str) -> Path | None:
    """Writes down that the staged database takes the place. Returns where the old one goes; None: there is none."""
    kept = database.parent / KEPT / stamp
    for path in (staged(database), staged(database).parent):
        _sync(path)
    old = bool(_members(database))
    if old:
        _make(kept)  # before the order: what cannot be carried out must not be ordered
    draft = _draft(database)
    draft.write_text(json.dumps({"kept": stamp}), encoding="utf-8")
    _sync(draft)
    os.rename(draft, _order(database))
    _sync(database.parent)
    return kept if old else None


def finish(database: Path) -> bool:
    """Carries out what is ordered, from wherever it stopped; False: nothing is.

    As long as the new database is in its folder, whatever bears the name is the old one.
    """
    if not _order(database).exists():
        return False
    if staged(database).exists():
        _put_aside(database, database.parent / KEPT / _stamp(_order(database)))
        os.rename(staged(database), database)
        _sync(database.parent)
    os.unlink(_order(database))
    _sync(database.parent)
    shutil.rmtree(database.parent / STAGING, ignore_errors=True)
    return True


def _stamp(order: Path) -> str:
    """Where the old one goes. An order that a bad disk has spoilt is one all the same, and keeps no daemon from its
    start; its time tells it from others."""
    try:
        name = os.path.basename(str(json.loads(order.read_bytes())["kept"]))
    except (ValueError, KeyError, TypeError):
        name = ""
    return f"unnamed-{order.stat().st_mtime_ns}" if name in ("", ".", "..") else name


def _make(kept: Path) -> None:
    for folder in (kept.parent, kept):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def _put_aside(database: Path, kept: Path) -> None:
    members = _members(database)
    if not members:
        return
    _make(kept)
    for path in members:
        os.rename(path, kept / path.name)
    for folder in (kept, kept.parent, database.parent):
        _sync(folder)


def _members(database: Path) -> list[Path]:
    """The database and what SQLite and the store keep beside it under its name."""
    return sorted(path for path in (database, *database.parent.glob(f"{database.name}-*")) if path.exists())


def _order(database: Path) -> Path:
    return database.parent / _ORDER


def _draft(database: Path) -> Path:
    return _order(database).with_suffix(".new")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
