"""The folder of declared jobs: which files it has, and reading one. Whatever can put jobs there runs commands as the
daemon's user, so what somebody else can write is refused, as cron refuses it. It blocks: never on the loop."""

import os
import stat
from dataclasses import dataclass, field
from typing import Final

from jobctl.crontabs import is_utf8, shown
from jobctl.jobfiles import FILE_BYTES_MAX
from jobctl.jobfiles.folder import names_of_files
from jobctl_daemon.marks import Mark, mark
from jobctl_daemon.opening import unblocked

ROOT: Final = 0


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose files are read: in the system's daemon root's alone; in a user's that user's and root's."""

    uid: int

    def refusal(self, there: os.stat_result, what: str) -> str | None:
        """Why a file or a folder is not trusted; None: it is."""
        mode = stat.S_IMODE(there.st_mode)
        if there.st_uid not in (self.uid, ROOT):
            wanted = "root" if self.uid == ROOT else f"you (uid {self.uid}) or root"
            return f"{what} belongs to uid {there.st_uid}, not to {wanted}: chown it"
        if mode & stat.S_IWOTH or (self.uid == ROOT and mode & stat.S_IWGRP):
            fix = "chmod go-w" if self.uid == ROOT else "chmod o-w"
            return f"{what} has the mode {mode:04o}: others than its owner may write it: {fix}"
        return None


@dataclass(frozen=True, slots=True)
class Look:
    """The folder as it is now."""

    identity: str | None
    """Device and inode; None: it is not there, or is not to be read."""
    why: str = ""
    """Why there is no identity."""
    there: bool = True
    """Whether there is anything of this name."""
    files: dict[str, Mark] = field(default_factory=dict)
    unnamed: tuple[str, ...] = ()
    """Names that are not UTF-8, printable: jobs are known by the path of their file, which has to be text."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file, or why there are none; and its mark before it was opened."""

    mark: Mark
    data: bytes | None = None
    refused: str | None = None


def look_into(folder: str, trust: Trust) -> Look:
    """All files of jobs in the folder."""
    try:
        there = os.stat(folder)
        if not stat.S_ISDIR(there.st_mode):
            return Look(None, "it is no folder")
        why = trust.refusal(there, "the folder")
        names = os.listdir(folder)
    except FileNotFoundError:
        return Look(None, "it is not there", there=False)
    except OSError as error:
        return Look(None, error.strerror or str(error))
    if why is not None:
        return Look(None, why)
    names = names_of_files(names)
    seen = {os.path.join(folder, name): mark(os.path.join(folder, name)) for name in names if is_utf8(name)}
    found = {path: its for path, its in seen.items() if its and not stat.S_ISDIR(its[2])}
    unnamed = tuple(shown(name) for name in names if not is_utf8(name))
    return Look(f"{there.st_dev}:{there.st_ino}", files=found, unnamed=unnamed)


def read_file(path: str, trust: Trust) -> Reading:
    """The file, or why it is not taken. A symbolic link is followed; what it leads to must be trusted too."""
    before = mark(path)
    try:
        return _read(path, trust, before)
    except OSError as error:
        return Reading(before, None, f"the file cannot be read: {error.strerror or error}")


def _read(path: str, trust: Trust, before: Mark) -> Reading:
    if os.path.islink(path):
        why = trust.refusal(os.stat(os.path.dirname(os.path.realpath(path))), "the folder that the link leads to")
        if why is not None:
            return Reading(before, None, why)
    with open(path, "rb", opener=unblocked) as file:
        there = os.fstat(file.fileno())
        if not stat.S_ISREG(there.st_mode):
            return Reading(before, None, "this is no regular file")
        why = trust.refusal(there, "the file")
        if why is not None:
            return Reading(before, None, why)
        return Reading(before, file.read(FILE_BYTES_MAX + 1))
