"""Giving dead letters up: they stay in the history, and cannot be replayed any more."""

from collections.abc import Iterable, Sequence
from shlex import join
from typing import Final

from textual.widget import Widget

from jobctl.reading.safe import cell
from jobctl_tui.live.burial import Gathered
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.fields import Edited, Entered, FieldBox
from jobctl_tui.screens.lines import Line
from jobctl_tui.screens.replay import field, which
from jobctl_tui.words import dead as words
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When

_SHOWN: Final = 6


class Discard(Ask):
    """Answers with why, which may be empty."""

    def __init__(self, found: Gathered, glyphs: Glyphs, when: When, now_ms: int) -> None:
        self._found = found
        self._glyphs = glyphs
        self._why = ""
        facts: list[Line] = [
            *which(found, when, now_ms),
            [],
            [("They stay in the history. Nobody can replay them.", "")],
        ]
        super().__init__(
            f"Discard {words.count_words(len(found.runs))}", facts, "Discard", "x", cli="jobctl dlq discard"
        )

    def fields(self) -> Iterable[Widget]:
        yield FieldBox(field("why", "Why", empty="kept with them"), "", self._glyphs)

    def on_edited(self, event: Edited) -> None:
        event.stop()
        self._why = event.text.strip()
        self.renew()

    def on_entered(self, event: Entered) -> None:
        event.stop()

    def answer(self) -> str:
        return self._why

    def cli_form(self) -> str:
        ids: Sequence[str] = [str(ident) for ident in self._found.ids[:_SHOWN]]
        more = " …" if len(self._found.ids) > _SHOWN else ""
        why = f" {cell(join(['--why', self._why]))}" if self._why else ""
        return cell(join(["jobctl", "dlq", "discard", *ids])) + more + why
