"""One run: what it is at and why, its attempts side by side, and its log as it is written."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

from textual.screen import ModalScreen
from textual.widget import Widget

from jobctl.errors import InvalidInput, JobctlError, NotFound
from jobctl.reading.runs import first_line
from jobctl.reading.safe import cell
from jobctl.reading.sheet import editor
from jobctl_tui.actions import Action, Scope
from jobctl_tui.live import runfacts
from jobctl_tui.live.aim import Aim
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.log import LogPages
from jobctl_tui.live.logfile import Which
from jobctl_tui.live.runfacts import Facts
from jobctl_tui.screens import aroundlog
from jobctl_tui.screens.copying import Choice, CopyWhat
from jobctl_tui.screens.elsewhere import Elsewhere
from jobctl_tui.screens.factsheet import FactSheet
from jobctl_tui.screens.findbar import FindBar
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.itsjob import ItsJob
from jobctl_tui.screens.lines import Line, Lines, rule
from jobctl_tui.screens.linetimes import LineTimes
from jobctl_tui.screens.outside import pager
from jobctl_tui.screens.runacting import RunActs, aim_of, label_of
from jobctl_tui.widgets.logview import LogView
from jobctl_tui.words import run as words
from jobctl_tui.words import runhead
from jobctl_tui.words.rundetails import details
from jobctl_tui.words.runhead import Room

Json = dict[str, Any]

#: Lines of a screen from which on there is room for more than one bar, and for what stands below the log.
_SMALL: Final = 18
_TALL: Final = 30
#: Columns that a line is moved sideways by.
_ASIDE: Final = 16


class RunScreen(Framed):
    """`jobctl_tui.host.Pane`."""

    SCOPES = (Scope.RUN, Scope.EVERYWHERE)
    DEFAULT_CSS: ClassVar[str] = """
    RunScreen > Lines { height: 1; }
    RunScreen > #above { height: auto; }
    RunScreen > FactSheet { display: none; }
    RunScreen.-details > FactSheet { display: block; }
    RunScreen.-details > LogView { display: none; }
    RunScreen > #foot { display: none; }
    RunScreen.-tall > #foot { display: block; }
    """

    log_view: LogView

    def __init__(self, run_id: int, find: str | None = None) -> None:
        """`find` is looked for in the log, from its end."""
        super().__init__()
        self.run_id = run_id
        self.known: Facts | None = None
        self.acts = RunActs(self)
        self._find = find
        self._gone = ""
        self._chosen: int | None = None
        """The attempt that was asked for; None: the newest."""
        self.shown: int | None = None
        """The attempt whose log is below."""
        self._job, self._times, self._elsewhere = ItsJob(self), LineTimes(self), Elsewhere(self)
        self._pages: LogPages | None = None
        self._headline, self._above, self._logrule = Lines(id="headline"), Lines(id="above"), Lines(id="logrule")
        self._sheet, self._bar = FactSheet(), FindBar()
        self._below, self._foot = Lines(id="state"), Lines(id="foot")

    def body(self) -> Iterable[Widget]:
        self.log_view = LogView(self.host.errands, self.host.glyphs, wrap=True)
        above = (self._headline, self._above, self._logrule)
        return *above, self.log_view, self._sheet, self._bar, self._below, self._foot

    def on_mount(self) -> None:
        self._read()
        self._open_log(None)
        self.log_view.focus()

    def on_unmount(self) -> None:
        if self._pages is not None:
            self._pages.close()

    # ── what is known of it ────────────────────────────────
    def _read(self) -> None:
        known = self.known
        self.errand(
            f"run {self.run_id}",
            lambda client: runfacts.read(client, self.run_id, known),
            self._came,
            self._failed,
            group=f"run {self.run_id}",
        )

    def _came(self, facts: Facts) -> None:
        if self.known is None:
            self._job.read(facts.run)
        self.known, self._gone = facts, ""
        newest = int(facts.run["attempt"])
        if self._chosen is None and self.shown is not None and newest > self.shown:
            self._open_log(None)
        if self._pages is not None:
            self._pages.wake()
        self._tell()

    def _failed(self, error: JobctlError) -> None:
        """While the daemon is away what was known stays; the status line says that it is old."""
        if isinstance(error, NotFound):
            self._gone = f"There is no run {self.run_id}: {error.message}"
            self._tell()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """None before there is anything to act on."""
        return super().scopes if self._here() else ()

    def _here(self) -> bool:
        """False: it comes, or it goes."""
        return self.is_mounted and self.display

    # ── Pane ───────────────────────────────────────────────
    def changed(self, changes: Changes) -> None:
        super().changed(changes)
        if changes.reset:
            self._times.forget()  # in another zone, perhaps
        if changes.reset or self.run_id in changes.runs:
            self._read()
        if self.known is not None and (changes.reset or int(self.known.run["job_id"]) in changes.jobs):
            self._job.read(self.known.run)
        if changes.link:
            self._tell()

    def tick(self) -> None:
        super().tick()
        if self._here():
            self._times.read()
            self._tell()

    def subject(self) -> str:
        return str(self.run_id)

    def label(self, action: Action) -> str | None:
        if action.id in ("run.pause", "run.edit"):
            return self._job.label(action)
        return label_of(action, self.known.run if self.known is not None else None)

    # ── RunActs ────────────────────────────────────────────
    def aims(self) -> list[Aim]:
        return [Aim(self.run_id, f"run {self.run_id}") if self.known is None else aim_of(self.known.run)]

    def run_of(self, aim: Aim) -> Json | None:
        return self.known.run if self.known is not None and aim.id == self.run_id else None

    def put(self, dialog: ModalScreen[Any], answered: Callable[[Any], None]) -> None:
        self.app.push_screen(dialog, lambda answer: None if answer is None else answered(answer))

    def acted(self) -> None:
        self._read()

    def again(self, run_id: int) -> None:
        """A new run was made of this one: it is shown, and the way back leads here."""
        if not self.has_gone:
            self.host.open_run(run_id)

    # ── which log ──────────────────────────────────────────
    def _open_log(self, attempt: int | None) -> None:
        host = self.host
        if self._pages is not None:
            self._pages.close()
        self._pages = LogPages(self.run_id, attempt, host.connect, host.errands, host.post, lambda: None)
        self.log_view.show(self._pages)
        self._pages.start()
        self._times.forget()

    def on_log_view_told(self, event: LogView.Told) -> None:
        event.stop()
        state = event.view.facts.state
        if state.attempt is not None and state.attempt != self.shown:
            self.shown = state.attempt
            self._times.forget()
        if self._find and state.state in ("live", "done") and event.view.facts.size:
            wanted, self._find = self._find, None
            self._look_for(wanted, backward=True)
        self._times.read()
        self._tell()

    def attempt(self) -> Json | None:
        """Whose log is below."""
        attempts = self.known.attempts if self.known is not None else ()
        return next((attempt for attempt in attempts if attempt["attempt"] == self.shown), None)

    # ── what is said ───────────────────────────────────────
    def on_resize(self) -> None:
        self.set_class(self.size.height >= _TALL, "-tall")
        self.call_after_refresh(self._tell)

    def _tell(self) -> None:
        if not self._here():
            return
        host, view = self.host, self.log_view
        columns, now_ms = self.size.width, host.feed.now_ms()
        stroke = host.glyphs.rule
        if self.known is None:
            self._head([[(f" {host.glyphs.back} run {self.run_id}", "-bold")]], [[(f" {cell(self._gone)}", "-failed")]])
            return
        facts = self.known
        above = runhead.above(facts, self.shown, host.glyphs, host.when, now_ms, Room(columns, self._bars()))
        head = [runhead.headline(facts, host.glyphs, now_ms, columns)]
        self._head(head, above if self.size.height >= _SMALL else [self._one_line(above[0])])
        attempt = self.attempt()
        dropped = int(attempt["log_dropped"]) if attempt is not None else 0
        title = aroundlog.above(view.facts, self.shown, dropped, host.glyphs)
        title = "everything known" if self.has_class("-details") else title
        self._logrule.show([rule(title, columns, stroke)])
        state = aroundlog.below(view.facts, words.is_active(facts.run), self._times.form, host.glyphs)
        self._below.show([rule(state, columns, stroke)])
        self._foot.show([[(f" {words.identity(facts.run, facts.work, host.glyphs)}", "-dim")]])
        view.set_ending(aroundlog.ending(attempt, host.glyphs))
        if self.has_class("-details"):
            viewer = host.when.viewer(now_ms)
            self._sheet.show(details(facts, viewer, host.glyphs, columns - 2))

    def _one_line(self, times: Line) -> Line:
        """What a low screen has room for above the log: why, where that is to be said; else when."""
        assert self.known is not None
        reason, style = words.why(self.known.run, self.host.glyphs, self.host.feed.now_ms())
        return [(f" {reason}", style)] if reason else times

    def _head(self, headline: Sequence[Line], above: Sequence[Line]) -> None:
        self._headline.show(headline)
        self._above.styles.height = len(above)
        self._above.show(above)

    def _bars(self) -> int:
        """Lines for bars: a quarter of the screen."""
        return max(1, min(10, self.size.height // 5))

    # ── keys: moving ───────────────────────────────────────
    def _move(self, log: Callable[[LogView], None], sheet: Callable[[FactSheet], None]) -> None:
        if self.has_class("-details"):
            sheet(self._sheet)
        else:
            log(self.log_view)

    def act_run_down(self) -> None:
        self._move(lambda log: log.scroll_rows(1), lambda sheet: sheet.scroll_down(animate=False))

    def act_run_up(self) -> None:
        self._move(lambda log: log.scroll_rows(-1), lambda sheet: sheet.scroll_up(animate=False))

    def act_run_page_down(self) -> None:
        self._move(lambda log: log.page(1), lambda sheet: sheet.scroll_page_down(animate=False))

    def act_run_page_up(self) -> None:
        self._move(lambda log: log.page(-1), lambda sheet: sheet.scroll_page_up(animate=False))

    def act_run_half_down(self) -> None:
        self._move(lambda log: log.page(0.5), lambda sheet: sheet.scroll_page_down(animate=False))

    def act_run_half_up(self) -> None:
        self._move(lambda log: log.page(-0.5), lambda sheet: sheet.scroll_page_up(animate=False))

    def act_run_top(self) -> None:
        self._move(lambda log: log.to_first(), lambda sheet: sheet.scroll_home(animate=False))

    def act_run_bottom(self) -> None:
        self._move(lambda log: log.to_last(), lambda sheet: sheet.scroll_end(animate=False))

    def act_run_left(self) -> None:
        self.log_view.pan(-_ASIDE)

    def act_run_right(self) -> None:
        self.log_view.pan(_ASIDE)

    def act_run_follow(self) -> None:
        self.log_view.toggle_follow()

    def hold(self, held: bool) -> None:
        """The whole screen is held still, or is not any more."""
        self.log_view.hold(held)

    def act_run_wrap(self) -> None:
        self.log_view.toggle_wrap()

    def act_run_times(self) -> None:
        self._times.turn()
        self._tell()

    # ── keys: attempts, details ────────────────────────────
    def act_run_attempt_previous(self) -> None:
        self._step(-1)

    def act_run_attempt_next(self) -> None:
        self._step(1)

    def _step(self, by: int) -> None:
        newest = int(self.known.run["attempt"]) if self.known is not None else 0
        wanted = (self.shown or newest) + by
        if not 1 <= wanted <= newest:
            self.host.say(f"there is no attempt {wanted}" if wanted > 0 else "this is its first attempt")
            return
        self._chosen = wanted if wanted < newest else None
        self._open_log(wanted)
        self._tell()

    def act_run_details(self) -> None:
        self.toggle_class("-details")
        self._tell()

    def act_run_job(self) -> None:
        if self.known is not None:
            self.host.go_to_job(int(self.known.run["job_id"]))

    def act_back(self) -> None:
        """One step: details, what is looked for, the screen."""
        view = self.log_view
        if self.has_class("-details"):
            self.act_run_details()
        elif view.facts.pattern:
            view.find("")
        else:
            self.dismiss()

    # ── keys: finding ──────────────────────────────────────
    def act_run_find(self, *typed: str) -> None:
        self._ask_for(typed, only=False)

    def act_run_only(self, *typed: str) -> None:
        """Only what matches; with nothing to match that is asked first."""
        if not typed and self.log_view.facts.pattern:
            self.log_view.toggle_only()
        else:
            self._ask_for(typed, only=True)

    def _ask_for(self, typed: Sequence[str], *, only: bool) -> None:
        if typed:
            self._look_for(" ".join(typed), only=only)
        else:
            self._bar.open(self.log_view.facts.pattern, only=only)

    def on_find_bar_wanted(self, event: FindBar.Wanted) -> None:
        event.stop()
        self._look_for(event.text, only=event.only)

    def on_find_bar_closed(self, event: FindBar.Closed) -> None:
        event.stop()
        self.log_view.focus()

    def _look_for(self, text: str, *, only: bool = False, backward: bool = False) -> None:
        try:
            self.log_view.find(text, backward=backward)
        except InvalidInput as error:
            self.host.say(f"{error.message}: {error.hint}", trouble=True)
            return
        if only and text and not self.log_view.facts.only:
            self.log_view.toggle_only()

    def act_run_find_next(self) -> None:
        self.log_view.next_match()

    def act_run_find_previous(self) -> None:
        self.log_view.previous_match()

    # ── keys: the run ──────────────────────────────────────
    def act_run_kill(self) -> None:
        self.acts.kill()

    def act_run_cancel(self) -> None:
        self.acts.cancel()

    def act_run_retry(self) -> None:
        self.acts.retry()

    def act_run_pause(self) -> None:
        self._job.pause()

    def act_run_edit(self) -> None:
        self._job.edit()

    # ── keys: the log elsewhere ────────────────────────────
    def act_copy(self) -> None:
        run = self.known.run if self.known is not None else {}
        choices = [
            Choice("i", "its id", str(self.run_id)),
            Choice("c", "the command for its log", f"jobctl log {self.run_id}"),
            Choice("s", "the command for all of it", f"jobctl show {self.run_id} --run"),
        ]
        if run.get("key"):
            choices.append(Choice("k", "its key", str(run["key"])))
        if run.get("error"):
            choices.append(Choice("e", "the line it failed with", cell(first_line(run["error"]))))
        line = self.log_view.line_here
        if line:
            choices.append(Choice("l", "the line that is meant, or the last one shown", line))
        self.put(CopyWhat(choices), lambda choice: self.host.copy(choice.text, choice.what))

    def which(self) -> Which:
        """The newest attempt needs no number."""
        newest = int(self.known.run["attempt"]) if self.known is not None else None
        return Which(self.run_id, self.shown if self.shown != newest else None)

    def act_run_save(self, *typed: str) -> None:
        self._elsewhere.save(*typed)

    def act_run_pager(self) -> None:
        self._elsewhere.read_with(pager)

    def act_run_editor(self) -> None:
        self._elsewhere.read_with(editor)
