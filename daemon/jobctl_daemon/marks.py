"""What tells whether files have changed, from stat(2) alone. It may block on the file system: never on the loop."""

import os
import stat
from collections.abc import Iterable

Mark = tuple[int, ...]
"""Of one name: who it is, whose, and when it was changed; of a symbolic link also of what it leads to."""
_GONE: Mark = ()


def marks(folders: Iterable[str], files: Iterable[str]) -> dict[str, Mark]:
    """By path: the files, the folders, and every name in the folders. What is not there has an empty mark."""
    found = {path: mark(path) for path in files}
    for folder in folders:
        own = mark(folder)
        found[folder] = own[:3]  # its times say nothing that its names do not
        if own:
            found |= {path: mark(path) for path in _names(folder)}
    return found


def mark(path: str) -> Mark:
    """The mark of one name."""
    try:
        there = os.lstat(path)
    except OSError:
        return _GONE
    own = _of(there)
    if not stat.S_ISLNK(there.st_mode):
        return own
    try:
        return (*own, *_of(os.stat(path)))
    except OSError:
        return own


def watchable(folders: Iterable[str], files: Iterable[str]) -> dict[str, Mark]:
    """The folders that are there to be watched so that no change goes unseen: each, or the nearest above it; those that
    links lead to, and those that links stand in. Each with its identity: one that was made anew is watched anew."""
    wanted: set[str] = set()
    for folder in folders:
        there = nearest(folder)
        wanted.add(there)
        if os.path.islink(there):
            wanted.add(os.path.dirname(there))
        if there == folder:
            wanted |= {os.path.dirname(target) for target in map(_target, _names(folder)) if target}
    for file in files:
        wanted.add(nearest(os.path.dirname(file)))
        target = _target(file)
        if target is not None:
            wanted.add(nearest(os.path.dirname(target)))
    return {path: mark(path)[:3] for path in sorted(wanted) if os.path.isdir(path)}


def nearest(folder: str) -> str:
    """The folder, or where it would be: the first one above it that is there."""
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _target(path: str) -> str | None:
    """Where a symbolic link leads to; None for what is none."""
    return os.path.realpath(path) if os.path.islink(path) else None


def _names(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def _of(there: os.stat_result) -> Mark:
    return (
        there.st_dev, there.st_ino, there.st_mode, there.st_uid, there.st_gid, there.st_nlink, there.st_size,
        there.st_mtime_ns, there.st_ctime_ns,
    )  # fmt: skip
