"""Dead letters as the rows of a table: groups, and letters below them or one by one."""

from collections.abc import Sequence
from typing import Final

from jobctl_tui.host import Host
from jobctl_tui.screens.deadlist import DeadList
from jobctl_tui.screens.painted import Painted
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.columns import Column
from jobctl_tui.words import dead as words
from jobctl_tui.words.dead import Row

COLUMNS: Final = (
    Column("ERROR", 20, flex=4),
    Column("JOB", 14, flex=1),
    Column("N", 3, align="right", min_screen=45),
    Column("NEWEST", 7, align="right"),
    Column("OLDEST", 6, align="right", min_screen=60),
    Column("RESULT", 9, min_screen=60),
)


class DeadRows(Painted[Row]):
    """All of them are here."""

    def __init__(self, letters: DeadList, host: Host) -> None:
        super().__init__(letters)
        self._host = host

    def key_of(self, row: Row) -> int:
        return words.key(row)

    def cells_of(self, row: Row) -> Sequence[Cell]:
        host = self._host
        return [Cell(*each) for each in words.cells(row, host.glyphs, host.when, host.feed.now_ms())]
