"""Tables as text: columns as wide as their cells; on a terminal made to fit, piped never cut."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from jobctl.reading.safe import cell as safe_cell
from jobctl.reading.width import cut, width

GAP: Final = "  "
EMPTY: Final = "-"
#: No column is cut to less, however little room there is.
_NARROWEST: Final = 4


class Cell(NamedTuple):
    """What one cell shows; `short` is used where the line has no room for `text`."""

    text: str
    short: str | None = None
    style: str = ""


class Column(NamedTuple):
    """`shrinks` to so many columns before anything is lost; `drops` in this order when even that is too wide."""

    title: str
    shrinks: int = 0
    drops: int = 0
    right: bool = False


Paint = Callable[[str, str], str]
Row = Sequence[Cell | str | int | None]


def lines(columns: Sequence[Column], rows: Sequence[Row], *, room: int | None, mark: str, paint: Paint) -> list[str]:
    """The lines of a table with its heading. `room` is the terminal's width, or None when piped."""
    cells = [[_cell(value) for value in row] for row in rows]
    shown = list(range(len(columns)))
    texts = [[cell.text for cell in row] for row in cells]
    if room is not None and _total(columns, texts, shown) > room:
        _shorten(columns, cells, texts, room)
        shown = _kept(columns, texts, room)
    widths = _widths(columns, texts, shown, room)
    head = _line(columns, [column.title for column in columns], shown, widths, mark, _plain)
    body = [
        _line(columns, text, shown, widths, mark, lambda index, part, row=row: paint(part, row[index].style))  # type: ignore[misc]
        for text, row in zip(texts, cells, strict=True)
    ]
    return [head, *body]


def _plain(index: int, text: str) -> str:  # noqa: ARG001  a heading has no style
    return text


def _cell(value: Cell | str | int | None) -> Cell:
    if not isinstance(value, Cell):
        value = Cell("" if value is None else str(value))
    short = None if value.short is None else safe_cell(value.short) or EMPTY
    return Cell(safe_cell(value.text) or EMPTY, short, value.style)


def _natural(columns: Sequence[Column], texts: Sequence[Sequence[str]], index: int) -> int:
    return max([width(columns[index].title), *(width(row[index]) for row in texts)])


def _total(columns: Sequence[Column], texts: Sequence[Sequence[str]], shown: list[int], *, shrunk: bool = False) -> int:
    sizes = [_natural(columns, texts, index) for index in shown]
    if shrunk:
        limits = [columns[index].shrinks for index in shown]
        sizes = [min(size, limit) if limit else size for size, limit in zip(sizes, limits, strict=True)]
    return sum(sizes) + len(GAP) * (len(shown) - 1)


def _shorten(columns: Sequence[Column], cells: Sequence[Sequence[Cell]], texts: list[list[str]], room: int) -> None:
    """Use short forms from the right on, only in cells that are too long, until the line fits."""
    shown = list(range(len(columns)))
    for index in reversed(shown):
        over = _total(columns, texts, shown) - room
        target = _natural(columns, texts, index) - over
        for cell, row in zip(cells, texts, strict=True):
            if over > 0 and cell[index].short is not None and width(row[index]) > target:
                row[index] = cell[index].short or ""


def _kept(columns: Sequence[Column], texts: Sequence[Sequence[str]], room: int) -> list[int]:
    shown = list(range(len(columns)))
    droppable = sorted((column.drops, index) for index, column in enumerate(columns) if column.drops)
    while droppable and _total(columns, texts, shown, shrunk=True) > room:
        shown.remove(droppable.pop(0)[1])
    return shown


def _widths(
    columns: Sequence[Column], texts: Sequence[Sequence[str]], shown: list[int], room: int | None
) -> dict[int, int]:
    """Natural widths; where they do not fit, the widest shrinkable column gives first, at last the widest of all."""
    sizes = {index: _natural(columns, texts, index) for index in shown}
    over = 0 if room is None else sum(sizes.values()) + len(GAP) * (len(shown) - 1) - room
    while over > 0:
        candidates = [index for index in shown if 0 < columns[index].shrinks < sizes[index]]
        candidates = candidates or [index for index in shown if sizes[index] > _NARROWEST]
        if not candidates:
            break
        sizes[max(candidates, key=lambda index: sizes[index])] -= 1
        over -= 1
    return sizes


def _line(
    columns: Sequence[Column],
    texts: Sequence[str],
    shown: list[int],
    widths: dict[int, int],
    mark: str,
    style: Callable[[int, str], str],
) -> str:
    parts = []
    for index in shown:
        text = cut(texts[index], widths[index], mark)
        space = " " * (widths[index] - width(text))
        if columns[index].right:
            parts.append(space + style(index, text))
        else:
            parts.append(style(index, text) + (space if index != shown[-1] else ""))
    return GAP.join(parts)
