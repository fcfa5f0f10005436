"""Jobs as the rows of a table: those of a window, and what each says just now."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from jobctl_tui.host import Host
from jobctl_tui.live.window import Window
from jobctl_tui.screens.painted import Painted
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.columns import Column
from jobctl_tui.words import job as words
from jobctl_tui.words import strip

Json = dict[str, Any]

#: Narrower screens have room for a sign, the name and the next time.
SMALL: Final = 45
MEDIUM: Final = 72
WIDE: Final = 100
HUGE: Final = 160

_COLUMNS: Final = (
    Column("NAME", 14, flex=3),
    Column("SCHEDULE", 13, flex=1, min_screen=MEDIUM),
    Column("NEXT", 11, align="right"),
    Column("LAST", words.LAST_WIDTH, flex=2, min_screen=SMALL, gap=2),
    Column("LAST 10", strip.WIDTH, min_screen=MEDIUM),
    Column("USUALLY", 8, align="right", min_screen=HUGE),
    Column("TAGS", 10, flex=1, min_screen=HUGE),
    Column("OWNER", 8, min_screen=HUGE),
)


def columns(screen_width: int) -> tuple[Column, ...]:
    """Of a screen of that width."""
    state = Column("STATE", words.STATE_WIDE if screen_width >= HUGE else words.STATE_WIDTH, min_screen=SMALL)
    return (state, *_COLUMNS)


class JobRows(Painted[Json]):
    """Jobs are read as they come onto the screen."""

    def __init__(
        self, window: Window, host: Host, screen_width: Callable[[], int], room: Callable[[str], int] = lambda _: 0
    ) -> None:
        """`room`: how wide the column with a heading is; 0 where nobody knows."""
        super().__init__(window)
        self._window = window
        self._host = host
        self._screen_width = screen_width
        self._room = room

    def show(self, first: int, count: int) -> None:
        super().show(first, count)
        self._window.show(first, count)

    def key_of(self, row: Json) -> int:
        return int(row["id"])

    def cells_of(self, row: Json) -> Sequence[Cell]:
        host = self._host
        now_ms = host.feed.now_ms()
        sign, style = words.glyph(row, host.glyphs)
        name = Cell(*words.name(row))
        if self._screen_width() < SMALL:
            name = Cell(f"{sign} ", style, (name,))
        return (
            Cell(*words.state(row, host.glyphs, self._room("STATE"))),
            name,
            Cell(*words.schedule(row)),
            Cell(*words.next_time(row, host.when, now_ms)),
            Cell(*words.last(row, now_ms, self._room("LAST") or words.LAST_WIDTH)),
            _strip(row),
            Cell(words.coarse(float(row["p50"])) if row.get("p50") is not None else "", "-dim"),
            Cell(" ".join(row.get("tags") or ()), "-dim"),
            Cell(str(row.get("owner") or ""), "-dim"),
        )


def _strip(job: Json) -> Cell:
    """Each run in its own style, the same ones together."""
    parts: list[Cell] = []
    for mark in strip.newest_at_the_end(job.get("recent")):
        style = "-dim" if mark == "." else strip.MEANINGS.get(mark, ("", ""))[1]
        if parts and parts[-1].style == style:
            parts[-1] = Cell(parts[-1].text + mark, style)
        else:
            parts.append(Cell(mark, style))
    return parts[0]._replace(more=tuple(parts[1:]))
