"""The last line: which keys do what here. What is less needed gives way; how to get help and out never does."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.cells import cell_len
from textual import events
from textual.message import Message

from jobctl_tui.actions import Action
from jobctl_tui.widgets.cells import Cell, clean
from jobctl_tui.widgets.line import Line
from jobctl_tui.words.glyphs import UTF8, Glyphs
from jobctl_tui.words.keys import shown

#: Of such a rank are keys that everybody tries anyway, or that the help is for.
UNSHOWN: Final = 90
_GAP: Final = 2


def hints(actions: Iterable[Action], width: int, glyphs: Glyphs) -> tuple[list[Action], list[Action], bool]:
    """What stands at the left, what at the right, and whether the labels have room.

    At the right is what never gives way; at the left the others by their rank, as many as there is room for.
    """
    shown_ones = sorted(
        (action for action in actions if action.keys and action.rank < UNSHOWN), key=lambda one: one.rank
    )
    right = [action for action in shown_ones if action.rank <= 0]
    left = [action for action in shown_ones if action.rank > 0]
    while left and _columns(left, glyphs) + _columns(right, glyphs) + _GAP + 2 > width:
        left.pop()
    return left, right, _columns(right, glyphs) + 2 <= width


def _columns(actions: Sequence[Action], glyphs: Glyphs) -> int:
    words = sum(cell_len(shown(one.keys[0], glyphs)) + 1 + cell_len(clean(one.label)) for one in actions)
    return words + _GAP * max(0, len(actions) - 1)


class KeyBar(Line):
    """Made from the actions that can be taken just now."""

    class Pressed(Message):
        """A click on one of them."""

        def __init__(self, action: Action) -> None:
            super().__init__()
            self.action = action

    def __init__(self, actions: Sequence[Action] = (), glyphs: Glyphs = UTF8, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._actions = tuple(actions)
        self._glyphs = glyphs
        self._spans: list[tuple[int, int, Action]] = []

    def show(self, actions: Sequence[Action], glyphs: Glyphs | None = None) -> None:
        """These, from now on."""
        self._actions = tuple(actions)
        self._glyphs = glyphs or self._glyphs
        self.renew()

    def cells(self, width: int) -> list[Cell]:
        left, right, labelled = hints(self._actions, width, self._glyphs)
        self._spans = []
        line = [Cell(" ")] if width > 1 else []
        at = self._put(line, left, len(line), labelled)
        ahead = _columns(right, self._glyphs) + 1
        if labelled and width - ahead > at:
            line.append(Cell(" " * (width - ahead - at)))
            at = width - ahead
        self._put(line, right, at, labelled)
        return line

    def _put(self, line: list[Cell], actions: Sequence[Action], at: int, labelled: bool) -> int:
        for number, action in enumerate(actions):
            gap = "" if number == 0 else " " * (_GAP if labelled else 1)
            key = shown(action.keys[0], self._glyphs)
            label = f" {clean(action.label)}" if labelled else ""
            line += [Cell(gap), Cell(key, "-key"), Cell(label)]
            begin = at + len(gap)
            at = begin + cell_len(key) + cell_len(label)
            self._spans.append((begin, at, action))
        return at

    def on_click(self, event: events.Click) -> None:
        for begin, end, action in self._spans:
            if begin <= event.x < end:
                self.post_message(self.Pressed(action))
