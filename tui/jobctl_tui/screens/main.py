"""The five tabs in one place: each is made when it is first shown, and none is taken down while another is shown."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from textual.widget import AwaitMount, Widget
from textual.widgets import ContentSwitcher

from jobctl_tui.actions import Scope
from jobctl_tui.screens.down import DownPanel
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.jobs import JobsTab
from jobctl_tui.screens.listing import Listing
from jobctl_tui.screens.tabs import TabBar
from jobctl_tui.words import heading


class Tab(NamedTuple):
    """One of the tabs. Keys are looked up in its scopes, the nearest first."""

    id: str
    make: Callable[..., Widget]
    scopes: tuple[Scope, ...]


def _runs(**named: str) -> Widget:
    from jobctl_tui.screens.runs import RunsTab

    return RunsTab(**named)


def _upcoming(**named: str) -> Widget:
    from jobctl_tui.screens.upcoming import UpcomingTab

    return UpcomingTab(**named)


def _dead(**named: str) -> Widget:
    from jobctl_tui.screens.dead import DeadTab

    return DeadTab(**named)


def _daemon(**named: str) -> Widget:
    from jobctl_tui.screens.daemon import DaemonTab

    return DaemonTab(**named)


TABS: Final = (
    Tab("jobs", JobsTab, (Scope.JOBS, Scope.LISTS, Scope.EVERYWHERE)),
    Tab("runs", _runs, (Scope.RUNS, Scope.LISTS, Scope.EVERYWHERE)),
    Tab("upcoming", _upcoming, (Scope.UPCOMING, Scope.LISTS, Scope.EVERYWHERE)),
    Tab("dead", _dead, (Scope.DEAD, Scope.LISTS, Scope.EVERYWHERE)),
    Tab("daemon", _daemon, (Scope.DAEMON, Scope.LISTS, Scope.EVERYWHERE)),
)
BY_ID: Final = {tab.id: tab for tab in TABS}
#: So long nothing is painted while the daemon has not answered yet: the terminal says that it is being asked.
HELD_S: Final = 1.0
#: Who was given a place on the first frame has heard of it by then.
SETTLED_S: Final = 0.03


class MainScreen(Framed):
    """A tab is a `Pane`; what it says `about` itself, where it does, stands on the line of the tabs. The first frame is
    the whole one: all of it is painted at once, when the jobs are there."""

    _coming: AwaitMount | None = None
    _begun = False
    _settling = False

    def __init__(self) -> None:
        super().__init__()
        self.jobs: Any = BY_ID["jobs"].make(id="jobs")
        """Its tab, shown or not: commands name jobs from everywhere."""
        self._made: dict[str, Any] = {"jobs": self.jobs}
        self._bar, self._away = TabBar(id="tabbar"), DownPanel()
        self.switcher = ContentSwitcher(self.jobs, initial="jobs", id="tabs")

    def body(self) -> Iterable[Widget]:
        return self._bar, self._away, self.switcher

    # ── the first frame ──────────────────────────────────────────
    def _compositor_refresh(self) -> None:
        """Of Textual: what it would paint is kept until there is all of it, which is then painted once."""
        if self._begun:
            super()._compositor_refresh()
        elif not self._settling and self._has_all():
            self._settling = True
            self.set_timer(SETTLED_S, self._begin)

    def _has_all(self) -> bool:
        has_come = getattr(self.pane, "has_come", True)
        return self.host.feed.link.state != "connecting" and (has_come or not self.host.feed.link.reached)

    def _begin(self) -> None:
        """With what there is."""
        if not self._begun:
            self._begun, self._repaint_required = True, False
            self._compositor.update_widgets({self})
            super()._compositor_refresh()

    @property
    def tab(self) -> Tab:
        return BY_ID[self.switcher.current or "jobs"]

    @property
    def pane(self) -> Any:
        """The tab that is shown."""
        return self._made[self.tab.id]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        away = super().scopes[: -len(self.SCOPES)]
        return away + self.tab.scopes

    def panes(self) -> Iterator[Any]:
        yield from (pane for pane in self._made.values() if pane.is_mounted and hasattr(pane, "changed"))

    def renew_lines(self) -> None:
        super().renew_lines()
        if self.is_mounted:
            status = self.host.feed.status
            words = [heading.tab_words(tab.id, status) for tab in TABS]
            self._away.renew(self.host)
            pane = self.pane
            about = pane.about() if pane.is_mounted and hasattr(pane, "about") else ""
            self._bar.show(words, TABS.index(self.tab), about)

    def on_listing_counted(self, event: Listing.Counted) -> None:
        """How many rows there are is said above."""
        event.stop()
        self.renew_lines()

    def show(self, name: str) -> None:
        """Also gives the tab the keys. One that is made first is there a moment later: `settled`."""
        if name not in self._made:
            self._made[name] = BY_ID[name].make(id=name)
            self._coming = self.switcher.mount(self._made[name])
            self.call_next(self.settled)
        self.switcher.current = name
        if self._coming is None:
            self._shown()

    async def settled(self) -> None:
        """Until the tab that is to be shown is there, and has the keys."""
        while (coming := self._coming) is not None:
            await coming
            if coming is self._coming:
                self._coming = None
                self._shown()

    def _shown(self) -> None:
        self.take_keys()
        if hasattr(self.pane, "tick"):
            self.pane.tick()
        self.renew_lines()

    def take_keys(self) -> None:
        """The keys go to what is shown: to the first thing in it that takes them."""
        pane = self.pane
        takes = next((node for node in (pane, *pane.query("*")) if node.focusable), None)
        self.set_focus(takes)

    def on_mount(self) -> None:
        super().on_mount()
        self.call_after_refresh(self.take_keys)
        self.set_timer(HELD_S, self._begin)

    # ── what keys do ─────────────────────────────────────────────
    def act_go_jobs(self) -> None:
        self.show("jobs")

    def act_go_runs(self) -> None:
        self.show("runs")

    def act_go_upcoming(self) -> None:
        self.show("upcoming")

    def act_go_dead(self) -> None:
        self.show("dead")

    def act_go_daemon(self) -> None:
        self.show("daemon")

    def act_tab_next(self) -> None:
        self._step(1)

    def act_tab_previous(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        self.show(TABS[(TABS.index(self.tab) + by) % len(TABS)].id)

    def on_tab_bar_chosen(self, event: TabBar.Chosen) -> None:
        event.stop()
        self.show(TABS[event.number].id)
