"""The log of an attempt as a file: the bytes as they were written, to keep, or a text without escapes, to read.

Files are private (0600): a log may hold what nobody else is to see. Called in a thread.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.errors import CallerError, Conflict, InvalidInput
from jobctl.reading.runs import size as size_words
from jobctl.reading.safe import LogFilter

#: Of a larger log a reader gets the end: a pager and /tmp have to take it.
READ_BYTES_MAX: Final = 100_000_000
_PRIVATE: Final = 0o600


class Which(NamedTuple):
    """An attempt's log; None: the newest attempt."""

    run_id: int
    attempt: int | None = None


def name_of(which: Which) -> str:
    """What its file is called when nobody says otherwise."""
    attempt = "" if which.attempt is None else f"-attempt-{which.attempt}"
    return f"run-{which.run_id}{attempt}.log"


def place(typed: str, which: Which, folder: str) -> str:
    """The path that a person means: `~` and `~user` are homes, a folder gets the usual name, the rest is below
    `folder`. Raises `InvalidInput`."""
    text = typed.strip()
    if not text or "\0" in text:
        raise InvalidInput("no path is given", "type where the log is to be saved")
    path = os.path.join(folder, os.path.expanduser(text))
    if text.endswith("/") or os.path.isdir(path):
        path = os.path.join(path, name_of(which))
    if not os.path.isdir(os.path.dirname(path)):
        raise InvalidInput(f"there is no folder {os.path.dirname(path)}", "make it first, or choose another place")
    return os.path.normpath(path)


def save(client: Client, which: Which, path: str, *, overwrite: bool = False) -> int:
    """Writes what there is of the log now; how many bytes that is.

    Raises `Conflict` when there is such a file already, unless it is to be overwritten; then the old one is there
    until the new one is whole. `CallerError` when the disk does not take it: nothing is left behind.
    """
    try:
        with _replacing(path) if overwrite else _new(path) as file:
            for piece in client.log(which.run_id, attempt=which.attempt).pieces():
                file.write(piece)
            return file.tell()
    except FileExistsError as error:
        raise Conflict(f"there is a file {path} already", "overwrite it, or choose another name") from error
    except OSError as error:
        raise CallerError(f"{path}: {error.strerror or error}", "nothing was saved") from error


def to_read(client: Client, which: Which, folder: str) -> str:
    """The path of a text that no terminal acts on, in `folder`. Raises `CallerError` when the disk does not take it."""
    path = os.path.join(folder, name_of(which))
    try:
        with _new(path) as file:
            file.write(_left_out(client, which).encode())
            screen = LogFilter()
            for piece in client.log(which.run_id, attempt=which.attempt, offset=-READ_BYTES_MAX).pieces():
                file.write(screen.feed(piece).encode("utf-8", "replace"))
            file.write(screen.feed(b"", final=True).encode("utf-8", "replace"))
    except OSError as error:
        raise CallerError(f"{path}: {error.strerror or error}", "free some room, or use jobctl log") from error
    return path


def _left_out(client: Client, which: Which) -> str:
    """A first line for a log that is longer than what is read."""
    answer = client.log(which.run_id, attempt=which.attempt, offset=-1)
    whole = int(answer.headers.get("jobctl-log-size", 0))
    answer.close()
    if whole <= READ_BYTES_MAX:
        return ""
    return f"[{size_words(whole - READ_BYTES_MAX)} before this are left out; jobctl log {which.run_id} shows all]\n"


@contextlib.contextmanager
def _new(path: str) -> Iterator[BinaryIO]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
    try:
        with open(descriptor, "wb") as file:
            yield file
    except BaseException:
        os.unlink(path)
        raise


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """Only a file is replaced, never a device or a link's end."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise InvalidInput(f"{path} is no ordinary file", "choose another name")
    descriptor, beside = tempfile.mkstemp(prefix=".jobctl-", dir=os.path.dirname(path))
    try:
        with open(descriptor, "wb") as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
