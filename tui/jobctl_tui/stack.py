"""What is shown: the tabs, and the screens that stand above them, the one on top last."""

from collections.abc import Callable, Iterator
from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from jobctl_tui.actions import Scope
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.main import MainScreen


class Stack:
    """Of the application."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app

    @property
    def screens(self) -> list[Screen[Any]]:
        return self._app.screen_stack

    @property
    def top(self) -> Screen[Any]:
        return self._app.screen

    @property
    def main(self) -> MainScreen:
        """Below all others."""
        main = self.screens[0]
        assert isinstance(main, MainScreen)
        return main

    @property
    def tab(self) -> str:
        """Empty while a screen stands above the tabs."""
        return self.top.tab.id if isinstance(self.top, MainScreen) else ""

    @property
    def pane(self) -> Any:
        """What is shown on top: a tab, or the screen above the tabs."""
        return getattr(self.top, "pane", self.top)

    def panes(self) -> Iterator[Any]:
        """All tabs and screens that want to know what changes, the one on top last."""
        for screen in self.screens:
            if not screen.is_mounted:  # it reads for itself once it is
                continue
            yield from getattr(screen, "panes", lambda: ())()
            if hasattr(screen, "changed"):
                yield screen

    @property
    def typed_into(self) -> Widget:
        return self.top.focused or self.top

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Where a key is looked up, the nearest first; none while a question is asked."""
        found: tuple[Scope, ...] = getattr(self.top, "scopes", ())
        return found

    def subject(self) -> str:
        """What is under the cursor."""
        found: str = getattr(self.pane, "subject", lambda: "")()
        return found

    async def settled(self) -> None:
        """A tab that is shown for the first time is there before the next key is looked at."""
        if isinstance(self.top, MainScreen):
            await self.top.settled()

    def renew_lines(self) -> None:
        for screen in self.screens:
            if isinstance(screen, Framed):
                screen.renew_lines()

    def put(self, screen: Screen[Any], answered: Callable[[Any], None] | None = None) -> None:
        """Above all others."""
        self._app.push_screen(screen, answered)

    def go_to_job(self, job_id: int) -> None:
        for _ in range(len(self.screens) - 1):
            if not isinstance(self.top, MainScreen):
                self._app.pop_screen()
        if isinstance(self.top, MainScreen):
            self.top.show("jobs")
            self.top.pane.go_to(job_id)
