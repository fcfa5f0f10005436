"""Where a log is to be saved: a path is typed, what is there already is not written over unasked."""

from shlex import quote
from typing import Any

from textual.widget import Widget
from textual.widgets import Input

from jobctl.errors import InvalidInput
from jobctl.reading.safe import cell
from jobctl_tui.live.logfile import Which, name_of, place
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.lines import Line
from jobctl_tui.widgets.typed import Typed


class SaveLog(Ask):
    """Is left with the path, or with None."""

    def __init__(self, which: Which, folder: str) -> None:
        """`folder` is what a path without a `/` in front is below."""
        super().__init__("Save the log", (), "Save", "enter", "jobctl log")
        self._field = Typed(f"~/{name_of(which)}", id="path", compact=True, select_on_focus=False)
        self._which = which
        self._folder = folder
        self._path = ""
        self._trouble = ""

    def fields(self) -> tuple[Widget, ...]:
        return (self._field,)

    def on_mount(self) -> None:
        self.call_after_refresh(self.set_focus, self._field)

    def facts(self) -> list[Line]:
        lines: list[Line] = [[("As it was written, byte for byte; nobody else can read the file.", "-dim")]]
        return [*lines, [(cell(self._trouble), "-failed")]] if self._trouble else lines

    def cli_form(self) -> str:
        attempt = f" --attempt {self._which.attempt}" if self._which.attempt is not None else ""
        return f"jobctl log {self._which.run_id}{attempt} > {quote(self._path or name_of(self._which))}"

    def answer(self) -> Any:
        return self._path

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "path":
            self._look(event.value)
            self.renew()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "path":
            self._look(event.value)
            self.renew()
            if not self._trouble:
                self.do()

    def _look(self, typed: str) -> None:
        try:
            self._path, self._trouble = place(typed, self._which, self._folder), ""
        except InvalidInput as error:
            self._trouble = f"{error.message}: {error.hint}"
