"""How many runs of a queue may run at once: asked for with the number that it is now."""

from collections.abc import Iterable
from shlex import join
from typing import Any

from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from jobctl.reading.safe import cell
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.lines import Lines
from jobctl_tui.widgets.typed import Typed

Json = dict[str, Any]


class Limit(Ask):
    """Answers with a one-tuple of the number, or of None for no limit but the slots."""

    DEFAULT_CSS = """
    Limit .ask-field { height: 1; margin-bottom: 1; }
    Limit .ask-field Lines { width: 12; height: 1; }
    Limit .ask-field Input { height: 1; border: none; padding: 0; }
    """

    def __init__(self, queue: Json) -> None:
        self._queue = queue
        now = "none" if queue["concurrency"] is None else str(queue["concurrency"])
        self._number = Typed(now, id="limit", compact=True)
        facts = [
            [(f"{queue['running']} running, {queue['ready']} ready. What runs goes on.", "")],
            [("A number from 1 on; none: as many as there are slots.", "-dim")],
        ]
        super().__init__(f"Limit of the queue {queue['name']}", facts, "Set", "enter", cli="jobctl queue set")

    def fields(self) -> Iterable[Widget]:
        label = Lines()
        label.show([[("At once", "-dim")]])
        yield Horizontal(label, self._number, classes="ask-field")

    def on_mount(self) -> None:
        """Textual calls that of `Ask` too, which gives the keys to Cancel."""
        self.call_after_refresh(self.set_focus, self._number)

    def cli_form(self) -> str:
        return cell(join(["jobctl", "queue", "set", str(self._queue["name"]), "--concurrency", self._written() or "N"]))

    def answer(self) -> tuple[int | None]:
        written = self._written()
        return (None if written == "none" else int(written),)

    def do(self) -> None:
        """Nothing, while there is no number."""
        if self._written() == "none" or (self._written().isascii() and self._written().isdigit() and self.answer()[0]):
            super().do()

    def _how(self) -> list[tuple[str, str]]:
        return [("Set it: press ", ""), ("Enter", "-key")]

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.renew()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.do()

    def _written(self) -> str:
        return self._number.value.strip()
