"""What is the same of every list that lies at the daemon: moving, marks, the filter, rows that keep their places under
a key, and that what is meant is known by its id (F144)."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, cast

from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen

from jobctl_tui.actions import Action
from jobctl_tui.host import Host
from jobctl_tui.live.aim import Aim
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.window import Dirty, Window
from jobctl_tui.screens.filterbar import FilterBar
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.moving import Moving
from jobctl_tui.widgets.vtable import VTable

Json = dict[str, Any]

#: After a key the order stays as it is for so long: the next key is meant for what is seen now.
HOLD_MS: Final = 2_000
#: What keys do while a filter is typed.
TYPING: Final = {"back": "As before", "quit": "Quit"}
#: A list that has just come to the front is at its top, until its newest order is here or a key chooses a row.
ENTERED_S: Final = 1.0
#: Who has not pressed a key for so long was not doing anything to a row.
IDLE_MS: Final = 10_000


class Listing(Moving, Vertical):
    """`jobctl_tui.host.Pane`. Whoever derives from it composes `window`, `table` and `bar`."""

    DEFAULT_CSS: ClassVar[str] = "Listing { height: 1fr; }"

    window: Window
    table: VTable

    class Counted(Message):
        """There are other rows than before."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.bar = FilterBar()
        self.query_text = ""
        self._named: dict[int, Aim] = {}
        self._questions = 0
        self._anew = False
        """Another filter holds, and its rows have not come yet."""
        self._entering = True
        """Nobody has chosen a row yet: the cursor is on the first."""
        self._chosen = False
        self._key_ms = 0

    # ── what is its own of each list ───────────────────────
    def aim(self, row: Json) -> Aim:
        """What a row is called."""
        raise NotImplementedError

    def differing(self) -> Iterable[int]:
        """Keys of rows that would say something else by now."""
        raise NotImplementedError

    def peek(self) -> None:
        """Another row is under the cursor, or it says something else."""
        raise NotImplementedError

    def ask(self) -> None:
        """Another filter holds: `query_text`."""
        raise NotImplementedError

    def row_label(self, action: Action) -> str | None:  # noqa: ARG002 - of those that have something to say
        """As `label` of a pane, while nobody types."""
        return None

    def values(self) -> dict[str, list[str]]:
        """Of keys of a filter that can be anything, what there is."""
        return {}

    # ── Pane ───────────────────────────────────────────────
    @property
    def host(self) -> Host:
        return cast("Host", self.app)

    def on_show(self) -> None:
        """At its top, unless somebody has chosen a row that is still there."""
        self.window.resting = False
        self._key_ms = self.host.clock.awake_ms() - IDLE_MS
        if not self._chosen or self._is_lost():
            self._entering, self._chosen = True, False
            self.table.to_first()
            self.set_timer(ENTERED_S, self._entered)

    def _entered(self) -> None:
        self._entering = False

    def choose(self) -> None:
        """A row is chosen: the list does not begin at its top any more."""
        self._entering, self._chosen = False, True

    def _is_lost(self) -> bool:
        """The cursor's row is gone, and nothing else was meant."""
        return self.table.cursor_key is None and not self.table.marks

    def _is_idle(self) -> bool:
        return not self.window.hold and self.host.clock.awake_ms() - self._key_ms >= IDLE_MS

    def changed(self, changes: Changes) -> None:
        """A list that is behind another is read when it comes to the front."""
        self.window.resting = not self.display
        self.window.touch(changes)
        if changes.reset:
            self.table.refresh_all()
            self.peek()

    def tick(self) -> None:
        self.table.refresh_keys(self.differing())
        self.peek()

    def subject(self) -> str:
        row = self.current()
        return "" if row is None else self.aim(row).name

    @property
    def has_come(self) -> bool:
        """Whether there is something to show: rows, that there are none, or why they are not known."""
        return self.is_mounted and (self.window.known or self.window.error is not None)

    def label(self, action: Action) -> str | None:
        """While a filter is typed only what helps then."""
        return TYPING.get(action.id, "") if self.bar.is_open else self.row_label(action)

    # ── what is meant ──────────────────────────────────────
    def current(self) -> Json | None:
        """The row that is highlighted; None when it is gone."""
        key = self.table.cursor_key
        return None if key is None else self.window.find(key)

    def aims(self) -> list[Aim]:
        """The marked rows, also those that are far away by now; else the one under the cursor."""
        if self.table.marks:
            return [self._named.get(key, Aim(key, str(key))) for key in sorted(self.table.marks)]
        row = self.current()
        return [] if row is None else [self.aim(row)]

    def marked(self) -> str:
        """`2 marked`; empty: none is."""
        return f"{len(self.table.marks)} marked" if self.table.marks else ""

    def put(self, dialog: ModalScreen[Any], answered: Callable[[Any], None]) -> None:
        """Asks; rows keep their places until there is an answer. None is none."""

        def over(answer: Any) -> None:
            self._questions -= 1
            self.hold()
            if answer is not None:
                answered(answer)

        self._questions += 1
        self.hold()
        self.app.push_screen(dialog, over)

    def hold(self) -> None:
        """Rows keep their places while somebody chooses among them."""
        self.window.hold = bool(self.table.marks) or self.bar.is_open or self._questions > 0

    # ── what has changed ───────────────────────────────────
    def came(self, dirty: Dirty) -> None:
        """The window has other rows."""
        if not self.is_mounted:
            return
        if dirty.all:
            self.table.refresh_all()
            self.post_message(self.Counted())
        else:
            self.table.refresh_keys(dirty.keys)
        if self._anew and not self.window.loading:
            self._anew = False
            self.table.to_first()
        elif dirty.all and (self._entering or (self._is_lost() and self._is_idle())):
            self.table.to_first()
        if dirty.all or self.table.cursor_key in dirty.keys:
            self.peek()

    def on_vtable_moved(self, event: VTable.Moved) -> None:
        event.stop()
        self.window.cursor = event.key
        self._chosen = self._chosen or (event.key is not None and not self._entering)
        self.peek()
        self.relabel()

    def relabel(self) -> None:
        """What keys do to the row under the cursor may be called otherwise."""
        if self.display and isinstance(self.screen, Framed):
            self.screen.renew_lines()

    def acted(self) -> None:
        """Something was done here: the order is taken over at once, not when the next key is on its way."""
        self.window.reorder()

    def on_vtable_marked(self, event: VTable.Marked) -> None:
        event.stop()
        for key in self.table.marks:
            row = self.window.find(key)
            if row is not None:
                self._named[key] = self.aim(row)
        self.hold()
        self.peek()

    def on_vtable_opened(self, event: VTable.Opened) -> None:
        event.stop()
        self.act_open()

    def on_key(self) -> None:
        self._entering = False
        self._key_ms = self.host.clock.awake_ms()
        self.window.hold_for(HOLD_MS)

    # ── keys ───────────────────────────────────────────────
    def act_open(self) -> None:
        raise NotImplementedError

    def act_mark(self) -> None:
        self.choose()
        self.table.toggle_mark()

    def act_mark_range(self) -> None:
        self.choose()
        self.table.mark_range()

    def act_resort(self) -> None:
        self.window.reorder()

    def look_for(self, text: str) -> None:
        """That filter holds, and the cursor is on its first row."""
        self.query_text = text
        self._anew = True
        self.ask()

    def act_filter(self, *typed: str) -> None:
        """With words, as a command: at once."""
        if typed:
            self.look_for(" ".join(typed))
            return
        self.bar.open(self.query_text, self.values())
        self.hold()
        self.relabel()

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        event.stop()
        self.look_for(event.text)

    def on_filter_bar_closed(self, event: FilterBar.Closed) -> None:
        event.stop()
        self.screen.set_focus(self.table)  # at once, for the keys that are shown below
        self.hold()
        self.relabel()

    def act_back(self) -> bool:
        """One step: the marks, then the filter. False: there is nothing to go back from."""
        if self.table.marks:
            self.table.clear_marks()
        elif self.query_text:
            self.look_for("")
        else:
            return False
        return True
