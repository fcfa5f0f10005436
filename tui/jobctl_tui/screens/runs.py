"""The runs: those that are active, then those that have ended, newest first, and the last lines of the one under the
cursor. New ones come in above it; the cursor stays with its run."""

from typing import Any, ClassVar, Final

from textual.app import ComposeResult

from jobctl.reading.safe import cell
from jobctl_tui.actions import Action
from jobctl_tui.live.aim import Aim
from jobctl_tui.live.sources import Runs
from jobctl_tui.live.tails import Tails
from jobctl_tui.live.window import Dirty, Window
from jobctl_tui.screens.empty import Empty, no_match, no_runs
from jobctl_tui.screens.lines import Line
from jobctl_tui.screens.listing import Listing
from jobctl_tui.screens.peek import Peek
from jobctl_tui.screens.rest import Rest
from jobctl_tui.screens.runacting import RunActs, aim_of, label_of
from jobctl_tui.screens.runlist import COLUMNS, RunRows
from jobctl_tui.widgets.vtable import VTable
from jobctl_tui.words import run as words

Json = dict[str, Any]

#: Filters that find what most people look for.
TRY: Final = ("state:failed,dead", "state:active", "name:backup* last<1d", "exit:1 dur>5m")
_TALL: Final = 34


class RunsTab(Listing):
    """`jobctl_tui.host.Pane`."""

    DEFAULT_CSS: ClassVar[str] = """
    RunsTab Empty { display: none; }
    RunsTab.-empty VTable, RunsTab.-empty Peek { display: none; }
    RunsTab.-empty Empty { display: block; }
    RunsTab Peek.-log { height: 9; }
    Screen.-low RunsTab Peek { display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._rest = Rest(self, self._read)
        self.acts = RunActs(self)
        self.empty = Empty()

    def compose(self) -> ComposeResult:
        host = self.host
        self.window = Window(Runs(), host.errands, host.clock, self.came)
        self.tails = Tails(host.errands, host.clock, lambda _: self.peek())
        self.rows = RunRows(self.window, host)
        self.table = VTable(self.rows, COLUMNS, host.glyphs)
        self.strip = Peek(host.glyphs)
        yield self.table
        yield self.empty
        yield self.strip
        yield self.bar

    def on_mount(self) -> None:
        self._fit()
        self.window.ask()

    # ── Pane ───────────────────────────────────────────────
    def tick(self) -> None:
        if not self.is_mounted:
            return
        for index in self.rows.differing():
            self.table.refresh_rows(index, 1)
        self.peek()
        self._read()

    def subject(self) -> str:
        run = self.current()
        return "" if run is None else str(run["id"])

    def about(self) -> str:
        """`7 active · 1 318 runs · state:failed`, and how many are marked."""
        total = self.window.total
        parts = [f"{self.rows.active} active", f"{total:,} run{'' if total == 1 else 's'}".replace(",", " ")]
        parts += [f"{len(self.table.marks)} marked"] if self.table.marks else []
        if self.query_text:
            parts.append(cell(self.query_text))
        return f" {self.host.glyphs.dot} ".join(parts)

    # ── Listing ────────────────────────────────────────────
    def aim(self, row: Json) -> Aim:
        return aim_of(row)

    def ask(self) -> None:
        self.window.ask(q=self.query_text or None)

    def came(self, dirty: Dirty) -> None:
        super().came(dirty)
        if not self.is_mounted:
            return
        lines = self._instead()
        self.set_class(bool(lines), "-empty")
        if lines:
            self.empty.show(lines)

    def _instead(self) -> list[Line]:
        """What stands in the place of a list that has no rows, or could not be read; nothing when there are rows."""
        window = self.window
        if not window.known and window.error is not None:
            error = window.error
            return [
                [("The runs cannot be read.", "-failed")],
                [],
                [(cell(error.message), "")],
                [(cell(error.hint), "-dim")],
            ]
        if not window.known or window.total or window.loading:
            return []
        jobs = int(((self.host.feed.status or {}).get("jobs") or {}).get("total") or 0)
        return no_match(self.query_text, TRY) if self.query_text else no_runs(jobs=jobs)

    def on_vtable_moved(self, event: VTable.Moved) -> None:
        """Besides what `Listing` does (Textual calls both)."""
        event.stop()
        if event.key is not None:
            self._rest.on(event.key)

    def on_resize(self) -> None:
        self._fit()

    # ── RunActs ────────────────────────────────────────────
    def run_of(self, aim: Aim) -> Json | None:
        return self.window.find(aim.id)

    def acted(self) -> None:
        """Something was done to what is marked: it is not marked any more."""
        super().acted()
        if self.table.marks:
            self.table.clear_marks()

    def again(self, run_id: int) -> None:
        """A new run was made: it comes in where it belongs, and is not in anybody's way."""

    # ── the strip below ────────────────────────────────────
    def _fit(self) -> None:
        self.strip.set_class(self.screen.size.height >= _TALL, "-log")
        self.call_after_refresh(self.peek)

    def _read(self) -> None:
        """The end of the log, of a run that has one."""
        run = self.current()
        if run is not None and self.host.feed.link.reached:
            self.tails.want(run)

    def peek(self) -> None:
        if not self.is_mounted:
            return
        host, run = self.host, self.current()
        peek = self.strip
        if run is None:
            gone = "" if self.window.total == 0 else "this run is gone; move to choose another"
            peek.tell("", [[(gone, "-dim")]])
            return
        room = max(1, peek.size.height - 1)
        peek.tell(words.title(run, host.glyphs, host.feed.now_ms()), self._below(run, room))

    def _below(self, run: Json, room: int) -> list[Line]:
        """The last lines of its log, or why it has none; of one that runs, how long that usually takes."""
        host, now_ms = self.host, self.host.feed.now_ms()
        usual = words.usual(run, run, None, host.glyphs, now_ms) if run["state"] == "running" and room > 2 else ""
        reason, style = words.why(run, host.glyphs, now_ms)
        last: list[Line] = [[(f" {usual}", "-late" if words.is_slow(run, now_ms) else "-dim")]] if usual else []
        said = self.tails.of(run) or ()
        lines: list[Line] = [[(f" {line}", "")] for line in said[-(room - len(last)) :]]
        if reason and (room > 2 or not lines):
            lines = [[(f" {reason}", style)], *lines[-(room - len(last) - 1) :]]
        if not lines:
            lines = [[(" It has printed nothing." if int(run["attempt"]) else f" {words.no_log(run, now_ms)}", "-dim")]]
        return [*lines, *last]

    def row_label(self, action: Action) -> str | None:
        return label_of(action, self.current(), marked=len(self.table.marks))

    # ── keys ───────────────────────────────────────────────
    def go_to(self, run_id: int) -> None:
        self.choose()
        self.window.around(run_id)
        self.table.go_to(run_id)

    def act_mark_all(self) -> None:
        """Those that are here: what is marked can be seen."""
        if self.table.marks:
            self.table.clear_marks()
            return
        keys = (self.rows.key(index) for index in range(self.rows.count))
        self.table.mark(key for key in keys if key is not None)

    def act_open(self) -> None:
        run = self.current()
        if run is not None:
            self.host.open_run(int(run["id"]))

    def act_runs_log(self, *typed: str) -> None:
        """With words, as a command: of the run of that number, else of those that a filter finds."""
        if not typed:
            self.act_open()
        elif typed[0].isascii() and typed[0].isdigit():
            self.host.open_run(int(typed[0]))
        else:
            self.look_for(" ".join(typed))

    def act_runs_job(self) -> None:
        run = self.current()
        if run is not None:
            self.host.go_to_job(int(run["job_id"]))

    def act_runs_kill(self, *ids: str) -> None:
        self.acts.kill(*ids)

    def act_runs_cancel(self, *ids: str) -> None:
        self.acts.cancel(*ids)

    def act_runs_retry(self, *ids: str) -> None:
        self.acts.retry(*ids)
