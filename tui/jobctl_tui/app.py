"""The application: what holds the feed, the tabs and the screens above them together, and what keys lead to."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.driver import Driver
from textual.filter import LineFilter, NoColor
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender

from jobctl.client.sync import Client
from jobctl.clock import Clock
from jobctl.errors import InternalError
from jobctl_tui.commands import Commands
from jobctl_tui.copier import Copier
from jobctl_tui.doers import Doers
from jobctl_tui.driver import TerminalDriver
from jobctl_tui.freezing import Freezing
from jobctl_tui.keys import Keymap
from jobctl_tui.leaving import Leaving
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.feed import Feed
from jobctl_tui.looks import Looks
from jobctl_tui.orders import Orders
from jobctl_tui.presses import Presses
from jobctl_tui.sayings import Sayings
from jobctl_tui.screens.down import DownActs
from jobctl_tui.screens.main import MainScreen
from jobctl_tui.settings import Settings
from jobctl_tui.stack import Stack
from jobctl_tui.theme import MONO, THEMES
from jobctl_tui.words.glyphs import UTF8, Glyphs
from jobctl_tui.words.when import When

Json = dict[str, Any]

#: Classes of a screen, by how wide and high it is at least.
WIDTHS: Final = [(0, "-tiny"), (45, "-small"), (60, "-medium"), (100, "-wide"), (160, "-huge")]
HEIGHTS: Final = [(0, "-low"), (12, "-high")]
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


class Screens(App[None], inherit_bindings=False):
    """`jobctl_tui.host.Shell`."""

    CSS_PATH = "theme/screens.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, setup: Setup, driver: type[Driver] | None = None) -> None:
        super().__init__(driver)
        for theme in THEMES.values():
            self.register_theme(theme)
        self.hostname = setup.host
        self.clock = setup.clock
        self.glyphs = setup.glyphs
        self.when = setup.when
        self.read_only = setup.settings.read_only
        self.state_dir = setup.state_dir
        self.crash: BaseException | None = None
        self.leaving: Leaving | None = None
        self.over = False
        """Screens are being taken down: nothing is told to them any more."""
        self.animation_level = "none"
        self.encoding = "ascii" if setup.glyphs.enter.isascii() else "utf-8"
        self.connect = setup.connect
        self.feed = Feed(setup.connect, setup.clock, self.post, self.changed)
        self.errands = Errands(setup.connect, self.post)
        plain = setup.glyphs.rule.isascii()
        ScrollBar.renderer = PlainBar if plain else ScrollBarRender
        self.set_class(plain, "-ascii")
        self.wear(setup.theme)
        self.keymap = Keymap(setup.settings.keys, read_only=self.read_only, ascii_only=plain)
        self._join()

    def _join(self) -> None:
        """What a host does is done by these."""
        self.stack = stack = Stack(self)
        self.sayings = Sayings(self.feed.now_ms, stack.renew_lines)
        self.say, self.say_failed = self.sayings.say, self.sayings.say_failed
        self.all_said, self.said_last = self.sayings.all, self.sayings.last
        self.freezing = Freezing(stack, self.clock, self.changed)
        orders = Orders(self, stack)
        self.errand, self.act = orders.errand, orders.act
        copier = Copier(self, stack, self._write)
        self.copy, self.go_to_job = copier.copy, stack.go_to_job
        doers = Doers(stack, self.keymap)
        self.actions_here, self.take = doers.here, doers.take
        self.presses = Presses(stack, doers, self.keymap)
        commands = Commands(self, stack, doers, self.keymap)
        doers.everywhere = (self, commands, copier, orders, self.freezing, Looks(self, stack), DownActs(self))

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

    # ── what changes ─────────────────────────────────────────────
    @property
    def pane(self) -> Any:
        return self.stack.pane

    def changed(self, changes: Changes) -> None:
        if self.freezing.is_on or self._is_stalled():
            self.freezing.hold(changes)
            return
        if changes.back is not None:
            self.say(changes.back.words)
        for pane in list(self.stack.panes()):
            pane.changed(changes)

    def frozen_words(self) -> str:
        return self.freezing.words(self.glyphs)

    def tick(self) -> None:
        if self.screen_stack:  # the last second may find them taken down
            self.screen.call_next(self._tick)

    def _tick(self) -> None:
        if self.over or not self.is_running or self._is_stalled():
            return
        for shown in {self.screen, self.pane}:
            if shown.is_mounted and hasattr(shown, "tick"):
                shown.tick()

    # ── keys ─────────────────────────────────────────────────────
    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.presses.came(event)
        await super().on_event(event)

    async def on_key(self, event: events.Key) -> None:
        await self.presses.obey(event)

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        done = self.presses.before_field(key) if priority else None
        return done if done is not None else await super()._check_bindings(key, priority)

    # ── where one can go ─────────────────────────────────────────
    def open_run(self, run_id: int, find: str | None = None) -> None:
        from jobctl_tui.screens.run import RunScreen

        self.push_screen(RunScreen(run_id, find))

    def open_editor(self, job: Json | None = None) -> None:
        from jobctl_tui.screens.editor import EditorScreen

        self.push_screen(EditorScreen(job))

    def act_quit(self) -> None:
        self.leave(0)

    def leave(self, code: int) -> None:
        self.over = True
        self.exit(return_code=code)

    # ── the terminal ─────────────────────────────────────────────
    def act_repaint(self) -> None:
        self.screen.refresh(layout=True)

    def act_suspend(self) -> None:
        if os.getsid(0) == os.getpid():  # nobody would wake it: setpgid(2), orphaned groups
            self.say("there is no shell to suspend it to", trouble=True)
        else:
            self.action_suspend_process()

    def act_mouse(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            ours = self._driver.turn_mouse()
            self.say("the mouse is ours again" if ours else "the mouse is the terminal's: m takes it")

    def _write(self, sequence: str) -> None:
        if self._driver is not None:
            self._driver.write(sequence)

    def _is_stalled(self) -> bool:
        """A terminal that takes nothing needs no paint."""
        return isinstance(self._driver, TerminalDriver) and self._driver.is_stalled

    def terminal_drained(self) -> None:
        """Frames were left out: all of it once more, as it is by now."""
        self.act_repaint()
        if not self.freezing.is_on:
            self.freezing.tell_held()

    @property
    def is_leaving(self) -> bool:
        return self.leaving is not None and self.leaving.code is not None

    def terminal_gone(self) -> None:
        """Nobody sees anything any more: as after a HUP."""
        if self.leaving is not None:
            self.leaving.by(_HUNG_UP)
        self.leave(_HUNG_UP)

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
