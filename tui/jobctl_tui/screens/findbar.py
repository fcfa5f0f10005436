"""The line into which is typed what to find in a log."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from jobctl_tui.screens.filterbar import FilterInput
from jobctl_tui.screens.lines import Lines


class FindBar(Horizontal):
    """Hidden until it is asked for. Enter looks for it, escape leaves everything as it was; empty: for nothing."""

    DEFAULT_CSS: ClassVar[str] = """
    FindBar { height: 1; display: none; }
    FindBar.-open { display: block; }
    FindBar > Lines { width: 3; height: 1; }
    FindBar > #findhelp { width: 30; }
    FindBar > FilterInput { height: 1; width: 1fr; border: none; padding: 0; background: $background; }
    .-tiny FindBar > #findhelp, .-small FindBar > #findhelp { display: none; }
    """

    class Wanted(Message):
        """This is to be found; `only` says that no other lines are to be shown."""

        def __init__(self, text: str, only: bool) -> None:
            super().__init__()
            self.text = text
            self.only = only

    class Closed(Message):
        """Nobody types any more."""

    def __init__(self) -> None:
        super().__init__()
        self._only = False
        self._sign, self._help = Lines(), Lines(id="findhelp")
        self.input = FilterInput(compact=True, select_on_focus=True)

    def compose(self) -> ComposeResult:
        yield self._sign
        yield self.input
        yield self._help

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def open(self, text: str, *, only: bool) -> None:
        """With what was looked for last."""
        self._only = only
        self.add_class("-open")
        self._sign.show([[(" & " if only else " / ", "-key")]])
        self._help.show([[("Enter", "-key"), (" find  ", "-dim"), ("esc", "-key"), (" leave", "-dim")]])
        self.input.value = text
        self.screen.set_focus(self.input)

    def close(self) -> None:
        self.remove_class("-open")
        self.screen.set_focus(None)
        self.post_message(self.Closed())

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def takes(self, key: str) -> bool:
        """Does what a key means here."""
        if key == "enter":
            self.post_message(self.Wanted(self.input.value, self._only))
        if key in ("enter", "escape"):
            self.close()
            return True
        return False
