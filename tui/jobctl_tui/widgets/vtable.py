"""A table of any length: only what is on the screen is asked for and painted, a changed row alone is painted again.

The cursor belongs to a row's key, not to its place (F144): rows may come, go and change places under it. As long as
its row is there it stays with it; when the row is gone the cursor is on nothing until the next key that moves it, so
that no key acts on a row which slid under it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from jobctl_tui.widgets.cells import Cell, Rule, clean, fitted, segments
from jobctl_tui.widgets.columns import Column, Placed, places
from jobctl_tui.widgets.looks import Looks
from jobctl_tui.words.glyphs import UTF8, Glyphs

#: The mark and the cursor stand here.
_GUTTER: Final = 1
#: Rules that stand one below the other are looked over so far.
_RULES_MAX: Final = 16


class Rows(Protocol):
    """What a table shows."""

    @property
    def count(self) -> int:
        """Rows there are, with rules."""

    def cells(self, index: int) -> Sequence[Cell] | Rule | None:
        """One for each column; None while they are not here yet."""

    def key(self, index: int) -> int | None:
        """By what the row is known wherever it stands; None of a rule and of a row that is not here yet."""

    def index_of(self, key: int) -> int | None:
        """Where the row is now; None when it is gone, or nobody knows where."""

    def show(self, first: int, count: int) -> None:
        """These rows are on the screen now."""


class VTable(Looks, can_focus=True):
    """The rows from `top` on. Whoever owns it calls `refresh_all` and `refresh_keys` when the rows have changed."""

    DEFAULT_CSS = "VTable { height: 1fr; width: 1fr; }"

    class Moved(Message):
        """The cursor is on another row; None: on none."""

        def __init__(self, table: "VTable", key: int | None) -> None:
            super().__init__()
            self.table = table
            self.key = key

    class Opened(Message):
        """A double click on a row."""

        def __init__(self, table: "VTable", key: int) -> None:
            super().__init__()
            self.table = table
            self.key = key

    class Marked(Message):
        """Other rows are marked than before."""

        def __init__(self, table: "VTable") -> None:
            super().__init__()
            self.table = table

    def __init__(
        self,
        rows: Rows,
        columns: Sequence[Column],
        glyphs: Glyphs = UTF8,
        *,
        header: bool = True,
        screen_width: Callable[[], int] | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
    ) -> None:
        """`screen_width` is what `Column.min_screen` is measured by; without it the width of the whole screen."""
        super().__init__(id=id, classes=classes)
        self._rows = rows
        self._columns = tuple(columns)
        self._glyphs = glyphs
        self._header = header
        self._screen_width = screen_width
        self._places: tuple[Placed, ...] = ()
        self._placed_for: tuple[int, int] | None = None
        self._top = 0
        self._top_key: int | None = None
        self._index = 0
        self._key: int | None = None
        self._told: int | None = None
        self._marks: dict[int, None] = {}
        self._empty = ""

    # ── what others see ────────────────────────────────────
    @property
    def rows(self) -> Rows:
        return self._rows

    @property
    def cursor_key(self) -> int | None:
        """The row that is highlighted; None when it is gone."""
        return self._key if self._key is not None and self._rows.index_of(self._key) is not None else None

    @property
    def cursor_index(self) -> int:
        """Where the cursor is, or was when its row went."""
        return self._index

    @property
    def top(self) -> int:
        """The first row on the screen."""
        return self._top

    def width_of(self, name: str) -> int:
        """Of the column with this heading; 0: it is not shown."""
        return next((place.width for place in self._placed if self._columns[place.column].name == name), 0)

    @property
    def body_height(self) -> int:
        """Rows that have room."""
        return max(0, self.size.height - int(self._header))

    @property
    def marks(self) -> frozenset[int]:
        """Keys of marked rows, also of those that are not shown just now."""
        return frozenset(self._marks)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Others, or with other headings; the cursor stays where it is."""
        if tuple(columns) != self._columns:
            self._columns = tuple(columns)
            self._placed_for = None
            self.refresh()

    def set_glyphs(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self.refresh()

    # ── what has changed ───────────────────────────────────
    def refresh_all(self) -> None:
        """The order, the number or all of the rows may have changed."""
        self._settle()
        self.refresh()

    def refresh_keys(self, keys: Iterable[int]) -> None:
        """These rows say something else now, at the places where they were."""
        for key in keys:
            index = self._rows.index_of(key)
            if index is not None:
                self._refresh_row(index)

    def refresh_rows(self, first: int, count: int) -> None:
        """The rows at these places are here now, or say something else."""
        self._settle()
        for index in range(max(first, self._top), min(first + count, self._top + self.body_height)):
            self._refresh_row(index)

    # ── moving ─────────────────────────────────────────────
    def move(self, by: int) -> None:
        """Down by so many rows, or up. From a row that is gone: to the one that took its place, or before it."""
        self._settle()
        target = self._index + by
        if by > 0 and self._is_lost():
            target -= 1
        self._go(target, 1 if by >= 0 else -1)

    def page(self, by: float) -> None:
        """By so many screens: 1, -1, 0.5 …"""
        step = max(1, int(abs(by) * self.body_height))
        self.scroll_rows(step if by > 0 else -step)
        self.move(step if by > 0 else -step)

    def to_first(self) -> None:
        self._key, self._index, self._top = None, 0, 0
        self.refresh()
        self._go(0, 1)

    def to_last(self) -> None:
        self._go(self._rows.count - 1, -1)

    def go_to(self, key: int) -> bool:
        """The cursor to that row, when it is known where it is."""
        index = self._rows.index_of(key)
        if index is not None:
            self._go(index, 1)
        return index is not None

    def scroll_rows(self, by: int) -> None:
        """Moves what is seen; the cursor stays with its row, on the screen or not."""
        self._set_top(self._top + by)

    # ── marks ──────────────────────────────────────────────
    def toggle_mark(self) -> None:
        """Of the row under the cursor, which then goes on to the next."""
        key = self.cursor_key
        if key is None:
            return
        if key in self._marks:
            del self._marks[key]
        else:
            self._marks[key] = None
        self.refresh_keys((key,))
        self.post_message(self.Marked(self))
        self.move(1)

    def mark_range(self) -> None:
        """From the row that was marked last to the one under the cursor, those that are here."""
        key, last = self.cursor_key, next(reversed(self._marks), None)
        start = self._rows.index_of(last) if last is not None else None
        if key is None:
            return
        first, end = sorted((self._index if start is None else start, self._index))
        self.mark(found for index in range(first, end + 1) if (found := self._rows.key(index)) is not None)

    def mark(self, keys: Iterable[int]) -> None:
        self._marks.update(dict.fromkeys(keys))
        self.refresh()
        self.post_message(self.Marked(self))

    def clear_marks(self, keys: Iterable[int] | None = None) -> None:
        """All of them, or those that are named."""
        for key in list(self._marks) if keys is None else keys:
            self._marks.pop(key, None)
        self.refresh()
        self.post_message(self.Marked(self))

    # ── where the cursor is ────────────────────────────────
    def _is_lost(self) -> bool:
        return self._key is not None and self._rows.index_of(self._key) is None

    def _settle(self) -> None:
        """Finds the cursor's row again, and keeps what is seen where it was as far as that goes."""
        if self._key is None and self._index < self._rows.count:
            self._key = self._rows.key(self._index)
        index = self._rows.index_of(self._key) if self._key is not None else None
        seen = self._top <= self._index < self._top + max(1, self.body_height)
        if index is not None:
            moved, self._index = index - self._index, index
            if seen and not (self._top == 0 and index < self.body_height):
                self._top += moved
        if not seen and self._top > 0 and self._top_key is not None:
            self._top = self._rows.index_of(self._top_key) or self._top
        self._set_top(self._top, told=False)
        if self._index < self._rows.count and isinstance(self._rows.cells(self._index), Rule) and not self._is_lost():
            self._go(self._index, 1)
        self._tell()

    def _go(self, target: int, step: int) -> None:
        """The cursor to a row, over rules in the direction of `step`, else the other way; and the row into view."""
        count = self._rows.count
        old = self._index
        self._index = self._beside(max(0, min(target, count - 1)), step) if count else 0
        self._key = self._rows.key(self._index) if count else None
        self._into_view()
        if old != self._index:
            self._refresh_row(old)
        self._refresh_row(self._index)
        self._tell()

    def _beside(self, index: int, step: int) -> int:
        for way in (step, -step):
            for at in range(index, index + way * _RULES_MAX, way):
                if 0 <= at < self._rows.count and not isinstance(self._rows.cells(at), Rule):
                    return at
        return index

    def _into_view(self) -> None:
        top, height = self._top, self.body_height
        if self._index >= top + height:
            top = self._index - height + 1
        if self._index < top:
            top = self._index
        if 0 < top <= _RULES_MAX and all(isinstance(self._rows.cells(above), Rule) for above in range(top)):
            top = 0  # a heading that nothing but the first rows stands below
        self._set_top(top)

    def _set_top(self, top: int, *, told: bool = True) -> None:
        top = max(0, min(top, self._rows.count - self.body_height))
        if top != self._top and told:
            self.refresh()
        self._top = top
        self._top_key = self._rows.key(top) if top < self._rows.count else None
        if self.body_height:
            self._rows.show(top, self.body_height)

    def _tell(self) -> None:
        key = self.cursor_key
        if key != self._told:
            self._told = key
            self.post_message(self.Moved(self, key))

    # ── the mouse, and the size ────────────────────────────
    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)

    def on_click(self, event: events.Click) -> None:
        index = self._top + event.y - int(self._header)
        if event.y < int(self._header) or not 0 <= index < self._rows.count:
            return
        self._go(index, 1)
        if event.chain == 2 and self.cursor_key is not None:
            self.post_message(self.Opened(self, self.cursor_key))

    def on_resize(self) -> None:
        if self._top <= self._index:
            self._into_view()
        self._settle()
        self.refresh()

    @property
    def _placed(self) -> tuple[Placed, ...]:
        """Where the columns are at this size, whether or not anybody has told of it yet."""
        screen = self._screen_width() if self._screen_width is not None else self.screen.size.width
        size = (self.size.width, screen)
        if size != self._placed_for:
            self._placed_for = size
            self._places = places(self._columns, max(0, size[0] - _GUTTER), screen)
        return self._places

    # ── painting ───────────────────────────────────────────
    def _refresh_row(self, index: int) -> None:
        y = index - self._top
        if 0 <= y < self.body_height:
            self.refresh(Region(0, y + int(self._header), self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._header and y == 0:
            return Strip(self._heading(), width).crop_extend(0, width, self.look("-header"))
        index = self._top + y - int(self._header)
        if not 0 <= index < self._rows.count:
            return Strip.blank(width, self.look())
        cells = self._rows.cells(index)
        if isinstance(cells, Rule):
            return self._rule(cells, width)
        key = self._rows.key(index)
        line = list(self._line(cells, key, index))
        return Strip(line).crop_extend(0, width, line[-1].style)

    def _heading(self) -> list[Segment]:
        heads = [Cell(column.name) for column in self._columns]
        return list(self._cells(heads, lambda _: self.look("-header"), " "))

    def _rule(self, rule: Rule, width: int) -> Strip:
        line = self._glyphs.rule
        words = f"{line * 2} {clean(rule.text)} " if rule.text else ""
        style = self.look(rule.style)
        text = fitted(words, width, mark=self._glyphs.ellipsis).rstrip(" ")
        text = f"{text} " if rule.text and len(text) < width else text
        blank = Strip([Segment(text, style)])
        return Strip([*blank, Segment(line * (width - blank.cell_length), style)], width)

    def _line(self, cells: Sequence[Cell] | None, key: int | None, index: int) -> Iterable[Segment]:
        here = index == self._index and not self._is_lost()
        marked = key is not None and key in self._marks
        over = (("-marked",) if marked else ()) + (("-cursor",) if here else ())
        gutter = self._glyphs.mark if marked else self._glyphs.cursor if here else " "

        def paint(name: str) -> Style:
            return self.look(name, *over)

        yield from self._cells(cells or (Cell(self._glyphs.ellipsis, "-dim"),), paint, gutter)

    def _cells(self, cells: Sequence[Cell], paint: Callable[[str], Style], gutter: str) -> Iterable[Segment]:
        yield Segment(gutter, paint("-key"))
        end = 0
        for place in self._placed:
            if place.start > end:
                yield Segment(" " * (place.start - end), paint(""))
            cell = cells[place.column] if place.column < len(cells) else Cell("")
            yield from segments(cell, place.width, self._columns[place.column].align, paint, self._glyphs.ellipsis)
            end = place.start + place.width
        rest = self.size.width - _GUTTER - end
        if rest > 0:
            yield Segment(" " * rest, paint(""))
