"""Columns of a table, and the widths they get on a screen of some width. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from jobctl_tui.widgets.cells import Align

GAP = 1
#: So much the flexible ones give way together before one is left out.
_GIVES = 10


class Column(NamedTuple):
    """Its heading, and how wide it is: `width` columns, and of what is left over `flex` shares."""

    name: str
    width: int
    flex: int = 0
    align: Align = "left"
    min_screen: int = 0
    """It is left out on screens that have fewer columns than this."""
    gap: int = GAP
    """Columns between the one before it and this."""


class Placed(NamedTuple):
    """Which column it is, where it begins, and how wide it is here."""

    column: int
    start: int
    width: int


def places(columns: Sequence[Column], width: int, screen: int) -> tuple[Placed, ...]:
    """The columns in `width` columns of a screen of `screen`.

    Where something stands beside the table and takes its room, those that only wide screens have are left out first.
    The others give way before narrow ones are cut off at the right edge.
    """
    shown = [index for index, column in enumerate(columns) if column.min_screen <= screen]
    while _whole([columns[index] for index in shown]) > width + _GIVES:
        dearest = max(shown, key=lambda index: (columns[index].min_screen, index))
        if columns[dearest].min_screen == 0:
            break
        shown.remove(dearest)
    widths = _widths([columns[index] for index in shown], width)
    placed: list[Placed] = []
    start = 0
    for index, wide in zip(shown, widths, strict=True):
        start += columns[index].gap if placed else 0
        if start >= width:
            break
        placed.append(Placed(index, start, min(wide, width - start)))
        start += wide
    return tuple(placed)


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    widths = [column.width for column in columns]
    spare = width - _whole(columns)
    shares = sum(column.flex for column in columns)
    if not shares or spare == 0:
        return widths
    given = 0
    flexible = [index for index, column in enumerate(columns) if column.flex]
    for index in flexible:
        more = spare - given if index == flexible[-1] else spare * columns[index].flex // shares
        given += more
        widths[index] = max(_least(columns[index]), widths[index] + more)
    return widths


def _whole(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + sum(column.gap for column in columns[1:])


def _least(column: Column) -> int:
    """A column that gives way keeps its heading, or what a few letters need."""
    return min(column.width, max(4, len(column.name)))
