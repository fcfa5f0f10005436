"""The line into which a filter is typed: it holds at once, what is wrong with it is shown under its place.

The grammar is the command line's `-q` (`jobctl.filters`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from jobctl.errors import InvalidInput
from jobctl.filters import parse, suggest
from jobctl.reading.safe import cell
from jobctl_tui.screens.lines import Line, Lines

#: Keys by which a line is edited; the application has other meanings for some of them.
_EDITS: Final = {
    "left": "cursor_left", "right": "cursor_right", "ctrl+left": "cursor_left_word", "ctrl+right": "cursor_right_word",
    "home": "home", "ctrl+a": "home", "end": "end", "ctrl+e": "end", "backspace": "delete_left",
    "delete": "delete_right", "ctrl+d": "delete_right", "ctrl+w": "delete_left_word", "ctrl+u": "delete_left_all",
    "ctrl+k": "delete_right_all",
}  # fmt: skip
_PROMPT: Final = "/ "
_CHOOSING: Final = [
    ("enter ", "-key"), ("takes it  ", "-dim"), ("tab ", "-key"), ("next  ", "-dim"), ("esc ", "-key"),
    ("none", "-dim"),
]  # fmt: skip


class FilterInput(Input):
    """Edited by its own keys, whatever they mean elsewhere; the bar that it is in is asked first, so that what is typed
    behind a key that closes it is for who has the keys then."""

    def on_key(self, event: events.Key) -> None:
        action = _EDITS.get(event.key)
        if self.screen.focused is not self:
            self.app.post_message(events.Key(event.key, event.character))
        elif self._bar.takes(event.key):
            pass
        elif action is not None:
            getattr(self, f"action_{action}")()
        else:
            return
        event.stop()
        event.prevent_default()

    @property
    def _bar(self) -> Any:
        return next(node for node in self.ancestors if hasattr(node, "takes"))


class FilterBar(Vertical):
    """Hidden until it is asked for. Enter keeps the filter, escape takes back what was typed; tab shows what the word
    may become, and goes on among these: enter takes one."""

    DEFAULT_CSS: ClassVar[str] = """
    FilterBar { height: auto; dock: bottom; }
    FilterBar > #choices { height: auto; display: none; }
    FilterBar > Horizontal { height: 1; }
    FilterBar > Horizontal > Lines { width: 2; height: 1; }
    FilterBar > Horizontal > FilterInput { height: 1; width: 1fr; border: none; padding: 0; background: $background; }
    FilterBar > #hint { height: 1; }
    """

    class Changed(Message):
        """Another filter holds; it is well formed."""

        def __init__(self, bar: "FilterBar", text: str) -> None:
            super().__init__()
            self.bar = bar
            self.text = text

    class Closed(Message):
        """Nobody types any more."""

        def __init__(self, bar: "FilterBar") -> None:
            super().__init__()
            self.bar = bar

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._before = ""
        self._holds = ""
        self._offered: list[str] = []
        self._at: int | None = None
        """Which of them is meant, while one is chosen."""
        self._known: Mapping[str, Sequence[str]] = {}
        self.input = FilterInput(compact=True, select_on_focus=False)
        self._choices, self._hint = Lines(id="choices"), Lines(id="hint")

    def compose(self) -> ComposeResult:
        prompt = Lines()
        prompt.show([[(_PROMPT, "-key")]])
        yield self._choices
        with Horizontal():
            yield prompt
            yield self.input
        yield self._hint

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    def open(self, text: str, known: Mapping[str, Sequence[str]] | None = None) -> None:
        """With the filter that holds; `known` are values that there are: tags, queues, owners."""
        self._known = known or {}
        self._before = self._holds = text
        self.display = True
        self.input.value = f"{text} " if text and not text.endswith(" ") else text
        self.input.cursor_position = len(self.input.value)
        self.screen.set_focus(self.input)  # at once: the next key may be here already
        self._look()

    def close(self) -> None:
        self._at = None
        self.display = False
        self.screen.set_focus(None)
        self.post_message(self.Closed(self))

    # ── typing ─────────────────────────────────────────────
    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self._at = None
            self._look()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.keep()

    def takes(self, key: str) -> bool:
        """Does what a key means here."""
        known: dict[str, Callable[[], None]] = {
            "enter": self.keep, "escape": self.give_up, "tab": lambda: self.choose(1), "down": lambda: self.choose(1),
            "shift+tab": lambda: self.choose(-1), "up": lambda: self.choose(-1),
        }  # fmt: skip
        if self._at is not None:
            known |= {"enter": self.complete, "escape": self.leave_choice}
        if key not in known:
            return False
        known[key]()
        return True

    def keep(self) -> None:
        """What was typed last without a mistake holds."""
        if self._wrong() is None:
            self._hold(self.input.value.strip())  # its change may not have been told yet
            self.close()
        else:
            self._look()

    def give_up(self) -> None:
        """As it was before."""
        self._hold(self._before)
        self.close()

    def choose(self, by: int) -> None:
        """Shows what the word before the cursor may become, then the next of it. One thing alone is taken."""
        if not self._offered:
            return
        first = 0 if by > 0 else len(self._offered) - 1
        self._at = first if self._at is None else (self._at + by) % len(self._offered)
        if len(self._offered) == 1:
            self.complete()
        else:
            self._tell()

    def leave_choice(self) -> None:
        """What is typed stays as it is."""
        self._at = None
        self._tell()

    def complete(self) -> None:
        """The word before the cursor becomes the one that is meant."""
        if self._at is None:
            return
        text, at = self.input.value, self.input.cursor_position
        start = text.rfind(" ", 0, at) + 1
        word = self._offered[self._at]
        self._at = None
        self.input.value = f"{text[:start]}{word}{text[at:]}"
        self.input.cursor_position = start + len(word)

    # ── what it says ───────────────────────────────────────
    def _look(self) -> None:
        error = self._wrong()
        self._offered = suggest(self.input.value, self.input.cursor_position, self._known)
        if error is None:
            self._hold(self.input.value.strip())
        self._tell(error)

    def _tell(self, error: InvalidInput | None = None) -> None:
        choices = self._choices
        choices.display = self._at is not None
        if self._at is not None:
            choices.styles.height = len(self._offered)
            choices.show([choice(cell(word), here=at == self._at) for at, word in enumerate(self._offered)])
            self._hint.show([_CHOOSING])
        else:
            self._hint.show([self._offers() if error is None else complaint(error, self._hint.size.width)])

    def _wrong(self) -> InvalidInput | None:
        try:
            parse(self.input.value)
        except InvalidInput as error:
            return error
        return None

    def _hold(self, text: str) -> None:
        if text != self._holds:
            self._holds = text
            self.post_message(self.Changed(self, text))

    def _offers(self) -> Line:
        keeps: Line = [("enter ", "-key"), ("keeps it  ", "-dim")] if self.input.value else []
        if not self._offered:
            return [*keeps, ("state: tag: -tag: queue: name: next<1h last>2d dur>5m exit: word /pattern/", "-dim")]
        return [*keeps, ("tab ", "-key"), ("  ".join(map(cell, self._offered)), "-dim")]


def choice(word: str, *, here: bool) -> Line:
    """A line of what a word may become."""
    return [("> " if here else "  ", "-key"), (word, "-bold" if here else "")]


def complaint(error: InvalidInput, columns: int) -> Line:
    """What is wrong below its place, and what it may have been; where there is no room for that, at which character."""
    at = int(str(error.details.get("at", 0)))
    message, hint = cell(error.message), cell(f"; {error.hint}" if error.hint else "")
    if len(_PROMPT) + at + len(message) + 2 <= columns:
        where: Line = [(" " * (len(_PROMPT) + at), ""), ("^ ", "-failed")]
    else:
        where = [(f"character {at + 1}: ", "-failed")]
    return [*where, (message, "-failed"), (hint, "-dim")]
