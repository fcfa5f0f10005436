"""One widget alone in an application, and what of it is on the screen."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from rich.style import Style
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget

from jobctl_tui.theme import DARK, THEMES


class Alone(App[None]):
    """Shows the widgets it is given, in the colours of `jobctl ui`."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget, theme: str = DARK) -> None:
        super().__init__()
        for one in THEMES.values():
            self.register_theme(one)
        self.theme = theme
        self._widgets = widgets

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(THEMES[DARK].variables)

    def post(self, call: Callable[[], None]) -> None:
        """Onto the loop, from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._called, call)

    def _called(self, call: Callable[[], None]) -> None:
        with self._context():
            try:
                call()
            except Exception as error:
                self._handle_exception(error)

    def compose(self) -> ComposeResult:
        yield from self._widgets


@asynccontextmanager
async def alone(*widgets: Widget, size: tuple[int, int] = (80, 24), theme: str = DARK) -> AsyncIterator[Pilot[None]]:
    app = Alone(*widgets, theme=theme)
    async with app.run_test(size=size) as pilot:
        widgets[0].focus()
        await pilot.pause()
        yield pilot


def lines(pilot: Pilot[Any]) -> list[str]:
    """What stands on the screen, line by line, without the spaces at the end."""
    return [strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips()]


def style_at(pilot: Pilot[Any], x: int, y: int) -> Style:
    """How the character there is painted."""
    for segment in pilot.app.screen._compositor.render_strips()[y]:
        if x < segment.cell_length:
            return segment.style or Style.null()
        x -= segment.cell_length
    raise AssertionError(f"the line ends before {x}")
