"""What the daemon knows of one table, between two looks."""

from dataclasses import dataclass
from typing import Final

from jobctl_daemon.files import FileState, Problem
from jobctl_daemon.marks import Mark
from jobctl_daemon.tables.places import Table

KIND: Final = "crontab"
#: So many lines are told one by one.
_PROBLEMS_MAX: Final = 100


@dataclass(slots=True)
class State:
    """One table, and how far its jobs follow it."""

    table: Table
    owner_uid: int = 0
    """Whose the jobs and what is known of its lines are; not always who has its name by now."""
    taken: Mark | None = None
    """Of what was read last, and that its jobs follow where it was not refused; None: it is to be read."""
    again_ms: int | None = None
    """Boot time at which the same is read again: what was refused may be right by then."""
    data: bytes | None = None
    """That content."""
    waiting: Mark | None = None
    since_ms: int = 0
    """Boot time since when `waiting` is as it is, or the file is gone."""
    gone: bool = False
    jobs: int | None = None
    """How many it owns; None: nobody has counted."""
    loaded_ms: int | None = None
    refused: str | None = None
    """Why what was read last is not run."""
    trouble: str | None = None
    """Why the file as a whole is not taken over."""
    problems: tuple[Problem, ...] = ()
    """Of its lines."""
    kept: bool = False
    """Jobs of refused lines go on as they were."""

    def told(self) -> FileState:
        """As status shows it."""
        stay = "; its jobs stay as they are" if self.jobs else ""
        whole = () if self.trouble is None else (about_all(self.trouble + stay),)
        left = len(self.problems) - _PROBLEMS_MAX
        more = (about_all(f"{left} more lines are refused"),) if left > 0 else ()
        return FileState(
            path=self.table.path,
            kind=KIND,
            owner_uid=self.owner_uid,
            owner_name=self.table.user,
            jobs=self.jobs or 0,
            loaded_ms=self.loaded_ms,
            problems=(*whole, *self.problems[:_PROBLEMS_MAX], *more),
        )


def about_all(reason: str) -> Problem:
    """A problem of the file as a whole."""
    return Problem(line=None, text="", reason=reason)
