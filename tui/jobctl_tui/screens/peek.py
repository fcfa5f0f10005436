"""The strip below a list: what the row under the cursor is about, and the line that says why it is in trouble."""

from collections.abc import Sequence

from jobctl_tui.screens.lines import Line, Lines, rule
from jobctl_tui.words.glyphs import Glyphs


class Peek(Lines):
    """A rule with a title, and as many lines below it as there is room for."""

    DEFAULT_CSS = """
    Peek { height: 3; dock: bottom; }
    Peek.-tall { height: 4; }
    Peek.-taller { height: 12; }
    """

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._title = ""
        self._below: Sequence[Line] = ()

    def tell(self, title: str, below: Sequence[Line] = ()) -> None:
        self._title, self._below = title, below
        self.show([rule(title, self.size.width, self._glyphs.rule, "-bold"), *below])

    def on_resize(self) -> None:
        self.tell(self._title, self._below)
