"""What has changed since the last time that a screen was told: the only thing that the feed sends."""

from typing import Any, NamedTuple

Json = dict[str, Any]


class Back(NamedTuple):
    """The daemon answers again: for how long it did not, and what ended meanwhile."""

    away_ms: int
    ended: int = 0
    failed: int = 0

    @property
    def words(self) -> str:
        """`back after 41 s: 3 runs ended, 1 failed`."""
        after = f"back after {max(1, round(self.away_ms / 1000))} s"
        if not self.ended:
            return f"{after}: no run ended meanwhile"
        ended = "1 run ended" if self.ended == 1 else f"{self.ended} runs ended"
        return f"{after}: {ended}" + (f", {self.failed} failed" if self.failed else "")


class Changes(NamedTuple):
    """Ids of jobs and runs that events named, and whether the rest has to be looked at again.

    Comes at most every 100 ms, on the loop of the screens.
    """

    jobs: frozenset[int] = frozenset()
    runs: frozenset[int] = frozenset()
    events: tuple[Json, ...] = ()
    """The events themselves, oldest first, at most 500 of them."""
    status: bool = False
    """There is a new `feed.status`."""
    link: bool = False
    """`feed.link` is another."""
    reset: bool = False
    """Anything may have changed: the link was lost, or events were missed. Everything is to be read again."""
    back: Back | None = None
    """The link was lost and is there again: once, to be said to whoever looks."""

    def and_then(self, after: "Changes") -> "Changes":
        """Both, told as one."""
        return Changes(
            self.jobs | after.jobs,
            self.runs | after.runs,
            (self.events + after.events)[-500:],
            self.status or after.status,
            self.link or after.link,
            self.reset or after.reset,
            after.back or self.back,
        )
