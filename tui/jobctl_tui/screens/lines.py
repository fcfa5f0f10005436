"""A few lines that say what is known of one thing: painted again only when they differ."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from jobctl.reading.width import cut, width

Words = tuple[str, str]
"""A text that is safe to show, and the name of its style: `-failed`, `-dim`, `-bold`, …; empty: plain."""
Line = Sequence[Words]

_STYLES: Final = {"": "", "-bold": "bold", "-title": "bold $key"}


class Lines(Widget, can_focus=False):
    """Cut to its width and height; what is not shown is not missed elsewhere."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._lines: tuple[tuple[Words, ...], ...] = ()
        self._styles_of: dict[str, Style] = {}

    @property
    def shown(self) -> tuple[tuple[Words, ...], ...]:
        return self._lines

    def show(self, lines: Iterable[Line]) -> None:
        """Those that differ are painted again; a widget as high as its lines is measured again when it is laid out."""
        new = tuple(tuple(line) for line in lines)
        old, self._lines = self._lines, new
        if len(new) != len(old):
            self.refresh()
            return
        columns = self.size.width
        differ = [Region(0, y, columns, 1) for y, line in enumerate(new) if line != old[y]]
        if differ:
            self.refresh(*differ)

    def render(self) -> Content:
        """What its height is measured by."""
        columns, rows = self.content_size
        return Content("\n").join(painted(line, columns) for line in self._lines[:rows])

    def render_line(self, y: int) -> Strip:
        columns = self.size.width
        parts = _cut(self._lines[y], columns) if y < len(self._lines) else ()
        plain = self._style_of("")
        return Strip([Segment(text, self._style_of(style)) for text, style in parts]).crop_extend(0, columns, plain)

    def _style_of(self, name: str) -> Style:
        found = self._styles_of.get(name)
        if found is None:
            visual = self.visual_style + self.app.stylesheet.parse_style(_STYLES.get(name, f"${name[1:]}"))
            found = self._styles_of[name] = visual.rich_style
        return found

    def notify_style_update(self) -> None:
        self._styles_of.clear()
        super().notify_style_update()


def painted(line: Line, columns: int) -> Content:
    """One line, cut to so many columns."""
    return Content.assemble(*((text, _STYLES.get(style, f"${style[1:]}")) for text, style in _cut(line, columns)))


def _cut(line: Line, columns: int) -> list[Words]:
    parts: list[Words] = []
    room = columns
    for text, style in line:
        if room <= 0:
            break
        fitting = cut(text, room)
        parts.append((fitting, style))
        room -= width(fitting)
    return parts


def rule(title: str, columns: int, stroke: str, style: str = "") -> list[Words]:
    """`── backup-db · run 4812 ────`: a line across the screen, with what stands below it."""
    if not title:
        return [(stroke * columns, "-rule")]
    head = cut(title, max(0, columns - 4))
    rest = max(0, columns - width(head) - 4)
    return [(f"{stroke * 2} ", "-rule"), (head, style), (f" {stroke * rest}", "-rule")]
