"""Lines that are more than there is room for: they are scrolled."""

from collections.abc import Iterable

from textual.containers import VerticalScroll

from jobctl_tui.screens.lines import Line, Lines


class FactSheet(VerticalScroll, can_focus=False):
    """By the keys of the screen it stands on."""

    DEFAULT_CSS = """
    FactSheet { height: 1fr; scrollbar-size-vertical: 1; }
    FactSheet > Lines { height: auto; }
    """

    def __init__(self) -> None:
        self._facts = Lines()
        super().__init__(self._facts)

    def show(self, lines: Iterable[Line]) -> None:
        made = list(lines)
        self._facts.styles.height = max(1, len(made))
        self._facts.show(made)
