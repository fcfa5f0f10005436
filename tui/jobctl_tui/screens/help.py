"""All keys of the screen below it. What is typed narrows them down."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from jobctl.reading.safe import cell
from jobctl_tui.actions import Action, Scope
from jobctl_tui.screens.lines import Lines
from jobctl_tui.screens.once import Once
from jobctl_tui.widgets.keybar import KeyBar
from jobctl_tui.words.sheet import sheet

#: A sheet for a wall is as wide as this.
_COPIED_COLUMNS: Final = 100
_KEYS: Final = (
    Action("help.scroll", ("down",), "Scroll", Scope.EVERYWHERE, "", 2),
    Action("help.copy", ("ctrl+y",), "Copy this sheet", Scope.EVERYWHERE, "", 3),
    Action("help.close", ("escape",), "Close", Scope.EVERYWHERE, "", 0),
)


class HelpScreen(Once[Any], ModalScreen[Any]):
    """Of the actions of `title`."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, title: str, actions: Sequence[Action]) -> None:
        super().__init__()
        self._title = title
        self._actions = actions
        self._search = ""
        self._listed = Lines(classes="help-sheet")
        self._scroll = VerticalScroll(self._listed, id="help-scroll", can_focus=False)
        self._box = Vertical(self._scroll, id="help")
        self._box.border_title = Content(f"Help: {cell(self._title)}")

    def compose(self) -> ComposeResult:
        yield self._box
        yield KeyBar(_KEYS, self.host.glyphs, id="keys")

    def on_mount(self) -> None:
        self.call_after_refresh(self._show)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        columns = self._scroll.content_size.width
        lines = sheet(self._actions, self._search, columns, self.host.glyphs)
        self._listed.styles.height = len(lines)
        self._listed.show(lines)
        typed = Content(f"looking for {self._search!r}" if self._search else "type to search")
        self._box.border_subtitle = typed

    def takes(self, event: events.Key) -> bool:
        page = max(1, self._scroll.content_size.height - 1)
        moves = {"down": 1, "up": -1, "pagedown": page, "pageup": -page, "home": -10_000, "end": 10_000}
        if event.key in moves:
            self._scroll.scroll_relative(y=moves[event.key], animate=False)
        elif event.key == "ctrl+y":
            self._copy()
        elif event.key == "escape" or (not self._search and event.key in ("q", "question_mark", "f1")):
            self.dismiss(None)
        elif event.key == "backspace":
            self._look_for(self._search[:-1])
        elif event.character is not None and event.is_printable:
            self._look_for(self._search + event.character)
        else:
            return False
        return True

    def _look_for(self, text: str) -> None:
        self._search = text
        self._show()
        self._scroll.scroll_home(animate=False)

    def _copy(self) -> None:
        lines = sheet(self._actions, self._search, _COPIED_COLUMNS, self.host.glyphs)
        text = "\n".join("".join(words for words, _ in line).rstrip() for line in lines)
        self.host.copy(text, "the keys")

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        event.stop()
        self.post_message(events.Key(event.action.keys[0], None))
