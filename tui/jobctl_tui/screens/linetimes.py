"""By when the lines of a log were written, told beside them as somebody wants it."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from jobctl.reading.times import milliseconds
from jobctl_tui.host import Host
from jobctl_tui.widgets.logview import Gutter, LogView
from jobctl_tui.words import logline
from jobctl_tui.words.logline import Times

Json = dict[str, Any]

#: They are asked for again after so long, while the log grows.
_AGAIN_MS: Final = 2_000
_OF_NOTHING: Final = (None, -1)


class Pane(Protocol):
    """Whose log it is."""

    run_id: int
    log_view: LogView
    shown: int | None

    @property
    def host(self) -> Host: ...
    def attempt(self) -> Json | None: ...
    @property
    def errand(self) -> Callable[..., None]: ...


class LineTimes:
    """Of the attempt that is shown."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self.form: Times = Times.CLOCK
        self._asked_ms = 0
        self._asked_of: tuple[int | None, int] = _OF_NOTHING
        """Which attempt, and how long its log was."""

    def forget(self) -> None:
        """What is known of them is of another attempt, or in another zone."""
        self._asked_of = _OF_NOTHING

    def turn(self) -> None:
        self.form = self.form.after()
        self.forget()
        if self.form is Times.NONE:
            self._pane.log_view.set_gutter(Gutter())
        self.read()

    def read(self) -> None:
        """Again while the log grows, but not too often."""
        pane = self._pane
        attempt, log_bytes, now_ms = pane.shown, pane.log_view.facts.size, pane.host.clock.awake_ms()
        wanted = (attempt, log_bytes)
        if attempt is None or self._asked_of == wanted or self.form is Times.NONE or not log_bytes:
            return
        if self._asked_of[0] == attempt and now_ms - self._asked_ms < _AGAIN_MS:
            return
        self._asked_ms, self._asked_of = now_ms, wanted
        pane.errand(
            "when lines were written",
            lambda client: client.log_times(pane.run_id, attempt),
            self._came,
            lambda _: None,
            "log times",
        )

    def _came(self, answer: Json) -> None:
        if answer["attempt"] != self._pane.shown or self.form is Times.NONE:
            return
        attempt, host = self._pane.attempt(), self._pane.host
        begun = attempt and (attempt["started_at"] or attempt["claimed_at"])
        if not begun and self.form is Times.SINCE:  # the log came before the run: asked for again when both are there
            self.forget()
            return
        stamp = logline.stamp(self.form, host.when, host.feed.now_ms(), milliseconds(begun) if begun else 0)
        times = [(int(offset), milliseconds(at)) for offset, at in answer["items"]]
        self._pane.log_view.set_gutter(Gutter(times, stamp))
