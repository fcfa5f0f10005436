"""Runs as the rows of a table: those that are active below one heading, those that have ended below another."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from jobctl_tui.host import Host
from jobctl_tui.live.window import Window
from jobctl_tui.widgets.cells import Cell, Rule
from jobctl_tui.widgets.columns import Column
from jobctl_tui.words import run as words

Json = dict[str, Any]

#: Narrower screens have room for a sign, the job and how it went.
SMALL: Final = 45
MEDIUM: Final = 60
HUGE: Final = 160

COLUMNS: Final = (
    Column("", 1),
    Column("RUN", 5, align="right", min_screen=SMALL),
    Column("JOB", 12, flex=1),
    Column("STARTED", 9, min_screen=MEDIUM),
    Column("TOOK", 8, align="right", min_screen=SMALL),
    Column("TRY", 3, min_screen=MEDIUM),
    Column("RESULT", 15),
    Column("LAST LINE", 8, flex=3, min_screen=SMALL),
    Column("TRIGGER", 9, min_screen=HUGE),
    Column("QUEUE", 10, min_screen=HUGE),
)


class RunRows:
    """`jobctl_tui.widgets.vtable.Rows` over a window. What is painted is remembered: a tick paints what differs."""

    def __init__(self, window: Window, host: Host) -> None:
        self._window = window
        self._host = host
        self._painted: dict[int, Sequence[Cell] | Rule] = {}
        self._first, self._count = 0, 0

    @property
    def active(self) -> int:
        """Runs that have not ended; they come first."""
        return int(self._window.more.get("active", 0))

    @property
    def count(self) -> int:
        total = self._window.total
        return total + (1 if self.active else 0) + (1 if total > self.active else 0)

    def cells(self, index: int) -> Sequence[Cell] | Rule | None:
        place = self._place(index)
        made = self._rule(index) if place is None else self._row(self._window.row(place))
        if made is not None:
            self._painted[index] = made
        return made

    def key(self, index: int) -> int | None:
        place = self._place(index)
        run = None if place is None else self._window.row(place)
        return None if run is None else int(run["id"])

    def index_of(self, key: int) -> int | None:
        place = self._window.index_of(key)
        if place is None:
            return None
        headings = (1 if self.active else 0) + (1 if place >= self.active else 0)
        return place + headings

    def show(self, first: int, count: int) -> None:
        self._first, self._count = first, count
        self._painted = {index: made for index, made in self._painted.items() if first <= index < first + count}
        self._window.show(max(0, first - 2), count + 2)

    def differing(self) -> Iterable[int]:
        """Places on the screen that would say something else now than what was painted."""
        return [index for index, before in list(self._painted.items()) if self._now(index) != before]

    def _now(self, index: int) -> Sequence[Cell] | Rule | None:
        place = self._place(index)
        return self._rule(index) if place is None else self._row(self._window.row(place))

    def _place(self, index: int) -> int | None:
        """In the window; None: a heading stands there."""
        active = self.active
        if active and index == 0:
            return None
        if active and index <= active:
            return index - 1
        heading = active + (1 if active else 0)
        return None if index == heading else index - heading - 1 + active

    def _rule(self, index: int) -> Rule:
        host, active = self._host, self.active
        if active and index == 0:
            status = host.feed.status or {}
            slots = (int(status["running"]), int(status["slots"])) if status.get("slots") else None
            shown = [self._window.row(place) for place in range(min(active, 1000))]
            return Rule(words.active_line(shown, active, slots, host.glyphs, host.feed.now_ms()))
        return Rule(words.ended_line(self._window.more.get("today") or {}, host.glyphs))

    def _row(self, run: Json | None) -> Sequence[Cell] | None:
        if run is None:
            return None
        host = self._host
        return tuple(Cell(*word) for word in words.cells(run, host.glyphs, host.when, host.feed.now_ms()))


def run_of(window: Window, key: int | None) -> Json | None:
    """The run that the cursor is on, as it is known here."""
    return None if key is None else window.find(key)
