"""What is on disk of the logs, whatever the store says: their folders, their files, and what they take."""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from jobctl_daemon.execution.logs import FOLDER_FLAGS, LogFiles

_FOLDER: Final = re.compile(r"\d{1,18}")
#: A log, its times, or the draft of one that its runner was compacting when it died.
_LOG: Final = re.compile(r"(\d{1,18})-(\d{1,18})\.(?:log~?|times)")


class Found(NamedTuple):
    """A file that is named as a log is, or as what belongs to one."""

    run_id: int
    fence: int
    name: str
    changed_ms: int


def folders(directory: str) -> list[str]:
    """The names of the folders, the oldest runs first."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted((name for name in names if _FOLDER.fullmatch(name)), key=int)


def files(directory: str, folder: str) -> list[Found]:
    """The files of one folder that are named as logs are, and when they were last written."""
    found: list[Found] = []
    with _opened(directory, folder) as descriptor:
        if descriptor is None:
            return found
        with os.scandir(descriptor) as entries:
            for entry in entries:
                match = _LOG.fullmatch(entry.name)
                if match is not None:
                    with suppress(FileNotFoundError):
                        changed_ms = int(entry.stat(follow_symlinks=False).st_mtime * 1000)
                        found.append(Found(int(match[1]), int(match[2]), entry.name, changed_ms))
    return found


def remove(directory: str, folder: str, names: Iterable[str]) -> int:
    """Deletes files of one folder; returns how many went. One that cannot be deleted keeps none of the others."""
    removed = 0
    with _opened(directory, folder) as descriptor:
        for name in names if descriptor is not None else ():
            with suppress(OSError):
                os.unlink(name, dir_fd=descriptor)
                removed += 1
    return removed


@contextmanager
def _opened(directory: str, folder: str) -> Iterator[int | None]:
    """One of the folders, and never what a symbolic link in its place leads to; None: it is none, or is gone."""
    try:
        descriptor = os.open(os.path.join(directory, folder), FOLDER_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        descriptor = None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        descriptor = None
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_folder(directory: str, folder: str) -> None:
    """Removes a folder if it is empty."""
    with suppress(OSError):
        os.rmdir(os.path.join(directory, folder))


def remove_logs(logs: LogFiles, gone: Iterable[tuple[int, int]]) -> None:
    """Deletes the logs of these (run id, fence). What cannot be deleted now is found again as a log of nobody's."""
    for run_id, fence in gone:
        with suppress(OSError):
            logs.remove(run_id, fence)


def bytes_of(logs: LogFiles, written: Iterable[tuple[int, int]]) -> int:
    """What the logs of these (run id, fence) take on disk now; a hole in one takes nothing (stat(2), st_blocks)."""
    total = 0
    for run_id, fence in written:
        with suppress(OSError):
            total += os.stat(logs.path(run_id, fence), follow_symlinks=False).st_blocks * 512
    return total


def logs_of(attempts: Iterable[str]) -> list[tuple[int, int]]:
    """(run id, fence) of attempts by their names between jobd and its runners."""
    return [(int(run_id), int(fence)) for run_id, _, fence in (attempt.partition("-") for attempt in attempts)]
