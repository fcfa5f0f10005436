"""What can be taken back, the newest first: each for a while, then not any more. Pure: the time comes in."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client

#: So long after it was done.
KEPT_MS: Final = 30_000
_MANY: Final = 20

Work = Callable[[Client], Any]


class Undo(NamedTuple):
    """How one change is taken back."""

    words: str
    """What is said then: "pause of backup-db taken back: it runs again"."""
    work: Work
    until_ms: int
    """By `Clock.awake_ms`: a machine that slept has not used the time up."""


class Undos(NamedTuple):
    """A value: each step gives the next one."""

    kept: tuple[Undo, ...] = ()

    def done(self, words: str, work: Work, now_ms: int) -> "Undos":
        """Something was changed that `work` takes back."""
        still = self._still(now_ms)
        return Undos((Undo(words, work, now_ms + KEPT_MS), *still)[:_MANY])

    def newest(self, now_ms: int) -> Undo | None:
        """What `u` takes back just now."""
        return next(iter(self._still(now_ms)), None)

    def taken(self, undo: Undo) -> "Undos":
        """It was taken back, or is being: it cannot be once more."""
        return Undos(tuple(one for one in self.kept if one is not undo))

    def _still(self, now_ms: int) -> tuple[Undo, ...]:
        return tuple(undo for undo in self.kept if now_ms <= undo.until_ms)
