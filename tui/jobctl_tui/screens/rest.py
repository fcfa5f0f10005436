"""Reading what a row does not have once the cursor has rested on it."""

from collections.abc import Callable
from typing import Final

from textual.timer import Timer
from textual.widget import Widget

_REST_S: Final = 0.15


class Rest:
    """Calls `read`. A row that changes all the time, and so is asked for all the time, is read all the same."""

    def __init__(self, widget: Widget, read: Callable[[], None]) -> None:
        self._widget = widget
        self._read = read
        self._timer: Timer | None = None
        self._ident = 0

    def on(self, ident: int) -> None:
        """The cursor is on this row."""
        if self._timer is None:
            self._timer = self._widget.set_timer(_REST_S, self._over)
        elif ident != self._ident:
            self._timer.reset()
        self._ident = ident

    def _over(self) -> None:
        self._timer = None
        self._read()
