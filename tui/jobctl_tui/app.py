"""The application: what holds the feed, the tabs and the screens above them together, and what keys lead to."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, ClassVar, Final

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.driver import Driver
from textual.filter import LineFilter, NoColor
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget
from textual.widgets import Input, TextArea

from jobctl.client.sync import Client
from jobctl.clock import Clock
from jobctl.errors import InternalError, JobctlError, Unavailable
from jobctl.reading.safe import cell
from jobctl.reading.times import span
from jobctl_tui.actions import Action, Scope
from jobctl_tui.clipboard import clipboard_sequence, keep
from jobctl_tui.driver import TerminalDriver
from jobctl_tui.host import Said
from jobctl_tui.keys import Keymap
from jobctl_tui.leaving import Leaving
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.feed import Feed
from jobctl_tui.live.undo import Undos
from jobctl_tui.screens.copying import Choice, CopyWhat
from jobctl_tui.screens.down import DownActs
from jobctl_tui.screens.framed import ALWAYS, Framed, is_text
from jobctl_tui.screens.help import HelpScreen
from jobctl_tui.screens.main import MainScreen
from jobctl_tui.screens.palette import Palette
from jobctl_tui.settings import Settings
from jobctl_tui.theme import MONO, THEMES
from jobctl_tui.words.cli import filled
from jobctl_tui.words.glyphs import UTF8, Glyphs
from jobctl_tui.words.palette import Entry, Offer
from jobctl_tui.words.when import When

Json = dict[str, Any]

#: Classes of a screen, by how wide and high it is at least.
WIDTHS: Final = [(0, "-tiny"), (45, "-small"), (60, "-medium"), (100, "-wide"), (160, "-huge")]
HEIGHTS: Final = [(0, "-low"), (12, "-high")]
#: What has been said is kept, for the tab of the daemon.
_SAID: Final = 200
#: The newest of it stands on the status line for so long; what went wrong for longer.
_SAID_MS: Final = 6_000
_TROUBLE_MS: Final = 15_000
#: About what is under the cursor of a tab.
_COMMANDS: Final = {
    "jobs": (("c", "the command that shows it", "jobctl show JOB"), ("l", "the command for its log", "jobctl log JOB")),
    "upcoming": (("c", "the command that shows it", "jobctl show JOB"), ("t", "when it fires", "jobctl next JOB")),
    "runs": (("c", "the command that shows it", "jobctl show RUN --run"), ("l", "its log", "jobctl log RUN")),
}
#: 128 and the number of HUP.
_HUNG_UP: Final = 129


class PlainBar(ScrollBarRender):
    """A scroll bar of whole cells."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


@dataclass(frozen=True)
class Setup:
    """What the screens are given from outside."""

    connect: Callable[[], Client]
    clock: Clock
    theme: str
    glyphs: Glyphs = UTF8
    when: When = field(default_factory=When)
    settings: Settings = field(default_factory=Settings)
    host: str = ""
    state_dir: str | None = None
    """For what is copied and for reports of crashes; None: nowhere."""


class Screens(DownActs, App[None], inherit_bindings=False):
    """`jobctl_tui.host.Host`."""

    CSS_PATH = "theme/screens.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, setup: Setup, driver: type[Driver] | None = None) -> None:
        super().__init__(driver)
        for theme in THEMES.values():
            self.register_theme(theme)
        self.setup = setup
        self.hostname = setup.host
        self.clock = setup.clock
        self.glyphs = setup.glyphs
        self.when = setup.when
        self.read_only = setup.settings.read_only
        self.state_dir = setup.state_dir
        plain = setup.glyphs.rule.isascii()
        self.keymap = Keymap(setup.settings.keys, read_only=self.read_only, ascii_only=plain)
        ScrollBar.renderer = PlainBar if plain else ScrollBarRender
        self.said: deque[Said] = deque(maxlen=_SAID)
        self.undos = Undos()
        self.frozen_ms: int | None = None
        self.held = Changes()
        self.held_count = 0
        self.crash: BaseException | None = None
        self.leaving: Leaving | None = None
        self._where: tuple[object, ...] = ()
        self._actions: tuple[Action, ...] = ()
        self.over = False
        """Screens are being taken down: nothing is told to them any more."""
        self.animation_level = "none"
        self.encoding = "ascii" if setup.glyphs.enter.isascii() else "utf-8"
        self.connect = setup.connect
        self.feed = Feed(setup.connect, setup.clock, self.post, self.changed)
        self.errands = Errands(setup.connect, self.post)
        self.set_class(plain, "-ascii")
        self.wear(setup.theme)

    # ── life ─────────────────────────────────────────────────────
    def get_default_screen(self) -> Screen[Any]:
        return MainScreen()

    def on_mount(self) -> None:
        self.feed.start()
        self.set_interval(1, self.tick)

    def on_unmount(self) -> None:
        self.feed.close()
        self.errands.close()

    def post(self, call: Callable[[], None]) -> None:
        """Onto the loop, from any thread; a mistake in it ends the program with a report, as any other does."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._called, call)

    def _called(self, call: Callable[[], None]) -> None:
        if self.over or not self.is_running:
            return
        with self._context():
            try:
                call()
            except Exception as error:  # noqa: BLE001 - the loop itself would only log it
                self._handle_exception(error)

    # ── looks ────────────────────────────────────────────────────
    def wear(self, theme: str) -> None:
        """Textual decides once at the start about colours; here they can go and come back."""
        self.no_color = theme == MONO
        self.set_class(self.no_color, "-mono")
        self.theme = theme

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        return [*filters, NoColor()] if self.no_color else filters

    def _set_pointer_shape(self, shape: str) -> None:
        """OSC 22 is known to few terminals, and nothing here needs it."""

    # ── panes ────────────────────────────────────────────────────
    def panes(self) -> Iterator[Any]:
        """All tabs and screens that want to know what changes, the one on top last."""
        for screen in self.screen_stack:
            if not screen.is_mounted:  # it reads for itself once it is
                continue
            yield from getattr(screen, "panes", lambda: ())()
            if hasattr(screen, "changed"):
                yield screen

    @property
    def pane(self) -> Any:
        """What is shown on top: a tab, or the screen above the tabs."""
        return getattr(self.screen, "pane", self.screen)

    def changed(self, changes: Changes) -> None:
        if self.frozen_ms is not None or self._is_stalled():
            self.held = merged(self.held, changes)
            self.held_count += len(changes.events)
            return
        if changes.back is not None:
            self.say(changes.back.words)
        for pane in list(self.panes()):
            pane.changed(changes)

    def tick(self) -> None:
        if self.screen_stack:  # the last second may find them taken down
            self.screen.call_next(self._tick)

    def _tick(self) -> None:
        if self.over or not self.is_running or self._is_stalled():
            return
        for shown in {self.screen, self.pane}:
            if shown.is_mounted and hasattr(shown, "tick"):
                shown.tick()

    # ── the daemon ───────────────────────────────────────────────
    def errand(
        self,
        words: str,
        work: Callable[[Client], Any],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
        group: str | None = None,
    ) -> None:
        self.errands.run(work, done, failed or (lambda error: self.say_failed(words, error)), group)

    def act(
        self,
        words: str,
        work: Callable[[Client], Any],
        undo: Callable[[Client], Any] | None = None,
        undo_words: str = "",
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
    ) -> None:
        refusal = self.refusal()
        if refusal is not None:
            (failed or (lambda error: self.say_failed(words, error)))(refusal)
            return

        def finished(answer: Any) -> None:
            if undo is not None:
                self.undos = self.undos.done(undo_words or f"taken back: {words}", undo, self.clock.awake_ms())
            self.say(words + ("; u takes it back" if undo is not None else ""))
            if done is not None:
                done(answer)
            getattr(self.pane, "acted", lambda: None)()

        self.errand(words, work, finished, failed)

    def refusal(self) -> JobctlError | None:
        """Why nothing can be changed just now."""
        if self.read_only:
            return Unavailable("these screens only read", "leave --read-only and read_only of ui.toml out")
        if self.feed.link.away:
            return Unavailable("the daemon does not answer", "what changes jobs is off until it does")
        return None

    def say_failed(self, words: str, error: JobctlError) -> None:
        self.say(f"{words}: {error.message}" + (f"; {error.hint}" if error.hint else ""), trouble=True)

    def say(self, words: str, trouble: bool = False) -> None:
        self.said.append(Said(self.feed.now_ms(), cell(words), trouble))
        self._renew_lines()

    def all_said(self) -> Sequence[Said]:
        return tuple(self.said)

    def said_last(self) -> Said | None:
        if not self.said:
            return None
        said = self.said[-1]
        for_ms = _TROUBLE_MS if said.trouble else _SAID_MS
        return said if 0 <= self.feed.now_ms() - said.at_ms < for_ms else None

    def frozen_words(self) -> str:
        if self.frozen_ms is None:
            return ""
        for_s = (self.clock.awake_ms() - self.frozen_ms) / 1000
        return f"{self.glyphs.frozen} frozen {span(for_s)}, {self.held_count} changes"

    def _renew_lines(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, Framed):
                screen.renew_lines()

    # ── keys ─────────────────────────────────────────────────────
    def scopes(self) -> tuple[Scope, ...]:
        """Where a key is looked up, the nearest first; none while a question is asked."""
        found: tuple[Scope, ...] = getattr(self.screen, "scopes", ())
        return found

    def actions_here(self) -> tuple[Action, ...]:
        """Asked for every second: worked out anew when the focus, the tab or the daemon's state has changed."""
        where = (self.scopes(), self.screen.focused, self.pane)
        if where != self._where:
            chain = self._chain()
            self._where, self._actions = where, tuple(
                action for action in self.keymap.reachable(where[0])
                if any(hasattr(node, method_of(action)) for node in chain)
            )  # fmt: skip
        return self._actions

    def _typed_into(self) -> Widget:
        return self.screen.focused or self.screen

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            event.meant_for = self._typed_into()  # type: ignore[attr-defined]
        await super().on_event(event)

    async def on_key(self, event: events.Key) -> None:
        """By the actions of the screen. One that was typed ahead, before the screen or the field came that it is meant
        for, goes there."""
        await self._settled()
        now = self._typed_into()
        before: Widget = getattr(event, "meant_for", now)
        if before is not now and (_is_field(now) or not before.is_attached or before.screen is not now.screen):
            event.prevent_default()
            now._forward_event(events.Key(event.key, event.character))
            return
        if _edits(self.screen.focused, event.key):
            return
        action = self.keymap.find(event.key, self.scopes())
        if action is not None and self.take(action):
            event.prevent_default()
            event.stop()
            await self._settled()

    async def _settled(self) -> None:
        """A tab that is shown for the first time is there before the next key is looked at."""
        if isinstance(self.screen, MainScreen):
            await self.screen.settled()

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Before the field that is typed into: what is there always."""
        if priority:
            action = self.keymap.find(key, (Scope.EVERYWHERE,))
            if action is not None and action.id in ALWAYS and len(key) > 1:
                return self.take(action)
            action = self.keymap.find(key, self.scopes())
            if action is not None and action.scope is Scope.EDITOR and not _edits(self.screen.focused, key):
                # Who types on fast, while the next field is not there yet, means the next field.
                return not is_text(key) and self.take(action)
        return await super()._check_bindings(key, priority)

    def take(self, action: Action, *arguments: str) -> bool:
        """By the first `act_…` from the focus upwards that does not return False."""
        return any(method(*arguments) is not False for method in self._doers(action))

    def _doer(self, action: Action) -> Callable[..., object] | None:
        return next(self._doers(action), None)

    def _doers(self, action: Action) -> Iterator[Callable[..., object]]:
        for node in self._chain():
            method = getattr(node, method_of(action), None)
            if method is not None:
                yield method

    def _chain(self) -> list[DOMNode]:
        """From the focus upwards; what is shown is in it also when nothing has the focus."""
        focused = self.screen.focused
        nodes = [node for node in (focused.ancestors_with_self if focused is not None else ()) if node is not self]
        nodes += [node for node in (self.pane, self.screen) if node not in nodes]
        return [*sorted(nodes, key=lambda node: isinstance(node, Screen)), self]

    # ── what is done everywhere ──────────────────────────────────
    def act_quit(self) -> None:
        self.leave(0)

    def act_repaint(self) -> None:
        self.screen.refresh(layout=True)

    def act_suspend(self) -> None:
        if os.getsid(0) == os.getpid():  # nobody would wake it: setpgid(2), orphaned groups
            self.say("there is no shell to suspend it to", trouble=True)
        else:
            self.action_suspend_process()

    def act_time_zone(self) -> None:
        self.when = self.when.next_zone()
        self._retell(f"times are {'UTC' if self.when.zone == 'utc' else f'of the {self.when.zone} zone'}")

    def act_time_form(self) -> None:
        self.when = self.when.next_form()
        self._retell(f"times are {self.when.form}")

    def _retell(self, words: str) -> None:
        self.say(words)
        for pane in list(self.panes()):
            pane.changed(Changes(status=True, reset=True))

    def act_theme(self, *said: str) -> None:
        """By its name, or a part of it; without one the next."""
        looks = list(THEMES)
        wanted = [look for look in looks if said and said[0].lower() in look]
        if said and not wanted:
            self.say(f"there is no theme {said[0]}; there are {', '.join(looks)}", trouble=True)
            return
        self.wear(wanted[0] if wanted else looks[(looks.index(self.theme) + 1) % len(looks)])
        self.say(f"the theme is {self.theme}; theme in ui.toml keeps it")

    def act_mouse(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self.say(
                "the mouse is ours again" if self._driver.turn_mouse() else "the mouse is the terminal's: m takes it"
            )

    def act_help(self) -> None:
        self.push_screen(HelpScreen(self._here(), self.actions_here()))

    def _here(self) -> str:
        return self.screen.tab.id.title() if isinstance(self.screen, MainScreen) else self.screen.title or "this screen"

    def act_palette(self, *typed: str) -> None:
        aims = getattr(self.pane, "aims", None)
        subjects = [aim.name for aim in aims()] if aims is not None else [self.subject()]
        self.push_screen(Palette(self._offers(), [name for name in subjects if name], " ".join(typed)), self._chosen)

    def _offers(self) -> list[Offer]:
        """What can be done here, and what can be done to jobs from anywhere once they are named."""
        here = {action.id: action for action in self.actions_here()}
        offers = [Offer(action, True, _takes_words(self._doer(action))) for action in here.values()]
        return offers + [
            Offer(action, False, True)
            for action in self.keymap.of((Scope.JOBS,))
            if action.id not in here and _takes_words(self._on_jobs(action))
        ]

    def _on_jobs(self, action: Action) -> Callable[..., object] | None:
        found: Callable[..., object] | None = getattr(self._main.jobs, method_of(action), None)
        return found

    @property
    def _main(self) -> MainScreen:
        main = self.screen_stack[0]
        assert isinstance(main, MainScreen)
        return main

    def _chosen(self, entry: Entry | None) -> None:
        if entry is None:
            return
        if entry.job_id is not None:
            self.go_to_job(entry.job_id)
        elif entry.action is not None and not self.take(entry.action, *entry.said):
            do = self._on_jobs(entry.action)
            if do is not None:
                do(*entry.said)

    def act_go_job(self, *said: str) -> None:
        """By its name."""
        name = " ".join(said)
        if not name:
            self.act_palette()
            return
        self.errand(f"go to {name}", lambda client: int(client.job(name)["id"]), self.go_to_job)

    def act_freeze(self) -> None:
        if self.frozen_ms is None:
            self.frozen_ms = self.clock.awake_ms()
        else:
            self.frozen_ms = None
            self._tell_held()
        for screen in self.screen_stack:
            if hasattr(screen, "hold"):
                screen.hold(self.frozen_ms is not None)
        self._renew_lines()

    def _tell_held(self) -> None:
        held, self.held, self.held_count = self.held, Changes(), 0
        if held != Changes():
            self.changed(held)

    def act_undo(self) -> None:
        undo = self.undos.newest(self.clock.awake_ms())
        if undo is None:
            self.say("there is nothing to take back")
            return
        self.undos = self.undos.taken(undo)
        self.act(undo.words, undo.work)

    def act_copy(self) -> None:
        """Where nobody has more to offer: what is under the cursor, by its name and by the commands about it."""
        subject = self.subject()
        if not subject:
            self.say("there is nothing under the cursor to copy")
            return
        tab = self.screen.tab.id if isinstance(self.screen, MainScreen) else ""
        choices = [Choice("n", "its name", subject)]
        choices += [Choice(letter, what, filled(form, [subject])) for letter, what, form in _COMMANDS.get(tab, ())]
        if len(choices) == 1:
            self.copy(subject, subject)
        else:
            self.push_screen(CopyWhat(choices), self._copied)

    def _copied(self, choice: Choice | None) -> None:
        if choice is not None:
            self.copy(choice.text, choice.text)

    def subject(self) -> str:
        found: str = getattr(self.pane, "subject", lambda: "")()
        return found

    def copy(self, text: str, what: str) -> None:
        sequence = clipboard_sequence(text, os.environ)
        if sequence is not None and self._driver is not None:
            self._driver.write(sequence)
        kept = keep(text, self.setup.state_dir)
        if sequence is None:
            self.say(f"{what} is too much for a clipboard" + (f": it is in {kept}" if kept else ""), trouble=not kept)
        else:
            self.say(f"copied {what}" + (f", also to {kept}" if kept else ""))

    # ── where else one can go ────────────────────────────────────
    def open_run(self, run_id: int, find: str | None = None) -> None:
        from jobctl_tui.screens.run import RunScreen

        self.push_screen(RunScreen(run_id, find))

    def open_editor(self, job: Json | None = None) -> None:
        from jobctl_tui.screens.editor import EditorScreen

        self.push_screen(EditorScreen(job))

    def go_to_job(self, job_id: int) -> None:
        for _ in range(len(self.screen_stack) - 1):
            if not isinstance(self.screen, MainScreen):
                self.pop_screen()
        if isinstance(self.screen, MainScreen):
            self.screen.show("jobs")
            self.screen.pane.go_to(job_id)

    # ── the terminal ─────────────────────────────────────────────
    @property
    def is_leaving(self) -> bool:
        return self.leaving is not None and self.leaving.code is not None

    def terminal_gone(self) -> None:
        """Nobody sees anything any more: as after a HUP."""
        if self.leaving is not None:
            self.leaving.by(_HUNG_UP)
        self.leave(_HUNG_UP)

    def leave(self, code: int) -> None:
        self.over = True
        self.exit(return_code=code)

    def terminal_drained(self) -> None:
        """Frames were left out: all of it once more, as it is by now."""
        self.act_repaint()
        if self.frozen_ms is None:
            self._tell_held()

    def _is_stalled(self) -> bool:
        """A terminal that takes nothing needs no paint."""
        return isinstance(self._driver, TerminalDriver) and self._driver.is_stalled

    # ── trouble ──────────────────────────────────────────────────
    def _handle_exception(self, error: Exception) -> None:
        """Ends the program. Nothing of it is drawn: values of variables are somebody's secrets."""
        self._return_code = InternalError.exit_code
        self.over = True
        self.crash = self.crash or error
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def failed_by(self, error: Exception) -> None:
        """A thread of ours could not go on."""
        self._handle_exception(error)

    def panic(self, *renderables: Any) -> None:
        self._handle_exception(RuntimeError(f"panic: {renderables!r}"))


def _is_field(widget: Widget) -> bool:
    return isinstance(widget, Input | TextArea)


def _edits(widget: Widget | None, key: str) -> bool:
    """Whether a field that is typed into has a use of its own for the key."""
    return isinstance(widget, Input | TextArea) and key in widget._bindings.key_to_bindings


def method_of(action: Action) -> str:
    return "act_" + action.id.replace(".", "_").replace("-", "_")


def _takes_words(method: Callable[..., object] | None) -> bool:
    """Whether it can be told what it is to be done to."""
    kinds = [] if method is None else [each.kind for each in signature(method).parameters.values()]
    return Parameter.VAR_POSITIONAL in kinds


def merged(before: Changes, after: Changes) -> Changes:
    """Both, told as one."""
    return Changes(
        before.jobs | after.jobs,
        before.runs | after.runs,
        (before.events + after.events)[-500:],
        before.status or after.status,
        before.link or after.link,
        before.reset or after.reset,
        after.back or before.back,
    )
