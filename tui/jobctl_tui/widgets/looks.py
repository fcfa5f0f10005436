"""Styles by the names that all widgets here know, looked up once for a theme."""

from rich.style import Style
from textual.widget import Widget

from jobctl_tui.widgets.cells import STYLES


def look_of(widget: Widget, name: str) -> Style:
    """What a style changes in the theme of just now; a name that is none of `STYLES` changes nothing."""
    text = STYLES.get(name)
    return Style.null() if text is None else widget.app.stylesheet.parse_style(text).rich_style


class Looks(Widget):
    """A widget that paints its lines itself."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._looks: dict[tuple[str, ...], Style] = {}

    def notify_style_update(self) -> None:
        self._looks.clear()
        super().notify_style_update()

    def look(self, *names: str) -> Style:
        """Of these names, one over the other."""
        found = self._looks.get(names)
        if found is None:
            found = self.rich_style
            for name in names:
                found += look_of(self, name)
            self._looks[names] = found
        return found
