"""What stands in a cell, and how it becomes segments of a line: made safe, measured, cut, in the style of its class.

Whatever is painted here comes through `clean`: a job's name cannot reach the terminal by way of a cell.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from jobctl.reading import safe

Align = Literal["left", "right"]
Paint = Callable[[str], Style]
"""From the name of a style to what it is just now."""

#: The names of styles, and what they are in Textual's words: colours are the theme's; what a colour says is said by
#: weight, reverse or underline as well. No component classes: those cost every widget a good part of its start.
STYLES: Final[Mapping[str, str]] = {
    "-failed": "bold $failed",
    "-late": "bold $late",
    "-retry": "$retry",
    "-running": "$running",
    "-ok": "$ok",
    "-paused": "$paused",
    "-dim": "$dim",
    "-key": "bold $key",
    "-bold": "bold",
    "-header": "$dim",
    "-rule": "$dim",
    "-cursor": "on $cursor $block-cursor-text-style",
    "-marked": "on $marked",
    "-found": "underline on $found",
    "-here": "bold reverse",
}

#: Selectors of text or picture: terminals do not agree on how wide they make the character before them.
_SELECTORS: Final = {0xFE0E: None, 0xFE0F: None}


class Cell(NamedTuple):
    """A text, the name of a style (or none), and what stands right behind it in other styles."""

    text: str
    style: str = ""
    more: tuple["Cell", ...] = ()


class Rule(NamedTuple):
    """A row that is a line across the table, with a heading in it. The cursor jumps over it."""

    text: str = ""
    style: str = "-rule"


def clean(text: str) -> str:
    """A text that no terminal acts on, on one line, of a width that all terminals agree on."""
    line = safe.cell(text)
    return line if line.isascii() else line.translate(_SELECTORS)


def cut(text: str, width: int, mark: str = "…") -> str:
    """A clean text in at most `width` columns; what is cut off is marked."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + mark if width > 1 else mark[:width]


def fitted(text: str, width: int, align: Align = "left", mark: str = "…") -> str:
    """A clean text in exactly `width` columns."""
    text = cut(text, width, mark)
    room = width - cell_len(text)
    return " " * room + text if align == "right" else text + " " * room


def segments(cell: Cell, width: int, align: Align, paint: Paint, mark: str = "…") -> Iterable[Segment]:
    """A cell in exactly `width` columns."""
    if not cell.more:
        yield Segment(fitted(clean(cell.text), width, align, mark), paint(cell.style))
        return
    parts = [(clean(part.text), part.style) for part in (cell, *cell.more)]
    room = width - sum(cell_len(text) for text, _ in parts)
    if room > 0 and align == "right":
        yield Segment(" " * room, paint(""))
    left = width
    for text, style in parts:
        if left > 0:
            shown = cut(text, left, mark)
            left -= cell_len(shown)
            yield Segment(shown, paint(style))
    if left > 0 and align == "left":
        yield Segment(" " * left, paint(""))
