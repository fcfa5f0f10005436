"""A widget of one line that is made anew for every width, and painted from the first column that differs."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from jobctl_tui.widgets.cells import Cell, clean
from jobctl_tui.widgets.looks import Looks


class Line(Looks):
    """Whoever derives from it says what stands on it for a width, and calls `renew` when that may have changed."""

    DEFAULT_CSS = "Line { height: 1; width: 1fr; }"

    _shown: tuple[Cell, ...] = ()
    _shown_for = 0
    """The width that it was made for."""

    def cells(self, width: int) -> Sequence[Cell]:
        """What stands on it, at most `width` columns of it."""
        raise NotImplementedError

    def renew(self) -> None:
        """Paints what is different now."""
        old, new = self._shown, self._made()
        if new == old:
            return
        at = 0
        for before, after in zip(old, new, strict=False):
            if before != after:
                break
            at += Segment(clean(after.text)).cell_length
        if at < self.size.width:
            self.refresh(Region(at, 0, self.size.width - at, 1))

    def on_resize(self) -> None:
        self.refresh()

    def _made(self) -> tuple[Cell, ...]:
        self._shown_for = self.size.width
        self._shown = tuple(self.cells(self._shown_for))
        return self._shown

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is but one
        width = self.size.width
        # Painted may be before anybody has told of the size.
        cells = self._shown if self._shown_for == width else self._made()
        line = [Segment(clean(cell.text), self.look(cell.style)) for cell in cells]
        return Strip(line).crop_extend(0, width, self.rich_style)
