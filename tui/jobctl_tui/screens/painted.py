"""The rows of a table that are those of a window. What is painted is remembered, so that a second's tick paints what
differs."""

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from jobctl_tui.widgets.cells import Cell

Row = TypeVar("Row")
RowOut = TypeVar("RowOut", covariant=True)


class Place(Protocol[RowOut]):
    """What is needed of a window."""

    @property
    def total(self) -> int: ...

    def row(self, index: int, /) -> RowOut | None: ...

    def index_of(self, ident: int, /) -> int | None: ...


class Painted(Generic[Row]):
    """`jobctl_tui.widgets.vtable.Rows`. Whoever derives from it says what a row says, and by what it is known."""

    def __init__(self, place: Place[Row]) -> None:
        self._place = place
        self._painted: dict[int, Sequence[Cell]] = {}
        self._first, self._count = 0, 0

    def key_of(self, row: Row) -> int:
        raise NotImplementedError

    def cells_of(self, row: Row) -> Sequence[Cell]:
        raise NotImplementedError

    @property
    def count(self) -> int:
        return self._place.total

    def cells(self, index: int) -> Sequence[Cell] | None:
        row = self._place.row(index)
        if row is None:
            return None
        made = self.cells_of(row)
        self._painted[self.key_of(row)] = made
        return made

    def key(self, index: int) -> int | None:
        row = self._place.row(index)
        return None if row is None else self.key_of(row)

    def index_of(self, key: int) -> int | None:
        return self._place.index_of(key)

    def show(self, first: int, count: int) -> None:
        self._first, self._count = first, count

    def shown(self) -> list[Row]:
        """The rows on the screen."""
        rows = (self._place.row(index) for index in range(self._first, self._first + self._count))
        return [row for row in rows if row is not None]

    def differing(self) -> Iterable[int]:
        """Rows on the screen that would say something else now than what was painted."""
        here = {self.key_of(row): row for row in self.shown()}
        self._painted = {key: cells for key, cells in self._painted.items() if key in here}
        return [key for key, cells in self._painted.items() if self.cells_of(here[key]) != cells]
