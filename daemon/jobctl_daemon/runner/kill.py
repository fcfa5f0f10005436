"""Ends a whole tree: TERM and CONT, after the grace KILL, again and again until nothing is left."""

from __future__ import annotations

from .clock import boot_s, wall_ms
from .loop import Loop, Timer
from .tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_LOOK_S = 0.01
_LONGEST_LOOK_S = 0.2
# What does not die of KILL in this time sits in the kernel; then it is reported instead of waited for.
_BOUND_S = 5.0


class Ending:
    """One tree on its way out. done(survivors) is called once: the leader is dead, and all else unless bounded."""

    def __init__(self, loop: Loop, tree: Tree, done: Callable[[list[int]], None]) -> None:
        self.signals: list[tuple[int, str]] = []
        self._loop = loop
        self._tree = tree
        self._done = done
        self._leader_dead = False
        self._killing_since: float | None = None
        self._look_s = _FIRST_LOOK_S
        self._grace: Timer | None = None
        self._look: Timer | None = None
        self._asking = False
        self._finished = False

    def ask(self, grace_ms: int) -> None:
        """Send TERM now and KILL after the grace."""
        if self._killing_since is None and self._grace is None:
            # First of all: whatever the signals cost, the grace ends in time.
            self._grace = self._loop.after(grace_ms / 1000, self.force)
            self._note("TERM")
            self._asking = True
            self._check()

    def force(self) -> None:
        """Send KILL now, and until nothing is left."""
        if self._finished or self._killing_since is not None:
            return
        self._killing_since = boot_s()
        self._note("KILL")
        self._look_s = _FIRST_LOOK_S
        self._asking = False
        self._tree.begin_anew()
        self._check()

    def leader_died(self) -> None:
        """Take note of the leader's end: from now on only the rest is waited for."""
        self._leader_dead = True
        self._check()

    def _check(self) -> None:
        if self._finished:
            return
        killing = self._killing_since is not None
        alive = None
        if killing:
            alive = self._tree.kill()
        elif self._asking:
            self._asking = not self._tree.terminate()
        elif self._leader_dead:
            alive = self._tree.rest()
        if alive is not None and self._leader_dead and (not alive or self._bound_reached()):
            self._finish(alive)
            return
        if self._look is not None:
            self._look.cancel()
            self._look = None
        if killing or self._leader_dead or self._asking:
            self._look = self._loop.after(_FIRST_LOOK_S if alive is None else self._look_s, self._check)
            if alive is not None:
                self._look_s = min(self._look_s * 2, _LONGEST_LOOK_S)

    def _bound_reached(self) -> bool:
        return self._killing_since is not None and boot_s() - self._killing_since > _BOUND_S

    def _finish(self, survivors: list[int]) -> None:
        self._finished = True
        for timer in (self._grace, self._look):
            if timer is not None:
                timer.cancel()
        self._done(survivors)

    def _note(self, name: str) -> None:
        self.signals.append((wall_ms(), name))
