"""Looks at the logs of what runs: often while they grow, seldom while they rest, and at a fast one alone."""

from __future__ import annotations

from .attempt import RUNNING, Attempt
from .attempts import Attempts
from .ends import Ends
from .groups import Groups
from .leftovers import Leftovers
from .loop import Loop, Timer

_FIRST_LOOK_S, _LOOK_S, _LONGEST_LOOK_S = 0.01, 0.1, 0.25


class LogLooks:
    """Keeps the logs of all that runs, and of leftovers, below their caps."""

    def __init__(self, loop: Loop, attempts: Attempts, groups: Groups, leftovers: Leftovers, ends: Ends) -> None:
        self._loop = loop
        self._running = attempts.running
        self._groups = groups
        self._leftovers = leftovers
        self._ends = ends
        self._look: Timer | None = None
        self._look_s = _LOOK_S

    def begin(self, attempt: Attempt) -> None:
        """Look at the log of one that begins to run; one that has much to say begins at once."""
        if self._look is not None and self._look_s > _LOOK_S:
            self._look.cancel()
            self._look = None
        if self._look is None:
            self._look_s = _LOOK_S
            self._look = self._loop.after(_LOOK_S, self._look_at_all)
        self._loop.after(_FIRST_LOOK_S, lambda: self._look_in_haste(attempt))

    def _look_at_all(self) -> None:
        self._look = None
        grew = self._leftovers.look()
        for attempt in list(self._running.values()):
            grew = self._look_at(attempt) or grew
        self._groups.sample()
        if self._running or self._leftovers:
            self._look_s = _LOOK_S if grew else min(self._look_s * 2, _LONGEST_LOOK_S)
            self._look = self._loop.after(self._look_s, self._look_at_all)
        else:
            self._groups.tidy()

    def _look_at(self, attempt: Attempt) -> bool:
        """Cap one log; when it grows fast, look at it alone again soon."""
        output = attempt.output
        try:
            grew = output.look(attempt.pid)
        except OSError as error:
            self._stop_writing(attempt, error)
            return True
        haste_s = None if output.hurries else output.haste_s(_LONGEST_LOOK_S)
        if haste_s is not None:
            output.hurries = True
            self._loop.after(haste_s, lambda: self._look_in_haste(attempt))
        return grew

    def _look_in_haste(self, attempt: Attempt) -> None:
        attempt.output.hurries = False
        if attempt.state == RUNNING:
            self._look_at(attempt)

    def _stop_writing(self, attempt: Attempt, error: OSError) -> None:
        if attempt.ending is None or not attempt.remarks:
            attempt.remarks.append(f"log cannot be kept below its cap: {error.strerror}")
        self._ends.kill(attempt, "log_failed", "kill")
