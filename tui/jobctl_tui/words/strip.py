"""The last ten runs of a job as ten characters, oldest to newest."""

from typing import Final, NamedTuple

#: What each character of `recent` stands for, as docs/api.md has them, and the style of its cell.
MEANINGS: Final = {
    ".": ("ok", "-ok"),
    "r": ("ok after a retry or a replay", "-retry"),
    "x": ("failed", "-failed"),
    "s": ("skipped", "-dim"),
    "k": ("killed or cancelled", "-paused"),
    ">": ("running", "-running"),
}
WIDTH: Final = 10


class Tally(NamedTuple):
    """How a strip went, counted: runs that have ended, and those of them that were well and failed."""

    ended: int
    well: int
    failed: int
    again: int = 0
    """Of those that were well, how many only after a retry or a replay."""

    @property
    def words(self) -> str:
        """`10 runs: 9 ok, 1 failed`; empty when none has ended."""
        if not self.ended:
            return ""
        other = self.ended - self.well - self.failed
        again = f", {self.again} of them after a retry" if self.again else ""
        parts = [*([f"{self.failed} failed"] if self.failed else []), f"{self.well} ok{again}"]
        parts += [f"{other} other"] if other else []
        return f"{self.ended} run{'' if self.ended == 1 else 's'}: {', '.join(parts)}"


def tally(recent: str) -> Tally:
    """Counted without what is running."""
    ended = [mark for mark in recent if mark in MEANINGS and mark != ">"]
    return Tally(len(ended), ended.count(".") + ended.count("r"), ended.count("x"), ended.count("r"))


def known(recent: object) -> str:
    """The last ten that this version has a meaning for; for anything else a question mark."""
    return "".join(mark if mark in MEANINGS else "?" for mark in str(recent or ""))[-WIDTH:]


def newest_at_the_end(recent: object) -> str:
    """Ten columns, the newest in the last: strips of few runs stand under the newest of those of many."""
    return known(recent).rjust(WIDTH)


def style(recent: object) -> str:
    """Of the whole strip, where a cell has one style: the eye is to stop where something has failed."""
    marks = known(recent)
    if "x" in marks:
        return "-failed" if marks.rstrip(">").endswith("x") else "-late"
    return "-dim"
