"""Regular expressions that take linear time, whatever is written in them.

There are no groups to refer back to and no looking around: with these no engine is linear. The method is Thompson's
(1968): all states in which the expression may be are followed at once. Sets of states are remembered with what each
character makes of them, so that a text costs a look-up a character. Whatever is done is counted, and bounded.
"""

from operator import length_hint
from typing import Final

from .expression import State, read

#: Sets of states that are remembered.
_KEPT_MAX: Final = 2_000
#: Steps of one search, over all its patterns and texts: about a quarter of a second. A step is a character looked up,
#: some 60 ns; what else there is to do is counted by the time it takes.
WORK_MAX: Final = 4_000_000
_STEPS_A_TEXT: Final = 4
_STEPS_A_STATE: Final = 6
_STEPS_A_STATE_MADE: Final = 18


class TooCostly(Exception):
    """A search has more to do than it may."""


class Work:
    """The steps that the patterns of a search have left, all together."""

    __slots__ = ("left",)

    def __init__(self, left: int = WORK_MAX) -> None:
        self.left = left

    def spend(self, steps: int) -> None:
        """`TooCostly` when there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise TooCostly


class _Known:
    """A set of states, and what is known of it."""

    __slots__ = ("accepts", "after", "decided", "states")

    def __init__(self, states: frozenset[State], accepts: bool) -> None:
        self.states = states
        self.accepts = accepts
        #: Whatever comes, it has matched, or never will.
        self.decided = accepts or not any(state.test or state.anchor == "$" for state in states)
        self.after: dict[str, _Known] = {}


class Pattern:
    """An expression, for one search over any number of texts. `InvalidInput` says what is wrong with it, and where."""

    def __init__(self, source: str, work: Work | None = None) -> None:
        machine = read(source)
        self._first, self._last = machine.first, machine.last
        self._work = work or Work()
        self._work.spend(machine.states * _STEPS_A_STATE_MADE)
        self._kept: dict[frozenset[State], _Known] = {}
        self._begin = self._known(self._closed((self._first,), at_begin=True))

    def found_in(self, text: str) -> bool:
        """Whether it matches any part of a text. `TooCostly` when its search has no work left."""
        known = self._begin
        chars = iter(text.lower())
        for char in chars:
            if known.decided:
                break
            known = known.after.get(char) or self._follow(known, char)
        self._work.spend(_STEPS_A_TEXT + len(text) - length_hint(chars))
        return known.accepts or self._ends(known)

    def _follow(self, known: _Known, char: str) -> _Known:
        following = [state.next for state in known.states if state.test and state.next and state.test(char)]
        self._work.spend(len(known.states) * _STEPS_A_STATE)
        found = self._known(self._closed((*following, self._first), at_begin=False))
        known.after[char] = found
        return found

    def _ends(self, known: _Known) -> bool:
        """Whether it matches where the text ends: what waits for the end goes on."""
        waiting = [state for state in known.states if state.anchor == "$"]
        return bool(waiting) and self._last in self._closed(
            (*waiting, self._first), at_begin=known is self._begin, at_end=True
        )

    def _closed(self, states: tuple[State, ...], *, at_begin: bool, at_end: bool = False) -> frozenset[State]:
        """The states in which it is as well, without another character."""
        found: set[State] = set()
        left = list(states)
        while left:
            state = left.pop()
            if state in found:
                continue
            found.add(state)
            if not state.anchor or (at_begin if state.anchor == "^" else at_end):
                left += state.also
        self._work.spend(len(found) * _STEPS_A_STATE)
        return frozenset(found)

    def _known(self, states: frozenset[State]) -> _Known:
        known = self._kept.get(states)
        if known is None:
            if len(self._kept) >= _KEPT_MAX:
                self._kept.clear()
            known = self._kept[states] = _Known(states, self._last in states)
        return known


def glob(text: str) -> str:
    """The expression of a name in which `*` stands for anything and `?` for one character."""
    wild = {"*": ".*", "?": "."}
    return "^" + "".join(wild.get(char) or (char if char.isalnum() else f"\\{char}") for char in text) + "$"
