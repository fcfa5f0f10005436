"""What commands write down about themselves, to be counted from outside."""

from pathlib import Path
from typing import NamedTuple


class Mark(NamedTuple):
    """One line of a command: what it was doing, for which run, in which attempt."""

    what: str
    key: str
    attempt: int
    fence: int
    pid: int


class Marks:
    """One file to which every command appends its lines, each in one write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def line(self, what: str) -> str:
        """The piece of shell that writes a line."""
        return f"echo {what} $JOBCTL_RUN_KEY $JOBCTL_ATTEMPT $JOBCTL_FENCE $$ >> {self._path}"

    def around(self, command: str) -> str:
        """A shell command with a line before and one behind it, that ends as it does."""
        return f"{self.line('start')}; ({command}); code=$?; {self.line('end')}; exit $code"

    def all(self, what: str | None = None, key: str | None = None) -> list[Mark]:
        """The lines so far, in the order in which they were written."""
        whole, _, _ = self._path.read_text().rpartition("\n")  # of a write over the end of a page a part may be there
        found = [_mark(*line.split()) for line in whole.splitlines()]
        return [mark for mark in found if what in (None, mark.what) and key in (None, mark.key)]


def _mark(what: str, key: str, attempt: str, fence: str, pid: str) -> Mark:
    return Mark(what, key, int(attempt), int(fence), int(pid))
