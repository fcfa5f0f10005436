"""The second line: which tabs there are, which one is shown, and how much of its list."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.message import Message

from jobctl_tui.widgets.cells import Cell, clean, cut
from jobctl_tui.widgets.line import Line


class TabBar(Line):
    """`[1 Jobs]  2 Runs  3 Upcoming  4 Dead:4  5 Daemon      14 of 14 · attention first`."""

    class Chosen(Message):
        """A click on one of them."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._tabs: tuple[str, ...] = ()
        self._current = 0
        self._about = ""
        self._spans: list[tuple[int, int]] = []

    def show(self, tabs: Sequence[str], current: int, about: str) -> None:
        """The words of the tabs, which of them is shown, and what is said about it at the right."""
        self._tabs, self._current, self._about = tuple(tabs), current, about
        self.renew()

    def cells(self, width: int) -> list[Cell]:
        parts = self._parts(width) if width > 0 else []
        line: list[Cell] = []
        self._spans = []
        at = 0
        for part in parts:
            self._spans.append((at, at + cell_len(part.text)))
            at += cell_len(part.text)
            line.append(part)
        room = width - at - 3
        about = cut(clean(self._about), room) if room > 3 else ""
        if about:
            line += [Cell(" " * (width - at - cell_len(about) - 1)), Cell(about, "-dim")]
        return line

    def _parts(self, width: int) -> list[Cell]:
        """With words; with the word of the one that is shown alone where there is no room; at last its number."""
        words = [f"{number} {clean(tab)}" for number, tab in enumerate(self._tabs, 1)]
        parts = self._bracketed(words)
        if sum(cell_len(part.text) for part in parts) > width:
            parts = self._bracketed(
                [text if number == self._current else str(number + 1) for number, text in enumerate(words)]
            )
        return parts

    def _bracketed(self, words: Sequence[str]) -> list[Cell]:
        return [
            Cell(f" [{text}]", "-bold") if number == self._current else Cell(f"  {text}")
            for number, text in enumerate(words)
        ]

    def on_click(self, event: events.Click) -> None:
        for number, (begin, end) in enumerate(self._spans):
            if begin <= event.x < end:
                self.post_message(self.Chosen(number))
