"""The fields of a form: a line to type in, a choice of a few words, several lines; below each what is wrong with it.

What somebody wrote never reaches the terminal as it is: a text with characters that a terminal acts on is shown by
their escapes, and is changed in $EDITOR, where TOML writes them so too.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, TextArea

from jobctl.reading import safe
from jobctl.reading.width import width
from jobctl_tui.screens.lines import Line, Lines
from jobctl_tui.widgets.looks import look_of
from jobctl_tui.widgets.typed import InOrder
from jobctl_tui.words.field import Field
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.outlook import told

_LINES_MAX: Final = 6
_UNSHOWN: Final = "it has characters that cannot be typed here: F2 edits it as a text"


class Edited(Message):
    """Another text stands in a field."""

    def __init__(self, ident: str, text: str) -> None:
        super().__init__()
        self.ident = ident
        self.text = text


class Entered(Message):
    """The keys are in a field now."""

    def __init__(self, ident: str) -> None:
        super().__init__()
        self.ident = ident


class LineControl(InOrder, Input):
    """One line. Characters that a terminal would act on do not get into it, however they are brought."""

    DEFAULT_CSS: ClassVar[str] = """
    LineControl { height: 1; width: 1fr; border: none; padding: 0; background: $background; }
    LineControl:focus { text-style: none; }
    LineControl.-unshown { color: $dim; }
    """

    def __init__(self, field: Field, text: str) -> None:
        self.field = field
        self.unshown = safe.cell(text) != text
        super().__init__(safe.cell(text), placeholder=field.empty, compact=True, select_on_focus=False)
        self.set_class(self.unshown, "-unshown")
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        return value if self.unshown else _plain(value)

    def replace(self, text: str, start: int, end: int) -> None:
        """Nothing can be typed into what is not shown as it is."""
        if not self.unshown and not self.disabled:
            super().replace(_plain(text), start, end)

    def show_text(self, text: str) -> None:
        self.unshown = safe.cell(text) != text
        self.set_class(self.unshown, "-unshown")
        if safe.cell(text) != self.value:
            with self.prevent(Input.Changed):
                self.value = safe.cell(text)
                self.cursor_position = len(self.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if not self.unshown:
            self.post_message(Edited(self.field.id, self.value))

    def on_focus(self) -> None:
        self.post_message(Entered(self.field.id))


class LinesControl(InOrder, TextArea):
    """Several lines, as high as they are."""

    DEFAULT_CSS: ClassVar[str] = """
    LinesControl { height: 1; width: 1fr; border: none; padding: 0; background: $background; }
    """

    def __init__(self, field: Field, text: str) -> None:
        self.field = field
        self.unshown = safe.text(text) != text
        super().__init__(
            safe.text(text),
            compact=True,
            show_line_numbers=False,
            soft_wrap=False,
            highlight_cursor_line=False,
            read_only=self.unshown,
            placeholder=field.empty,
        )
        self.cursor_blink = False
        self._fit()

    def edit(self, edit: Any) -> Any:
        """As of a line; newlines stay."""
        edit.text = safe_lines(edit.text)
        return super().edit(edit)

    def show_text(self, text: str) -> None:
        self.unshown = self.read_only = safe.text(text) != text
        if safe.text(text) != self.text:
            with self.prevent(TextArea.Changed):
                self.load_text(safe.text(text))
            self._fit()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._fit()
        if not self.unshown:
            self.post_message(Edited(self.field.id, self.text))

    def on_focus(self) -> None:
        self.post_message(Entered(self.field.id))

    def _fit(self) -> None:
        self.styles.height = max(1, min(_LINES_MAX, self.text.count("\n") + 1))


class ChoiceControl(Widget, can_focus=True):
    """`(•) skip  ( ) queue`: left and right choose. Where there is no room for all, the one that holds is shown."""

    DEFAULT_CSS: ClassVar[str] = "ChoiceControl { height: 1; width: 1fr; }"

    def __init__(self, field: Field, text: str, glyphs: Glyphs) -> None:
        super().__init__()
        self.field = field
        self._text = text
        self._glyphs = glyphs

    def show_text(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.refresh()

    def choose(self, step: int) -> None:
        self._text = self.field.next_choice(self._text, step)
        self.refresh()
        self.post_message(Edited(self.field.id, self._text))

    def on_key(self, event: events.Key) -> None:
        step = {"left": -1, "h": -1, "right": 1, "l": 1, "space": 1}.get(event.key)
        if step is not None and not self.disabled:
            event.stop()
            event.prevent_default()
            self.choose(step)

    def on_click(self, event: events.Click) -> None:
        at = 0
        for value, words in self.field.choices:
            end = at + width(self._glyphs.radio_on) + 1 + width(words)
            if at <= event.x < end and not self.disabled:
                self._text = value
                self.refresh()
                self.post_message(Edited(self.field.id, value))
            at = end + 2

    def on_focus(self) -> None:
        self.refresh()
        self.post_message(Entered(self.field.id))

    def on_blur(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is but one
        parts: list[tuple[str, str]] = []
        for value, words in self.field.choices:
            held = value == self._text
            style = ("-cursor" if self.has_focus else "-bold") if held else "-dim"
            parts += [(f"{self._glyphs.radio_on if held else self._glyphs.radio_off} {words}", style), ("  ", "")]
        if sum(width(text) for text, _ in parts[:-1]) > self.size.width:
            words = dict(self.field.choices).get(self._text, self._text)
            parts = [(f"{self._glyphs.radio_on} {words}", "-cursor" if self.has_focus else "-bold"),
                     (f"  {self._glyphs.left_right}", "-dim")]  # fmt: skip
        line = [Segment(text, self._look(style)) for text, style in parts]
        return Strip(line).crop_extend(0, self.size.width, self.rich_style)

    def _look(self, name: str) -> Any:
        return self.rich_style + look_of(self, name)


Control = LineControl | LinesControl | ChoiceControl


class FieldBox(Vertical):
    """A field: its label, what is typed into, and what is said of it below."""

    DEFAULT_CSS: ClassVar[str] = """
    FieldBox { height: auto; width: 1fr; }
    FieldBox > Horizontal { height: auto; }
    FieldBox > Horizontal > .label { width: 11; height: 1; padding: 0 1; }
    FieldBox > .note { height: 0; margin: 0 0 0 11; }
    """

    def __init__(self, field: Field, text: str, glyphs: Glyphs) -> None:
        super().__init__(id=f"field-{field.id.replace('_', '-')}")
        self.field = field
        self._glyphs = glyphs
        self.control: Control = _control(field, text, glyphs)
        self._label, self._note = Lines(classes="label"), Lines(classes="note")

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield self._label
            yield self.control
        yield self._note

    def on_mount(self) -> None:
        self.label(changed=False)

    def label(self, *, changed: bool) -> None:
        """With a sign where it is changed."""
        style = "-key" if self.control.has_focus else "-bold" if changed else "-dim"
        self._label.show([[(self.field.label, style), *([("*", "-key")] if changed else [])]])

    def note(self, lines: Sequence[Line]) -> None:
        """What is wrong, or what it means."""
        if getattr(self.control, "unshown", False):
            lines = [*told(_UNSHOWN, self.note_columns, "-dim")]
        self._note.styles.height = len(lines)
        self._note.show(lines)

    @property
    def note_columns(self) -> int:
        return max(8, self.size.width - 12)


def _control(field: Field, text: str, glyphs: Glyphs) -> Control:
    if field.kind == "choice":
        return ChoiceControl(field, text, glyphs)
    return LinesControl(field, text) if field.kind == "lines" else LineControl(field, text)


class Row(Horizontal):
    """Two short fields beside each other; one below the other on a narrow screen."""

    SCOPED_CSS = False  # the size of the screen is a class of that
    DEFAULT_CSS: ClassVar[str] = """
    Row { height: auto; }
    .-tiny Row, .-small Row { layout: vertical; }
    """


def rows(fields: Sequence[Field], boxes: Sequence[FieldBox]) -> list[Widget]:
    """The boxes, short ones in pairs."""
    found: list[Widget] = []
    waiting: FieldBox | None = None
    for field, box in zip(fields, boxes, strict=True):
        if field.narrow and waiting is not None:
            found.append(Row(waiting, box))
            waiting = None
        elif field.narrow:
            waiting = box
        else:
            found += [waiting] if waiting is not None else []
            waiting = None
            found.append(box)
    return [*found, waiting] if waiting is not None else found


def safe_lines(text: str) -> str:
    """Without characters that a terminal acts on; newlines stay."""
    return text if safe.text(text) == text else "".join(char for char in text if safe.text(char) == char)


def _plain(text: str) -> str:
    return text if safe.cell(text) == text else "".join(char for char in text if safe.cell(char) == char)
