"""What can be wrong with the place of the database, and what it is called. Pure."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from jobctl.errors import Unavailable

Kind = Literal["full", "read_only", "gone"]


class Look(NamedTuple):
    """What was seen of the state folder at one moment; bytes."""

    free: int
    total: int
    free_files: int
    """Inodes left; -1 where the filesystem does not count them."""
    read_only: bool
    there: bool
    """The database's path still leads to the file that is open."""
    refused: bool = False
    """The disk has refused a write, and nothing since has shown that it takes them again."""


#: New files that what runs may still need: results of commands, a log's folder.
_FILES_LOW: Final = 64


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why new work has to wait."""

    kind: Kind
    message: str
    hint: str
    what: str
    """The same in itself, whatever it means for the daemon."""
    remedy: str

    def refusal(self) -> Unavailable:
        """Why the daemon does not start."""
        return Unavailable(
            f"it was not started: {self.what}", f"{self.remedy}, then start jobd again", details={"why": self.kind}
        )

    def error(self) -> Unavailable:
        """What a caller is told who asks for new work."""
        return Unavailable(self.message, self.hint, details={"why": self.kind})


def judge(seen: Look, folder: str, low: int) -> Trouble | None:
    """The gravest trouble; None when there is room for new work. `low`: bytes that have to be left.

    The message of one trouble is the same each time, so that a log can count it; numbers are in the hint.
    """
    if not seen.there:
        return Trouble(
            "gone",
            f"the database in {folder} was moved, removed or replaced while jobd runs; nothing new is started",
            "put the folder back as it was, or save what jobd still holds: jobctl backup FILE; then restart jobd",
            f"the database in {folder} was moved, removed or replaced",
            "put the folder back as it was",
        )
    if seen.read_only:
        remedy = "see dmesg for errors of the disk, then mount it for writing"
        return Trouble(
            "read_only",
            f"{folder} is read-only: nothing can be recorded, so nothing new is started",
            f"{remedy}: everything goes on by itself",
            f"{folder} is read-only",
            remedy,
        )
    if seen.refused and seen.free >= low:
        remedy = f"{_bytes(seen.free)} seem free, so it may be a quota: make room"
        return _full(f"the disk of {folder} refuses writes, as if it were full", remedy)
    if seen.free < low or seen.refused:
        remedy = f"{_bytes(seen.free)} of {_bytes(seen.total)} free, new work needs {_bytes(low)}: make room"
        return _full(f"the disk of {folder} is full", remedy)
    if 0 <= seen.free_files < _FILES_LOW:
        remedy = f"{seen.free_files} are free: remove files"
        return _full(f"the disk of {folder} has no inodes left for new files", remedy)
    return None


def _full(what: str, remedy: str) -> Trouble:
    return Trouble("full", f"{what}; nothing new is started", f"{remedy}, {_GOES_ON}", what, remedy)


_GOES_ON: Final = "what runs is recorded, what is due waits, and everything goes on by itself"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
