"""The programs that `screens.py` watches: our table and log, and Textual's beside them. `d` gives them the data,
`c` begins ten changes a second; the other keys move."""

import random
import sys
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import DataTable, RichLog

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.log import LogPages
from jobctl_tui.theme import DARK, THEMES
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.columns import Column
from jobctl_tui.widgets.logview import LogView
from jobctl_tui.widgets.vtable import VTable

NAMES = ("STATE", "NAME", "SCHEDULE", "NEXT", "LAST", "OWNER", "TAGS")
WIDTHS = (10, 24, 16, 10, 16, 10, 16)
PER_SECOND = 10


def row(number: int, change: int = 0) -> tuple[str, ...]:
    return ("✗ FAILED", f"job-{number:07d}", "*/15 * * * *", "2m19s", f"exit 1 · {change}s", "dba", "pg nightly")


class Program(App[None]):
    """What is the same of all of them."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [("d", "data"), ("c", "change"), ("q", "quit")]

    def __init__(self, size: int) -> None:
        super().__init__()
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = DARK
        self.length = size
        self.changes = 0
        self.animation_level = "none"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(THEMES[DARK].variables)

    def post(self, call: Callable[[], None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._called, call)

    def _called(self, call: Callable[[], None]) -> None:
        with self._context():
            call()

    def compose(self) -> ComposeResult:
        yield self.view()

    def on_ready(self) -> None:
        self.title = "ready"

    def view(self) -> Widget:
        raise NotImplementedError

    def action_change(self) -> None:
        self.set_interval(1 / PER_SECOND, self.change)

    def change(self) -> None:
        raise NotImplementedError


class OurTable(Program):
    BINDINGS: ClassVar[list[BindingType]] = [("j", "go(1)"), ("f", "page(1)"), ("G", "last"), ("g", "first")]

    class Rows:
        def __init__(self) -> None:
            self.count = 0
            self.changed: dict[int, int] = {}

        def cells(self, index: int) -> list[Cell]:
            return [
                Cell(text, "-failed" if at == 0 else "")
                for at, text in enumerate(row(index, self.changed.get(index, 0)))
            ]

        def key(self, index: int) -> int:
            return index

        def index_of(self, key: int) -> int | None:
            return key if key < self.count else None

        def show(self, first: int, count: int) -> None:
            pass

    def view(self) -> Widget:
        self.rows = self.Rows()
        self.table = VTable(self.rows, [Column(*one) for one in zip(NAMES, WIDTHS, strict=True)])
        return self.table

    def action_data(self) -> None:
        self.rows.count = self.length
        self.table.refresh_all()

    def action_go(self, by: int) -> None:
        self.table.move(by)

    def action_page(self, by: int) -> None:
        self.table.page(by)

    def action_last(self) -> None:
        self.table.to_last()

    def action_first(self) -> None:
        self.table.to_first()

    def change(self) -> None:
        self.changes += 1
        key = self.table.top + random.randrange(30)
        self.rows.changed[key] = self.changes
        self.table.refresh_keys((key,))


class Textuals(Program):
    """`DataTable`."""

    BINDINGS: ClassVar[list[BindingType]] = [("j", "go(1)"), ("f", "page(1)"), ("G", "last"), ("g", "first")]

    def view(self) -> Widget:
        self.table: DataTable[Any] = DataTable(cursor_type="row")
        for name, width in zip(NAMES, WIDTHS, strict=True):
            self.table.add_column(name, width=width)
        return self.table

    def action_data(self) -> None:
        self.table.add_rows([Text("✗ FAILED", "bold red"), *row(number)[1:]] for number in range(self.length))

    def action_go(self, by: int) -> None:  # noqa: ARG002
        self.table.action_cursor_down()

    def action_page(self, by: int) -> None:  # noqa: ARG002
        self.table.action_page_down()

    def action_last(self) -> None:
        self.table.action_scroll_bottom()

    def action_first(self) -> None:
        self.table.action_scroll_top()

    def change(self) -> None:
        self.changes += 1
        top = int(self.table.scroll_y)
        self.table.update_cell_at((top + random.randrange(30), 4), f"exit 1 · {self.changes}s")  # type: ignore[arg-type]


class OurLog(Program):
    """Of a run of a daemon: its socket and the run's id come as further arguments."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "go(-1)"), ("f", "page(-1)"), ("G", "last"), ("g", "first"), ("s", "find"),
    ]  # fmt: skip

    counted = False

    def view(self) -> Widget:
        def connect() -> Client:
            return Client(UnixTransport(sys.argv[3]))

        self.errands = Errands(connect, self.post)
        self.log_view = LogView(self.errands)
        self.pages = LogPages(int(sys.argv[4]), None, connect, self.errands, self.post, lambda: None)
        return self.log_view

    def action_data(self) -> None:
        self.log_view.show(self.pages)
        self.pages.start()

    def on_log_view_told(self) -> None:
        facts = self.log_view.facts
        if facts.lines == self.length and not self.counted:
            self.counted = True
            tell("[counted]")
        if facts.pattern and facts.looked == 1.0 and facts.matches:
            tell("[found]")

    def action_go(self, by: int) -> None:
        self.log_view.scroll_rows(by)

    def action_page(self, by: int) -> None:
        self.log_view.page(by)

    def action_last(self) -> None:
        self.log_view.to_last()

    def action_first(self) -> None:
        self.log_view.to_first()

    def action_find(self) -> None:
        self.log_view.find("line 0*[0-9]*777 ")

    def change(self) -> None:
        """The run itself writes ten lines a second."""


class Richs(Program):
    """`RichLog`."""

    BINDINGS: ClassVar[list[BindingType]] = [("j", "go(-1)"), ("f", "page(-1)"), ("G", "last"), ("g", "first")]

    def view(self) -> Widget:
        self.rich = RichLog(markup=False, highlight=False, wrap=False)
        return self.rich

    def action_data(self) -> None:
        for number in range(1, self.length + 1):
            self.rich.write(line(number))

    def action_go(self, by: int) -> None:
        self.rich.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:  # noqa: ARG002
        self.rich.scroll_page_up(animate=False)

    def action_last(self) -> None:
        self.rich.scroll_end(animate=False)

    def action_first(self) -> None:
        self.rich.scroll_home(animate=False)

    def change(self) -> None:
        self.changes += 1
        self.rich.write(line(self.length + self.changes))


def line(number: int) -> str:
    """Of 80 characters with its end, as the run prints them."""
    return f"line {number:09d} " + "of what a command prints, until it is through with all of its work"[:64]


def tell(words: str) -> None:
    """To who watches, beside what is painted."""
    assert sys.__stderr__ is not None
    sys.__stderr__.write(words)
    sys.__stderr__.flush()


PROGRAMS: dict[str, type[Program]] = {"vtable": OurTable, "datatable": Textuals, "logview": OurLog, "richlog": Richs}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](int(sys.argv[2])).run()
