"""A log of any length, seen through a window: what stands at its top is known by the offset of its bytes.

So nothing on the screen moves when the log grows, when its middle is removed, or while its lines are still being
counted; only while it is followed its end is what is seen.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from jobctl_tui.live.log import Asks, LogPages, LogState
from jobctl_tui.live.loglines import LogLine
from jobctl_tui.live.logsearch import LogSearch
from jobctl_tui.live.logtext import shown
from jobctl_tui.widgets.cells import Cell, clean, cut
from jobctl_tui.widgets.looks import Looks
from jobctl_tui.words.glyphs import UTF8, Glyphs
from jobctl_tui.words.linewrap import wrapped

#: Painted at most so often while the log grows, seconds.
EVERY_S: Final = 0.25
#: A match that was jumped to stands so far from the top.
_ABOVE: Final = 1 / 3


class LogFacts(NamedTuple):
    """What can be said around a log."""

    state: LogState = LogState()
    size: int = 0
    lines: int | None = None
    """None while they are being counted."""
    line: int | None = None
    """The number of the last line on the screen."""
    newer: int | None = 0
    """Lines below it; None while they are being counted."""
    follow: bool = True
    wrap: bool = False
    only: bool = False
    pattern: str = ""
    match: int | None = None
    """The match that is meant, from 1."""
    matches: int = 0
    """Lines in which the pattern was found so far."""
    looked: float = 1.0
    """How much of the log has been looked through, 0 to 1."""
    gave_up: bool = False
    """The pattern takes too long; what it found before is shown."""


class Gutter(NamedTuple):
    """When lines were written: by when the first so many bytes were there, oldest first, and how a time is written."""

    times: Sequence[tuple[int, int]] = ()
    stamp: Callable[[int], str] = str

    @property
    def width(self) -> int:
        """Columns of a time: of the first or of the last, which are the extremes where they grow."""
        ends = (self.times[0], self.times[-1]) if self.times else ()
        return max((cell_len(self.stamp(at_ms)) for _, at_ms in ends), default=0)

    def of(self, start: int) -> str:
        """The time of the line that begins at that byte; nothing when it is not known yet."""
        low, high = 0, len(self.times)
        while low < high:
            middle = (low + high) // 2
            if self.times[middle][0] <= start:
                low = middle + 1
            else:
                high = middle
        return self.stamp(self.times[low][1]) if low < len(self.times) else ""


class _Row(NamedTuple):
    """What stands on one line of the screen."""

    cells: tuple[Cell, ...]
    start: int = -1
    """Of the line that it is of; -1: of none."""
    part: int = 0
    """Which row of that line."""


class LogView(Looks, can_focus=True):
    """Shows `LogPages`. Whoever owns it closes both, and calls the methods below for the keys."""

    DEFAULT_CSS = "LogView { height: 1fr; width: 1fr; }"

    class Told(Message):
        """`facts` are others than before."""

        def __init__(self, view: "LogView") -> None:
            super().__init__()
            self.view = view

    def __init__(
        self,
        errands: Asks,
        glyphs: Glyphs = UTF8,
        *,
        wrap: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.facts = LogFacts()
        self._errands = errands
        self._glyphs = glyphs
        self._pages: LogPages | None = None
        self._gutter = Gutter()
        self._ending: Cell | None = None
        self._wrap = wrap
        self._only = False
        self._follow = True
        self._top, self._part = 0, 0
        self._owed = 0
        """Rows that are still to be scrolled, when the lines there have come."""
        self._aside = 0
        self._search: LogSearch | None = None
        self._match: int | None = None
        self._jump = 0
        """Where to a match is looked for, 1 or -1, that has not been found yet."""
        self._rows: list[_Row] = []
        self._waits = self._dirty = self._held = False

    # ── which log ──────────────────────────────────────────
    @property
    def pages(self) -> LogPages | None:
        return self._pages

    def show(self, pages: LogPages) -> None:
        """This log from now on, at its end. Its `changed` is the view's. What was looked for is looked for in it."""
        pattern = self._search.pattern if self._search is not None else ""
        self._stop_search()
        self._pages, pages.changed = pages, self._changed
        self._top = self._part = self._owed = self._aside = 0
        self._follow, self._ending, self._gutter = True, None, self._gutter._replace(times=())
        if pattern:
            self.find(pattern)
        self.renew()

    def close(self) -> None:
        """The search and its process end; the pages are their owner's."""
        self._stop_search()

    def on_unmount(self) -> None:
        self.close()

    @property
    def line_here(self) -> str:
        """The text of the match that is meant, else of the last line on the screen."""
        start = self._match
        if start is None:
            start = next((row.start for row in reversed(self._rows) if row.start >= 0), None)
        lines = self._pages.forward(start, 1)[0] if self._pages is not None and start is not None else []
        return shown(lines[0].data).text if lines and not lines[0].dropped else ""

    def set_gutter(self, gutter: Gutter) -> None:
        self._gutter = gutter
        self.renew()

    def set_ending(self, ending: Cell | None) -> None:
        """What stands below the last line of a log that is complete."""
        self._ending = ending
        self.renew()

    def set_glyphs(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self.renew()

    # ── moving ─────────────────────────────────────────────
    def scroll_rows(self, by: int) -> None:
        """Down by so many rows of the screen, or up. The end of the log is where it is followed."""
        if self._follow and by >= 0:
            return
        self._follow = False
        self._jump = 0
        self._owed += by
        self.renew()

    def page(self, by: float) -> None:
        """By so many screens: 1, -1, 0.5 …"""
        rows = max(1, int(abs(by) * max(1, self.size.height - 1)))
        self.scroll_rows(rows if by > 0 else -rows)

    def to_first(self) -> None:
        self._follow, self._owed, self._jump = False, 0, 0
        self._top, self._part = self._first(), 0
        self.renew()

    def to_last(self) -> None:
        """The end, as it is written."""
        self._follow, self._owed, self._jump = True, 0, 0
        self.renew()

    def toggle_follow(self) -> None:
        if self._follow:
            self._follow = False
            self.renew()
        else:
            self.to_last()

    def pan(self, by: int) -> None:
        """Sideways by columns, where lines are not wrapped."""
        self._aside = max(0, self._aside + by)
        self.renew()

    def toggle_wrap(self) -> None:
        self._wrap = not self._wrap
        self._part = self._aside = 0
        self.renew()

    # ── finding ────────────────────────────────────────────
    def find(self, pattern: str, *, backward: bool = False) -> None:
        """Goes to the first line from here on (or back) in which it is found; an empty one finds nothing any more.

        Raises `InvalidInput` when it is no pattern.
        """
        if self._search is not None and self._search.pattern == pattern:
            return
        search = None
        if pattern and self._pages is not None:
            search = LogSearch(self._pages, pattern, self._errands, self._changed)
        self._stop_search()
        self._search = search
        if search is None:
            self._only = False
        else:
            self._jump = -1 if backward else 1
            search.go_on()
        self.renew()

    def next_match(self) -> None:
        """The next line in which it is found; behind the last one the first."""
        self._jump = 1
        self.renew()

    def previous_match(self) -> None:
        self._jump = -1
        self.renew()

    def toggle_only(self) -> None:
        """Only lines in which it is found, or all; what was seen stays in sight as far as it goes."""
        if self._search is None:
            return
        self._only = not self._only
        self._part = 0
        if self._only:
            before = self._search.previous(self._top + 1)
            self._top = before if before is not None else self._first()
        self.renew()

    def _stop_search(self) -> None:
        if self._search is not None:
            self._search.close()
        self._search, self._match, self._jump = None, None, 0

    # ── news ───────────────────────────────────────────────
    def _changed(self) -> None:
        """The log or the search has more: painted now, and then not again for a while."""
        if self._search is not None:
            self._search.go_on()
        if self._waits or (self._held and self._follow):
            self._dirty = True
            return
        self.renew()
        if self.is_attached:
            self._waits = True
            self.set_timer(EVERY_S, self._waited)

    def _waited(self) -> None:
        self._waits = False
        if self._dirty:
            self._dirty = False
            self._changed()

    def hold(self, held: bool) -> None:
        """What comes at the end that is followed is not shown, until it is let go."""
        self._held = held
        if not held:
            self._waited()

    def on_resize(self) -> None:
        self._rows = []
        self.renew()
        self.refresh()

    def renew(self) -> None:
        """Finds out what is to be seen, and paints the lines of the screen that differ."""
        if self._pages is None or not self.size.width or not self.size.height:
            return
        self._go_to_match()
        self._scroll()
        rows = self._framed(self.size.height)
        if self._search is not None:
            self._search.ask()
        for y, row in enumerate(rows):
            if y >= len(self._rows) or self._rows[y].cells != row.cells:
                self.refresh(Region(0, y, self.size.width, 1))
        if len(rows) < len(self._rows):
            self.refresh(Region(0, len(rows), self.size.width, len(self._rows) - len(rows)))
        self._rows = rows
        self._tell(rows)

    def _tell(self, rows: list[_Row]) -> None:
        pages, search = self._pages, self._search
        assert pages is not None
        bottom = next((row.start for row in reversed(rows) if row.start >= 0), None)
        line = pages.number(bottom) if bottom is not None else None
        facts = LogFacts(
            pages.state,
            pages.size,
            pages.count,
            line,
            self._newer(line),
            self._follow,
            self._wrap,
            self._only,
            search.pattern if search is not None else "",
            search.place(self._match) if search is not None and self._match is not None else None,
            len(search.starts) if search is not None else 0,
            search.share if search is not None and search.state == "looking" else 1.0,
            search is not None and search.state == "gave up",
        )
        if facts != self.facts:
            self.facts = facts
            self.post_message(self.Told(self))

    def _newer(self, line: int | None) -> int | None:
        count = self._pages.count if self._pages is not None else None
        return count - line if count is not None and line is not None else None

    # ── lines, or those that match ─────────────────────────
    def _forward(self, start: int, count: int) -> tuple[list[LogLine], bool]:
        """From the line that begins at `start`, or the next that is shown."""
        assert self._pages is not None
        if not self._only or self._search is None:
            return self._pages.forward(start, count)
        at: int | None = start if self._search.place(start) else self._search.next(start)
        found: list[LogLine] = []
        while at is not None and len(found) < count:
            lines, there = self._pages.forward(at, 1)
            if not there:
                return found, False
            found += lines
            at = self._search.next(at)
        return found, self._search.state != "looking"

    def _backward(self, start: int, count: int) -> tuple[list[LogLine], bool]:
        """Before the line that begins at `start`, the nearest first."""
        assert self._pages is not None
        if not self._only or self._search is None:
            return self._pages.backward(start, count)
        at = self._search.previous(start)
        found: list[LogLine] = []
        while at is not None and len(found) < count:
            lines, there = self._pages.forward(at, 1)
            if not there:
                return found, False
            found += lines
            at = self._search.previous(at)
        return found, True

    def _first(self) -> int:
        if self._only and self._search is not None and self._search.starts:
            return self._search.starts[0]
        return 0

    # ── where the window is ────────────────────────────────
    def _scroll(self) -> None:
        """Moves the top by the rows that are owed, as far as lines are here; the rest stays owed."""
        if self._owed < 0:
            self._scroll_up()
        elif self._owed > 0:
            self._scroll_down()
            if self._at_end():  # once for all rows: it looks at a whole screen
                self._follow, self._owed = True, 0

    def _scroll_up(self) -> None:
        while self._owed < 0:
            if self._part > 0:
                step = min(self._part, -self._owed)
                self._part -= step
                self._owed += step
                continue
            lines, there = self._backward(self._top, 1)
            if not lines:
                self._owed = 0 if there else self._owed
                return
            self._top, self._part = lines[0].start, self._height(lines[0])

    def _scroll_down(self) -> None:
        while self._owed > 0:
            lines, there = self._forward(self._top, 2)
            if not lines:
                self._owed = 0 if there else self._owed
                return
            left = self._height(lines[0]) - 1 - self._part
            if left > 0:
                step = min(left, self._owed)
                self._part += step
                self._owed -= step
            elif len(lines) > 1:
                self._top, self._part = lines[1].start, 0
                self._owed -= 1
            else:
                self._owed = 0 if there else self._owed
                return

    def _at_end(self) -> bool:
        """Whether all from the top on has room on the screen."""
        rows, complete = self._from_top(self.size.height + 1)
        return complete and len(rows) <= self.size.height

    def _from_top(self, count: int) -> tuple[list[_Row], bool]:
        """So many rows from the top of the window, and whether none is missing because it is not here yet."""
        rows: list[_Row] = []
        skip, at = self._part, self._top
        while len(rows) < count:
            lines, there = self._forward(at, max(1, min(count - len(rows), 64)))
            for line in lines:
                rows += self._rows_of(line)[skip:]
                skip = 0
            if not there:
                return rows[:count], False
            if not lines or lines[-1].next <= at:
                break
            at = lines[-1].next
        if len(rows) < count:
            rows += self._after()
        return rows[:count], True

    def _to_end(self, count: int) -> list[_Row]:
        """The last rows of the log."""
        assert self._pages is not None
        rows = self._after()[::-1]
        at = self._pages.size
        while len(rows) < count:
            lines, there = self._backward(at, max(1, min(count - len(rows), 64)))
            for line in lines:
                rows += self._rows_of(line)[::-1]
            if not lines:
                break
            at = lines[-1].start
            if not there:
                break
        rows = rows[:count][::-1]
        first = next((row for row in rows if row.start >= 0), None)
        if first is not None:
            self._top, self._part = first.start, first.part
        return rows

    def _framed(self, height: int) -> list[_Row]:
        """The rows of the screen: those of the log, and what is to be said about it."""
        assert self._pages is not None
        if not self._pages.size:
            return self._nothing()
        if self._only and self._search is not None and not self._search.starts:
            return [_Row((Cell(self._no_match(), "-dim"),))]
        if not self._follow:
            rows, there = self._from_top(height)
            if there and len(rows) < height and self._top > self._first():
                rows = self._to_end(height)  # no window is opened beyond the end
        else:
            rows = self._to_end(height)
        if self._pages.state.resets and rows and rows[0].start == 0 and rows[0].part == 0:
            cut_short = _Row((Cell("the command has cut its log short: this is what it wrote since", "-late"),))
            rows = [cut_short, *(rows[1:] if self._follow and len(rows) == height else rows[: height - 1])]
        notice = self._notice(rows) if height > 1 and not self._follow and len(rows) == height else None
        return [*rows[:-1], notice] if notice is not None else rows

    def _notice(self, rows: list[_Row]) -> _Row | None:
        """How much a log that still grows has below what is seen."""
        pages = self._pages
        if pages is None or pages.state.state not in ("live", "lost"):
            return None
        bottom = rows[-2].start if len(rows) > 1 else -1
        newer = self._newer(pages.number(bottom)) if bottom >= 0 else None
        if newer == 0:
            return None
        much = "newer lines" if newer is None else f"{newer:,} newer line{'s' if newer > 1 else ''}".replace(",", " ")
        words = f" {self._glyphs.paused} scrolled up {self._glyphs.dash} {much} below. "
        return _Row((Cell(words, "-late"), Cell("f", "-key"), Cell(" follows", "-late")))

    def _nothing(self) -> list[_Row]:
        assert self._pages is not None
        state = self._pages.state
        words = {
            "connecting": f"reading the log {self._glyphs.ellipsis}",
            "waiting": "the run has not begun: its log comes here when it does",
            "live": "nothing has been printed yet",
            "done": "it printed nothing",
            "lost": "the daemon is away: the log is read when it is back",
            "missing": f"there is no log: {clean(state.error.message)}" if state.error else "there is no log",
        }[state.state]
        return [_Row((Cell(words, "-dim"),)), *self._after()]

    def _no_match(self) -> str:
        assert self._search is not None
        words = {
            "looking": f"looking {self._glyphs.ellipsis}",
            "done": f"no line has {clean(self._search.pattern)}",
            "gave up": f"given up: {clean(self._search.pattern)} takes too long; try a simpler pattern",
        }
        return words[self._search.state]

    def _after(self) -> list[_Row]:
        """What stands below the last line."""
        over = self._pages is not None and self._pages.state.state == "done"
        return [_Row((self._ending,))] if over and self._ending is not None and not self._only else []

    # ── a match is gone to ─────────────────────────────────
    def _go_to_match(self) -> None:
        search, pages = self._search, self._pages
        if search is None or pages is None or not self._jump:
            return
        forward = self._jump > 0
        begin = self._match if self._match is not None else self._top - 1 if forward else pages.size
        if self._match is None and self._follow and forward:
            begin = -1  # from the end on there is nothing: the first one is meant
        if not forward and search.state == "looking" and search.looked < begin:
            return
        found = search.next(begin) if forward else search.previous(begin)
        if found is None:
            if search.state == "looking":
                return
            found = (search.next(-1) if forward else search.previous(pages.size)) if search.starts else None
        self._jump = 0
        if found is not None:
            self._show_match(found)

    def _show_match(self, start: int) -> None:
        self._match = start
        seen = [row.start for row in self._rows]
        if start in seen[:-1]:
            self._follow = self._follow and self._pages is not None and self._pages.state.state == "done"
            return
        self._follow = False
        self._top, self._part = start, 0
        self._owed = -int(self.size.height * _ABOVE)

    # ── rows of a line ─────────────────────────────────────
    def _height(self, line: LogLine) -> int:
        if not self._wrap or line.dropped:
            return 1
        return len(wrapped(shown(line.data).text, self._text_width()))

    def _gutter_width(self) -> int:
        return self._gutter.width + 4 if self._gutter.times else 1

    def _text_width(self) -> int:
        return max(1, self.size.width - self._gutter_width())

    def _rows_of(self, line: LogLine) -> list[_Row]:
        if line.dropped:
            rule = self._glyphs.rule * 2
            words = f"{rule} {line.dropped:,} bytes were removed here by the log's limit {rule}".replace(",", " ")
            return [_Row((Cell(words, "-late"),), line.start)]
        text, overwritten = shown(line.data)
        more = f"  ({overwritten} written over)" if overwritten else ""
        found = self._search is not None and self._search.place(line.start)
        spans = self._search.spans(text) if self._search is not None and found else []
        if not self._wrap:
            rest = text[self._aside :]
            ranges: tuple[tuple[int, int], ...] = ((self._aside, self._aside + len(rest)),)
        else:
            ranges = wrapped(text, self._text_width())
        rows = []
        for number, (begin, end) in enumerate(ranges):
            cells = [self._left(line, number), *self._painted(text, begin, end, spans, line.start == self._match)]
            if more and number == len(ranges) - 1:
                cells.append(Cell(more, "-dim"))
            rows.append(_Row(tuple(cells), line.start, number))
        return rows

    def _left(self, line: LogLine, number: int) -> Cell:
        width = self._gutter_width()
        goes_on = number > 0 or line.continued
        mark = self._glyphs.wrapped if goes_on else " "
        if not self._gutter.times:
            return Cell(mark, "-dim")
        time = "" if goes_on else self._gutter.of(line.start)
        side = self._glyphs.wrapped if goes_on else self._glyphs.bar
        return Cell(f" {time:<{width - 4}} {side} ", "-dim")

    def _painted(self, text: str, begin: int, end: int, spans: Sequence[tuple[int, int]], here: bool) -> Iterator[Cell]:
        """The characters from `begin` to `end`, with what was found in them."""
        at = begin
        for first, last in spans:
            first, last = max(first, begin), min(last, end)
            if first >= last:
                continue
            if first > at:
                yield Cell(text[at:first])
            yield Cell(text[first:last], "-here" if here else "-found")
            at = last
        if at < end:
            yield Cell(text[at:end])
        elif begin == end:
            yield Cell("")

    # ── painting ───────────────────────────────────────────
    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        line: list[Segment] = []
        left = width
        for cell in self._rows[y].cells:
            text = cut(clean(cell.text), left, self._glyphs.ellipsis)
            line.append(Segment(text, self.look(cell.style)))
            left -= cell_len(text)
            if left <= 0:
                break
        return Strip(line).crop_extend(0, width, self.rich_style)

    # ── the mouse ──────────────────────────────────────────
    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)
