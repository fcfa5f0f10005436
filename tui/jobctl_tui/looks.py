"""How everything is shown, as somebody wants it just now: in which colours, and how times are told."""

from typing import Protocol

from jobctl_tui.host import Host
from jobctl_tui.live.changes import Changes
from jobctl_tui.stack import Stack
from jobctl_tui.theme import THEMES


class Dressed(Host, Protocol):
    """The application, as it looks."""

    theme: str

    def wear(self, theme: str) -> None: ...


class Looks:
    """Of the application."""

    def __init__(self, app: Dressed, stack: Stack) -> None:
        self._app = app
        self._stack = stack

    def act_theme(self, *said: str) -> None:
        """By its name, or a part of it; without one the next."""
        looks = list(THEMES)
        wanted = [look for look in looks if said and said[0].lower() in look]
        if said and not wanted:
            self._app.say(f"there is no theme {said[0]}; there are {', '.join(looks)}", trouble=True)
            return
        self._app.wear(wanted[0] if wanted else looks[(looks.index(self._app.theme) + 1) % len(looks)])
        self._app.say(f"the theme is {self._app.theme}; theme in ui.toml keeps it")

    def act_time_zone(self) -> None:
        when = self._app.when = self._app.when.next_zone()
        self._retell(f"times are {'UTC' if when.zone == 'utc' else f'of the {when.zone} zone'}")

    def act_time_form(self) -> None:
        when = self._app.when = self._app.when.next_form()
        self._retell(f"times are {when.form}")

    def _retell(self, words: str) -> None:
        self._app.say(words)
        for pane in list(self._stack.panes()):
            pane.changed(Changes(status=True, reset=True))
