"""The keys that move in a table: the next line, the next page."""

from typing import Protocol

from jobctl_tui.widgets.vtable import VTable


class _Moved(Protocol):
    """Whoever has a table that these keys are for."""

    @property
    def table(self) -> VTable: ...

    def choose(self) -> None: ...


class Moving:
    """For whoever has a `table`."""

    def choose(self) -> None:
        """A row is chosen: a key has moved there."""

    def act_down(self: _Moved) -> None:
        self.choose()
        self.table.move(1)

    def act_up(self: _Moved) -> None:
        self.choose()
        self.table.move(-1)

    def act_top(self: _Moved) -> None:
        self.choose()
        self.table.to_first()

    def act_bottom(self: _Moved) -> None:
        self.choose()
        self.table.to_last()

    def act_half_down(self: _Moved) -> None:
        self.choose()
        self.table.page(0.5)

    def act_half_up(self: _Moved) -> None:
        self.choose()
        self.table.page(-0.5)

    def act_page_down(self: _Moved) -> None:
        self.choose()
        self.table.page(1)

    def act_page_up(self: _Moved) -> None:
        self.choose()
        self.table.page(-1)
