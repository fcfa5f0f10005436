"""A question before what cannot be taken back: what it comes to, in numbers, and the same on the command line.

The keys are on Cancel. What does it is a letter that is printed, another one than opened the question; where a name has
to be typed it is Enter, once the name is right. Where it can be taken back, the keys are on what does it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input

from jobctl.reading.safe import cell
from jobctl_tui.actions import Action, Scope
from jobctl_tui.screens.lines import Line, Lines
from jobctl_tui.screens.once import Once
from jobctl_tui.widgets.keybar import KeyBar
from jobctl_tui.widgets.typed import Typed
from jobctl_tui.words.outlook import told

_CANCEL: Final = Action("ask.cancel", ("escape",), "Cancel", Scope.EVERYWHERE, "leave everything as it is", 0)
_COPY: Final = Action(
    "ask.copy", ("ctrl+y",), "Copy command", Scope.EVERYWHERE, "copy the same on the command line", 30
)
#: What the box takes of the width of the screen, and how wide its inside is at most.
_EDGES: Final = 12
_COLUMNS_MAX: Final = 66
#: Lines of a long command line, on a screen that has room for them, and on a low one.
_CLI_LINES: Final = 4
_CLI_LINES_LOW: Final = 2
_LOW: Final = 20


def columns_of(screen: Size) -> int:
    """What a line of a question has room for."""
    return max(24, min(_COLUMNS_MAX, screen.width - _EDGES))


def same_as(command: str, screen: Size) -> list[Line]:
    """The same on the command line, on as many lines as it needs and there is room for."""
    lines: list[Line] = [*told(command, columns_of(screen), "", "Same as  ", "-dim")] if command else []
    most = _CLI_LINES_LOW if screen.height < _LOW else _CLI_LINES
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], [("         ", ""), (f"and {len(lines) - most + 1} lines more: ^y copies it", "-dim")]]


class Ask(Once[Any], ModalScreen[Any]):
    """Is left with None, or with `answer()`: True, unless whoever derives from it asks for more (`fields`)."""

    BINDINGS: ClassVar[list[BindingType]] = []
    UNDONE: ClassVar[bool] = False
    """Whether it can be taken back: Enter does it."""

    def __init__(
        self,
        title: str,
        facts: Iterable[Line],
        verb: str,
        letter: str,
        cli: str = "",
        typed: str = "",
    ) -> None:
        """`facts`: lines of safe words and their styles; `typed`: what has to be written to do it, as it is."""
        super().__init__()
        self._title = title
        self._facts = [tuple(line) for line in facts]
        self._verb = verb
        self._letter = letter
        self._cli = cli
        self._typed = typed
        self._told_of, self._told_name = Lines(classes="ask-facts"), Lines(classes="ask-wanted")
        self._told_cli, self._told_how = Lines(classes="ask-cli"), Lines(classes="ask-do")
        self._typing = Typed(id="typed", compact=True)
        self._do = Button(self._verb, id="do", compact=True)
        self._cancel = Button("Cancel", id="cancel", compact=True)
        self._keys = KeyBar(id="keys")

    # ── what may be another in a question of one's own ───────────
    def fields(self) -> Iterable[Widget]:
        """Between the facts and the command line."""
        return ()

    def answer(self) -> Any:
        """What the screen is left with."""
        return True

    def cli_form(self) -> str:
        """The same on the command line, with what the fields say just now."""
        return self._cli

    def facts(self) -> Sequence[Line]:
        """With what the fields say just now."""
        return self._facts

    # ── what it looks like ───────────────────────────────────────
    def compose(self) -> ComposeResult:
        with Vertical(id="ask") as box:
            box.border_title = Content(cell(self._title))
            yield self._told_of
            yield from self.fields()
            if self._typed:
                yield self._told_name
                yield self._typing
            if self.cli_form():
                yield self._told_cli
            with Horizontal(id="ask-buttons"):
                if self.UNDONE:
                    yield self._do
                yield self._cancel
                yield self._told_how
        yield self._keys

    def on_mount(self) -> None:
        self.renew()
        key = ("enter",) if self._typed else (self._letter,)
        does = Action("ask.do", key, self._verb, Scope.EVERYWHERE, "do it", 2)
        copies = (_COPY,) if self.cli_form() else ()
        self._keys.show((does, *copies, _CANCEL), self.host.glyphs)
        self.set_focus(self._typing if self._typed else self._do if self.UNDONE else self._cancel)

    def renew(self) -> None:
        """What the fields say has changed."""
        _tell(self._told_of, self.facts())
        if self._typed:
            wanted = [("Type ", ""), (cell(self._typed), "-bold"), (f" to {self._verb.lower()} it:", "")]
            _tell(self._told_name, [wanted])
        if self.cli_form():
            _tell(self._told_cli, same_as(self.cli_form(), self.app.size))
        _tell(self._told_how, [self._how()])

    def _how(self) -> Line:
        if not self._typed:
            enter = [(" or ", ""), (self.host.glyphs.enter, "-key")] if self.UNDONE else []
            return [(f"{self._verb}: press ", ""), (self._letter, "-key"), *enter]
        right = self._typing.value == self._typed
        if not right:
            return [("Enter does nothing yet", "-dim")]
        return [(f"{self._verb}: press ", ""), ("Enter", "-key")]

    # ── what keys do ─────────────────────────────────────────────
    def copy(self) -> None:
        if self.cli_form():
            self.host.copy(self.cli_form(), "the command")

    def do(self) -> None:
        self.dismiss(self.answer())

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "cancel":
            self.dismiss(None)
        elif event.button.id == "do":
            self.do()

    def takes(self, event: events.Key) -> bool:
        """In the order in which they come: a binding would be obeyed behind a letter that was typed after it. The
        letter is none while it is being written into a field."""
        if event.key == "escape" or (event.key == "enter" and self.focused is self._cancel):
            self.dismiss(None)
        elif event.key == "ctrl+y":
            self.copy()
        elif (event.key == "enter" and self.focused is self._do) or (
            not self._typed and event.character == self._letter and not isinstance(self.focused, Input)
        ):
            self.do()
        else:
            return False
        return True

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "typed":
            self.renew()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "typed" and event.value == self._typed:
            self.do()

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        event.stop()
        if event.action is _CANCEL:
            self.dismiss(None)
        elif event.action is _COPY:
            self.copy()
        elif not self._typed:
            self.do()


def _tell(widget: Lines, lines: Sequence[Line]) -> None:
    widget.styles.height = len(lines)
    widget.show(lines)
