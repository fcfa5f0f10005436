"""Pausing jobs until a time, and saying why: the reason stands wherever the job is shown."""

from collections.abc import Iterable, Sequence
from shlex import join
from typing import Final

from textual import events
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from jobctl.reading.safe import cell
from jobctl_tui.live.aim import Aim, called
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.lines import Line, Lines
from jobctl_tui.widgets.typed import Typed

Answer = tuple[str | None, str | None]

_SHOWN: Final = 4


class PauseUntil(Ask):
    """Answers with until when, and why; both may be left out. Enter in a field goes on to the next, then does it."""

    DEFAULT_CSS = """
    PauseUntil .ask-field { height: 1; }
    PauseUntil .ask-field Lines { width: 8; height: 1; }
    PauseUntil .ask-field Input { height: 1; border: none; padding: 0; }
    """

    def __init__(self, aims: Sequence[Aim]) -> None:
        self._aims = list(aims)
        self._until, self._why = (Typed(id=name, compact=True, select_on_focus=False) for name in ("until", "why"))
        facts: list[Line] = [
            [("What runs goes on; times that pass are recorded as skipped.", "")],
            [("Until: 2h, 06:00, 2026-12-24; empty: until somebody resumes it.", "-dim")],
        ]
        super().__init__(f"Pause {called(self._aims)}", facts, "Pause", "p", cli="jobctl pause")

    def fields(self) -> Iterable[Widget]:
        for field, words in ((self._until, "Until"), (self._why, "Why")):
            label = Lines()
            label.show([[(words, "-dim")]])
            yield Horizontal(label, field, classes="ask-field")

    def on_mount(self, event: events.Mount | None = None) -> None:
        """Somebody who asked for more than `p` is going to type."""
        if event is not None:
            event.prevent_default()  # else the question's own comes behind, and takes the focus
        super().on_mount()
        self.set_focus(self._until)

    def answer(self) -> Answer:
        return self._until.value.strip() or None, self._why.value.strip() or None

    def _how(self) -> Line:
        return [("Enter ", "-key"), ("goes on, and behind the reason pauses", "-dim")]

    def cli_form(self) -> str:
        until, why = self.answer()
        names = [aim.name for aim in self._aims[:_SHOWN]]
        more = " …" if len(self._aims) > _SHOWN else ""
        options = [*(["--until", until] if until else []), *(["--why", why] if why else [])]
        return cell(join(["jobctl", "pause", *names, *options])) + more

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.renew()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "until":
            self.set_focus(self._why)
        else:
            self.do()
