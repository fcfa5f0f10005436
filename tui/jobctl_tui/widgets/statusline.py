"""Line 1, which never moves: whose jobs these are, whether what is shown is true now, how much trouble there is, when.

It says less on a narrow screen, but how the daemon is reached it says on any.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len

from jobctl_tui.widgets.cells import Cell, clean, cut
from jobctl_tui.widgets.line import Line


class Status(NamedTuple):
    """What the line says."""

    host: str = ""
    """`jobctl@prod-db1`; without what is before the `@` where there is no room."""
    link: Cell = Cell("")
    """`● live`, `○ DOWN 34s`."""
    counters: tuple[Cell, ...] = ()
    """The worst first: the last give way first."""
    clock: str = ""
    """`03:12:41 CET`."""
    said: Cell | None = None
    """What was done a moment ago: stands where the counters are."""
    place: str = ""
    """The folder of a trial: gives way before all else, for the word."""


class _Shape(NamedTuple):
    """How much of it is said."""

    host: str
    link: Cell
    facts: tuple[Cell, ...]
    clock: str

    def columns(self) -> int:
        facts = sum(2 + cell_len(fact.text) for fact in self.facts)
        host = cell_len(self.host) + 2 if self.host else 0
        clock = cell_len(self.clock) + 3 if self.clock else 0
        return 1 + host + cell_len(self.link.text) + facts + clock


def status_cells(status: Status, width: int) -> list[Cell]:
    """The line for a width: the fullest shape that has room."""
    shape = next((shape for shape in _shapes(status, width) if shape.columns() <= width), None)
    if shape is None:
        shape = _Shape("", Cell(cut(clean(status.link.text), max(0, width - 1)), status.link.style), (), "")
    cells = [Cell(" ")] if width > 0 else []
    if shape.host:
        cells += [Cell(shape.host, "-bold"), Cell("  ")]
    cells.append(shape.link)
    for fact in shape.facts:
        cells += [Cell("  "), fact]
    if shape.clock:
        used = sum(cell_len(cell.text) for cell in cells)
        cells += [Cell(" " * (width - used - cell_len(shape.clock) - 1)), Cell(shape.clock)]
    return cells


def _shapes(status: Status, width: int) -> Iterator[_Shape]:
    """From the fullest to the barest, each saying less than the one before."""
    facts = (status.said,) if status.said is not None else status.counters
    host, trial = clean(status.host), " trial" if status.place else ""
    shape = _Shape(
        f"{host} {clean(status.place)}" if trial else host,
        status.link._replace(text=clean(status.link.text)),
        tuple(fact._replace(text=clean(fact.text)) for fact in facts if fact.text),
        clean(status.clock),
    )
    yield shape
    shape = shape._replace(host=host + trial)
    yield shape
    shape = shape._replace(clock=shape.clock.partition(" ")[0])
    yield shape
    while len(shape.facts) > 2:
        shape = shape._replace(facts=shape.facts[:-1])
        yield shape
    shape = shape._replace(host=host.rpartition("@")[2] + trial)
    yield shape
    shape = shape._replace(clock=shape.clock[:5])
    yield shape
    shape = shape._replace(host=trial.strip() or cut(shape.host, 8))
    yield shape
    shape = shape._replace(clock="")
    yield shape
    while len(shape.facts) > 1:
        shape = shape._replace(facts=shape.facts[:-1])
        yield shape
    shape = shape._replace(host="")
    yield shape
    if shape.facts:
        room = max(8, width - 3 - cell_len(shape.link.text)) if status.said is not None else 8
        yield shape._replace(facts=tuple(fact._replace(text=cut(fact.text, room)) for fact in shape.facts))
        yield shape._replace(facts=())


class StatusLine(Line):
    """Shows a `Status`."""

    def __init__(self, status: Status | None = None, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._status = status or Status()

    @property
    def status(self) -> Status:
        return self._status

    def show(self, status: Status) -> None:
        self._status = status
        self.renew()

    def cells(self, width: int) -> list[Cell]:
        return status_cells(self._status, width)
