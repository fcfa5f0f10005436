"""A text to be read above everything else: what doctor found, what the daemon wrote, a line that was too long."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual.widget import Widget

from jobctl.reading.safe import cell
from jobctl_tui.actions import Scope
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.lines import Lines, rule
from jobctl_tui.screens.moving import Moving
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.columns import Column
from jobctl_tui.widgets.vtable import VTable
from jobctl_tui.words.wrap import wrapped


class Said(NamedTuple):
    """A paragraph: `label` stands before its first line."""

    text: str
    label: str = ""
    style: str = ""


class _Wrapped:
    """`jobctl_tui.widgets.vtable.Rows`: each paragraph on as many lines as it needs."""

    def __init__(self) -> None:
        self._rows: list[tuple[Cell, ...]] = []

    def put(self, said: Iterable[Said], columns: int, *, labelled: bool) -> None:
        self._rows = []
        for one in said:
            for number, line in enumerate(wrapped(cell(one.text), columns)):
                label = Cell(one.label if number == 0 else "", one.style or "-dim")
                self._rows.append((label, Cell(line, one.style)) if labelled else (Cell(line, one.style),))

    @property
    def count(self) -> int:
        return len(self._rows)

    def cells(self, index: int) -> Sequence[Cell] | None:
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def key(self, index: int) -> int | None:
        return index if index < len(self._rows) else None

    def index_of(self, key: int) -> int | None:
        return key if 0 <= key < len(self._rows) else None

    def show(self, first: int, count: int) -> None:
        """All of them are here."""


class Sheet(Moving, Framed):
    """Escape goes back."""

    SCOPES: ClassVar[tuple[Scope, ...]] = (Scope.LISTS, Scope.EVERYWHERE)
    DEFAULT_CSS = "Sheet > Lines { height: 1; }"

    def __init__(self, title: str, said: Sequence[Said], label_columns: int = 0, *, at_end: bool = False) -> None:
        """`at_end`: what was said last is what is looked for."""
        super().__init__()
        self._at_end = at_end
        self.title = cell(title)
        self._text = said
        self._labels = label_columns
        self._rows = _Wrapped()
        columns = (Column("", label_columns), Column("", 8, flex=1))
        self.table = VTable(self._rows, columns if label_columns else columns[1:], header=False)
        self._head = Lines()

    def body(self) -> Iterable[Widget]:
        self.table.set_glyphs(self.host.glyphs)
        return self._head, self.table

    def on_mount(self) -> None:
        """Textual calls that of `Framed` too."""
        self.table.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def tell(self, said: Sequence[Said]) -> None:
        """Another text, from now on."""
        self._text = said
        if self.is_mounted:
            self._fit()

    def _fit(self) -> None:
        columns = self.size.width - 2 - (self._labels + 1 if self._labels else 0)
        self._rows.put(self._text, columns, labelled=bool(self._labels))
        self._head.show(
            [
                rule(
                    f"{self.title} {self.host.glyphs.dot} esc goes back",
                    self.size.width,
                    self.host.glyphs.rule,
                    "-bold",
                )
            ]
        )
        self.table.refresh_all()
        if self._at_end:
            self._at_end = False
            self.table.to_last()

    def subject(self) -> str:
        return ""

    def act_copy(self) -> None:
        """All of it: it is shown to be passed on."""
        self.host.copy("\n".join(f"{one.label}  {one.text}".strip() for one in self._text), str(self.title))

    def act_back(self) -> None:
        self.dismiss()
