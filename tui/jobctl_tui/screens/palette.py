"""Commands by name, with arguments, and each with its form on the command line: `:pause tag:pg`, `:log backup-db`."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from jobctl.client.sync import Client
from jobctl.reading.safe import cell
from jobctl.reading.width import cut, width
from jobctl_tui.actions import Action, Scope
from jobctl_tui.screens.lines import Line, Lines
from jobctl_tui.screens.once import Once
from jobctl_tui.widgets.keybar import KeyBar
from jobctl_tui.widgets.typed import Typed
from jobctl_tui.words.keys import shown
from jobctl_tui.words.palette import SHOWN, Entry, Offer, entries, jobs

#: So much must be typed before jobs are looked for.
_LETTERS_MIN: Final = 2
_JOBS: Final = 6
#: From this width on the form on the command line stands beside.
_BESIDE: Final = 60
_KEY: Final = 4
_KEYS: Final = (
    Action("palette.do", ("enter",), "Do it", Scope.EVERYWHERE, "", 1),
    Action("palette.cli", ("tab",), "Show command", Scope.EVERYWHERE, "", 2),
    Action("palette.copy", ("ctrl+y",), "Copy command", Scope.EVERYWHERE, "", 3),
    Action("palette.close", ("escape",), "Close", Scope.EVERYWHERE, "", 0),
)


class Palette(Once[Any], ModalScreen[Any]):
    """Is left with the `Entry` that was chosen, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, offers: Sequence[Offer], subjects: Sequence[str], typed: str = "") -> None:
        super().__init__()
        self._offers = offers
        self._subjects = subjects
        self._typed = typed
        self._entries: list[Entry] = []
        self._jobs: list[Entry] = []
        self._at = 0
        self._first = 0
        self._with_cli = False
        self._field = Typed(typed, id="command", compact=True, select_on_focus=False)
        self._stroke, self._listed = Lines(classes="palette-rule"), Lines(classes="palette-list")

    def compose(self) -> ComposeResult:
        with Vertical(id="palette") as box:
            box.border_title = Content("Commands")
            yield self._field
            yield self._stroke
            yield self._listed
        yield KeyBar(_KEYS, self.host.glyphs, id="keys")

    def on_mount(self) -> None:
        self.set_focus(self._field)
        self._offer()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    # ── what is offered ──────────────────────────────────────────
    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == self._typed:
            return
        self._typed = event.value
        self._at = self._first = 0
        self._look_for_jobs()
        self._offer()

    def _look_for_jobs(self) -> None:
        """Of what is typed, or of its last word: `log back`."""
        words = self._typed.split()
        if not words or len(words[-1]) < _LETTERS_MIN or not self.host.feed.link.reached:
            self._jobs = []
            return
        name = words[-1]

        def ask(client: Client) -> list[tuple[int, str]]:
            page = client.jobs_window(limit=_JOBS, sort="name", q=f"name:*{name}*")
            return [(int(job["id"]), str(job["name"])) for job in page["items"]]

        self.errand("look for jobs", ask, self._found_jobs, lambda _: self._found_jobs(()), "palette")

    def _found_jobs(self, found: Sequence[tuple[int, str]]) -> None:
        self._jobs = jobs(found)
        self._offer()

    def _offer(self) -> None:
        self._entries = [*entries(self._typed, self._offers, self._subjects), *self._jobs]
        self._show()

    # ── what it looks like ───────────────────────────────────────
    def _show(self) -> None:
        room = max(1, min(SHOWN, self.size.height - 7))
        self._first = min(max(self._first, self._at - room + 1), self._at)
        columns = self._listed.content_size.width or self.size.width - 4
        part = self._entries[self._first : self._first + room]
        lines = [self._line(entry, self._first + row == self._at, columns) for row, entry in enumerate(part)]
        self._listed.styles.height = max(1, len(lines))
        self._listed.show(lines or [[("nothing is called so", "-dim")]])
        self._stroke.show([[(self.host.glyphs.rule * columns, "-rule")]])

    def _line(self, entry: Entry, here: bool, columns: int) -> Line:
        glyphs = self.host.glyphs
        key = shown(entry.action.keys[0], glyphs) if entry.action is not None and entry.action.keys else ""
        cli = cell(entry.cli) if self._with_cli or columns >= _BESIDE else ""
        cli = cut(cli, columns - 14 if self._with_cli else columns // 2 - 4, glyphs.ellipsis)
        right = f"{cli}  {key.rjust(_KEY)}" if cli else key.rjust(_KEY)
        left = cut(cell(entry.words), columns - width(right) - 3, glyphs.ellipsis)
        gap = " " * max(1, columns - width(left) - width(right) - 1)
        return [
            (glyphs.cursor if here else " ", "-key"),
            (left, "-bold" if here else ""),
            (gap, ""),
            (right[: len(right) - len(key)], "-dim"),
            (key, "-key"),
        ]

    # ── what keys do ─────────────────────────────────────────────
    def takes(self, event: events.Key) -> bool:
        moves = {"down": 1, "up": -1, "ctrl+n": 1, "ctrl+p": -1, "pagedown": SHOWN, "pageup": -SHOWN}
        if event.key in moves:
            self._at = min(max(0, self._at + moves[event.key]), max(0, len(self._entries) - 1))
            self._show()
        elif event.key == "escape":
            self.dismiss(None)
        elif event.key == "tab":
            self._with_cli = not self._with_cli
            self._show()
        elif event.key == "ctrl+y":
            self._copy()
        elif event.key == "enter":
            self._take()
        elif event.character is not None and event.is_printable:  # typed before the field was there
            self._field.insert_text_at_cursor(event.character)
        else:
            return False
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The field obeys Enter in its turn, behind what was typed before."""
        event.stop()
        self._take()

    def _take(self) -> None:
        """What is typed counts, also what has not been looked at yet."""
        if self._field.value != self._typed:
            self._typed, self._at, self._jobs = self._field.value, 0, []
            self._offer()
        if self._entries:
            self.dismiss(self._entries[self._at])

    def _copy(self) -> None:
        cli = self._entries[self._at].cli if self._entries else ""
        if cli:
            self.host.copy(cli, "the command")
        else:
            self.host.say("it has no form on the command line")

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        event.stop()
        self.post_message(events.Key(event.action.keys[0], None))
