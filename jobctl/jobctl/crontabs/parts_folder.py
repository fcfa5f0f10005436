"""Looking at the host for `parts` and `periodic`: what is in a folder of scripts, and what there is of anacron."""

import os
import stat

from .parts import Entry
from .periodic import Anacron

_ROOT = 0
_ANACRON = "usr/sbin/anacron"
_TIMERS = ("etc/systemd/system/timers.target.wants/anacron.timer",)
_SYSTEMD = "run/systemd/system"


def entries_of(folder: str) -> tuple[Entry, ...]:
    """What is in the folder; nothing where there is none. Raises `OSError` when it cannot be looked at."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(_entry(folder, name) for name in names)


def _entry(folder: str, name: str) -> Entry:
    try:
        there = os.stat(os.path.join(folder, name))
    except OSError:
        return Entry(name, "nothing")
    mode = there.st_mode
    if stat.S_ISREG(mode):
        safe = there.st_uid == _ROOT and not mode & (stat.S_IWGRP | stat.S_IWOTH)
        return Entry(name, "file", executable=bool(mode & 0o111), safe=safe)
    return Entry(name, "folder" if stat.S_ISDIR(mode) else "other")


def anacron_of(root: str = "/") -> Anacron:
    """`root`: the folder in which the host's etc/ and usr/ are."""
    timer = any(os.path.lexists(os.path.join(root, path)) for path in _TIMERS)
    return Anacron(
        installed=os.access(os.path.join(root, _ANACRON), os.X_OK),
        timer=timer and os.path.isdir(os.path.join(root, _SYSTEMD)),
    )
