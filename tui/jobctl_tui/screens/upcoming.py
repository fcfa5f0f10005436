"""What fires next, on a line of time: a lane for each job, what all of them come to, and what stands out in it."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult

from jobctl.client.sync import Client
from jobctl.errors import JobctlError
from jobctl.reading.safe import cell
from jobctl.reading.times import milliseconds, rfc3339, span, took
from jobctl_tui.actions import Action
from jobctl_tui.live.aim import Aim
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.upcoming import Upcoming
from jobctl_tui.live.window import Dirty, Window
from jobctl_tui.screens.empty import Empty, no_match
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.jobacting import JobActing
from jobctl_tui.screens.lines import Line, Lines, rule
from jobctl_tui.screens.painted import Painted
from jobctl_tui.screens.peek import Peek
from jobctl_tui.screens.rest import Rest
from jobctl_tui.screens.times import TimesScreen, ahead
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.columns import Column
from jobctl_tui.widgets.vtable import VTable
from jobctl_tui.words import timeline
from jobctl_tui.words.timeline import Shape
from jobctl_tui.words.times import Ahead

Json = dict[str, Any]

#: Runs have begun and ended, and nobody says so of a lane: it is read anew after so long.
STALE_MS: Final = 3_000
WIDE: Final = 100
TALL: Final = 30
#: Jobs that are read by themselves at most; of more the window is read.
_ALONE: Final = 16
#: Lines of warnings at most.
_WARNINGS: Final = 8


class Lanes(Painted[Json]):
    """Jobs are read as they come onto the screen."""

    def __init__(self, tab: "UpcomingTab") -> None:
        super().__init__(tab.window)
        self._tab = tab

    def show(self, first: int, count: int) -> None:
        super().show(first, count)
        self._tab.window.show(first, count)

    def key_of(self, row: Json) -> int:
        return int(row["id"])

    def cells_of(self, row: Json) -> Sequence[Cell]:
        host, tab = self._tab.host, self._tab
        from_now = tab.since_ms is None
        parts = timeline.lane(row, tab.cell_ms, host.glyphs, from_ms=tab.from_ms(), from_now=from_now)
        first, *more = [Cell(*part) for part in parts] or [Cell("")]
        cells = [Cell(str(row["name"])), first._replace(more=tuple(more))]
        if tab.shape.fires:
            cells.insert(1, Cell(*timeline.fires_words(row, host.glyphs)))
        if tab.shape.next:
            cells.insert(2, self._next(row))
        return cells

    def _next(self, row: Json) -> Cell:
        now_ms = self._tab.host.feed.now_ms()
        if row["late_since"] is not None:
            return Cell(timeline.ahead(row["late_since"], now_ms), "-late")
        at = row["next_run_at"]
        return Cell(self._tab.host.glyphs.dash, "-dim") if at is None else Cell(timeline.ahead(at, now_ms))


class UpcomingTab(JobActing):
    """`jobctl_tui.host.Pane`."""

    SCOPED_CSS = False  # the size of the screen is a class of that
    DEFAULT_CSS: ClassVar[str] = """
    UpcomingTab #totals { height: 3; }
    UpcomingTab #warnings { height: auto; display: none; }
    UpcomingTab.-warned #warnings { display: block; }
    UpcomingTab Empty { display: none; }
    UpcomingTab.-empty VTable, UpcomingTab.-empty Peek, UpcomingTab.-empty #totals { display: none; }
    UpcomingTab.-empty Empty { display: block; }
    UpcomingTab.-short #totals { display: none; }
    Screen.-low UpcomingTab Peek { display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.hours = 24
        self.shape = Shape(14, 6, 0, 48)
        self.since_ms: int | None = None
        """Where the window begins; None: now."""
        self._wants_warnings: bool | None = None
        self._details: dict[int, Json] = {}
        """By job: its next fires and how long it usually takes."""
        self._rest = Rest(self, self._read)
        self._wanted: set[int] = set()
        """Jobs that are to be read by themselves."""
        self._read_ms = 0
        self._stale = False

    # ── what it is made of ─────────────────────────────────
    def make(self) -> None:
        host = self.host
        self.source = Upcoming()
        self.window = Window(self.source, host.errands, host.clock, self.came)
        self.lanes = Lanes(self)
        self.table = VTable(self.lanes, self._columns(), host.glyphs)
        self.strip = Peek(host.glyphs)
        self.empty = Empty()
        self.totals, self.warnings = Lines(id="totals"), Lines(id="warnings")

    def compose(self) -> ComposeResult:
        self.make()
        yield self.table
        yield self.empty
        yield self.totals
        yield self.warnings
        yield self.strip
        yield self.bar

    def on_mount(self) -> None:
        self._fit()

    def on_show(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """As many cells as there is room for: other ones are asked for."""
        screen = self.screen.size
        self.strip.set_class(screen.height >= TALL, "-tall")
        self.set_class(screen.height < 18, "-short")
        self.set_class(self._warned(), "-warned")
        self.shape = timeline.shape(max(20, screen.width), self.hours)
        self.ask()
        self.call_after_refresh(self._paint)

    @property
    def cell_ms(self) -> int:
        return self.hours * 3_600_000 // self.shape.cells

    def _warned(self) -> bool:
        """Whether crowded minutes and clock changes are shown: by themselves where there is room for them."""
        screen = self.screen.size
        return screen.height >= TALL if self._wants_warnings is None else self._wants_warnings

    def ask(self) -> None:
        """With another zoom, place or filter."""
        since = None if self.since_ms is None else rfc3339(self.since_ms)
        self.window.ask(hours=self.hours, cells=self.shape.cells, since=since, q=self.query_text or None)
        self._read_ms = self.host.clock.awake_ms()

    # ── Pane ───────────────────────────────────────────────
    def changed(self, changes: Changes) -> None:
        for ident in changes.jobs:
            self._details.pop(ident, None)
        self._stale = self._stale or bool(changes.jobs or changes.runs)
        if changes.reset:
            self._details.clear()
        super().changed(changes)
        self._read_alone(self.source.ids(changes))
        if changes.status:
            self._paint()

    def _read_alone(self, idents: Iterable[int]) -> None:
        """What has just been done to a job is seen at once, however long all of them take."""
        self._wanted |= {ident for ident in idents if self.window.find(ident) is not None}
        if not self._wanted or self.window.resting:
            self._wanted.clear()
            return
        wanted, query, source = sorted(self._wanted)[:_ALONE], self.window.query, self.source

        def came(rows: list[Json]) -> None:
            self._wanted.difference_update(wanted)
            if query == self.window.query:
                self.window.exchange(rows)

        def failed(_: JobctlError) -> None:
            """The window reads it too, later."""
            self._wanted.difference_update(wanted)

        self.host.errand(
            "look at it", lambda client: source.alone(client, query, wanted), came, failed, "upcoming.alone"
        )

    def tick(self) -> None:
        """Also moves on with the clock: the first cell is the one that has now in it."""
        passed = self.from_ms() + self.cell_ms <= self.host.feed.now_ms() if self.since_ms is None else False
        old = self.host.clock.awake_ms() - self._read_ms >= STALE_MS
        if self.window.known and (passed or (self._stale and old)):
            self._stale = False
            self._read_ms = self.host.clock.awake_ms()
            self.window.reorder()
        super().tick()

    def about(self) -> str:
        """For the line of the tabs."""
        if not self.window.known:
            return "reading…" if self.window.error is None else cell(self.window.error.message)
        since = "" if self.since_ms is None else self._clock(rfc3339(self.since_ms))
        narrow = self.screen.size.width < WIDE
        more = {**self.window.more, "total": self.window.total}
        return timeline.about(more, self.hours, since, self.host.glyphs, narrow=narrow)

    def aim(self, row: Json) -> Aim:
        return Aim(int(row["id"]), str(row["name"]))

    def differing(self) -> Iterable[int]:
        return self.lanes.differing()

    def values(self) -> dict[str, list[str]]:
        return {}

    # ── what has changed ───────────────────────────────────
    def came(self, dirty: Dirty) -> None:
        if not self.is_mounted:
            return
        super().came(dirty)
        none = self.window.known and self.window.total == 0 and not self.window.loading
        self.set_class(none, "-empty")
        if none:
            self.empty.show(no_match(self.query_text) if self.query_text else self._nothing())
        self._paint()

    def _nothing(self) -> list[Line]:
        words = timeline.ZOOM_WORDS[self.hours]
        return [
            [(f"Nothing fires in {'the next' if self.since_ms is None else 'these'} {words}.", "-bold")],
            [],
            [("A longer window:        ", ""), ("-", "-key")],
            [("All jobs, also by hand: ", ""), ("1", "-key")],
            [("Add one:                ", ""), ("jobctl add hello --every 5m -- echo hello", "-key")],
        ]

    # ── what is painted around the lanes ───────────────────
    def from_ms(self) -> int:
        begin = self.window.more.get("from")
        return milliseconds(begin) if begin else self.host.feed.now_ms() // self.cell_ms * self.cell_ms

    def _columns(self) -> list[Column]:
        made = self.shape
        viewer = self.host.when.viewer(self.host.feed.now_ms())
        marks = timeline.axis(self.from_ms(), self.hours, made.cells, viewer.moment)
        columns = [Column("JOB", made.name), Column(marks, made.cells + 1)]
        if made.fires:
            columns.insert(1, Column("FIRES", made.fires, align="right"))
        if made.next:
            columns.insert(2, Column("NEXT", made.next, align="right"))
        return columns

    def _paint(self) -> None:
        if not self.is_mounted:
            return
        self.table.set_columns(self._columns())
        self.totals.show(self._totals())
        lines = self._warning_lines()
        self.warnings.styles.height = len(lines)
        self.warnings.show(lines)
        self.peek()

    def _totals(self) -> list[Line]:
        more, glyphs, made = self.window.more, self.host.glyphs, self.shape
        density: Sequence[float] = more.get("density") or ()
        if len(density) != made.cells:
            return []
        slots = int(more.get("slots") or 0)
        room = made.start - 1
        words = timeline.cell_words(self.hours, made.cells)
        return [
            [],
            self._total(f"fires/{words}", timeline.dense(density, glyphs), room),
            self._total(f"busy of {slots}", timeline.heights(more.get("busy") or (), slots, glyphs), room),
        ]

    def _total(self, label: str, line: str, room: int) -> Line:
        return [(f" {label[:room]:<{room}}", "-dim"), (line, "-key")]

    def _warning_lines(self) -> list[Line]:
        if not self._warned() or not self.window.known:
            return []
        more, glyphs = self.window.more, self.host.glyphs
        lines: list[Line] = [*timeline.crowded(more, self._clock, 5 if self.screen.size.height >= TALL else 3)]
        lines = lines or [[("  no minute in which several start at once", "-dim")]]
        lines += timeline.clock_changes(more, self._clock)
        if left := timeline.left_out(more):
            lines.append([(f"  {left}", "-late")])
        return [rule("crowded minutes and clock changes", self.screen.size.width, glyphs.rule), *lines[:_WARNINGS]]

    def _clock(self, at: str) -> str:
        return self.host.when.viewer(self.host.feed.now_ms()).clock(at)

    # ── the job under the cursor ───────────────────────────
    def peek(self) -> None:
        if not self.is_mounted:
            return
        row = self.current()
        if row is None:
            gone = "" if self.window.total == 0 else "this job is not in the window any more; move to choose another"
            self.strip.tell("", [[(gone, "-dim")]])
            return
        found = self._details.get(int(row["id"]))
        self.strip.tell(self._title(row, found), [self._usual(row, found), self._held(row, found)])
        if found is None:
            self._rest.on(int(row["id"]))

    def _title(self, row: Json, found: Json | None) -> str:
        dot = f" {self.host.glyphs.dot} "
        parts = [cell(row["name"])]
        items = (found or {}).get("items") or []
        at = row["next_run_at"] or (items[0]["at"] if items else None)
        if at is not None:
            word = "would be next" if row["paused"] else "next"
            parts += [f"{word} {self._clock(at)}", f"in {timeline.ahead(at, self.host.feed.now_ms())}"]
        later = [item for item in items if item["at"] != at][:3]
        if later:
            parts.append(f"then {timeline.coming(later, self._clock)}")
        return dot.join(parts)

    def _usual(self, row: Json, found: Json | None) -> Line:
        usual = timeline.usual((found or {}).get("took"), took)
        if not usual:
            known = found is not None
            return [("how long it takes is not known yet" if known else "", "-dim")]
        line: list[tuple[str, str]] = [(usual, "")]
        p50, at = (found or {})["took"]["p50"], row["next_run_at"]
        if at is not None and not row["paused"] and p50 >= 60:
            ends = rfc3339(milliseconds(at) + round(p50 * 1000))
            line.append((f" {self.host.glyphs.arrow} until about {self._clock(ends)}", "-dim"))
        return line

    def _held(self, row: Json, found: Json | None) -> Line:
        job = (found or {}).get("job") or {}
        if row["late_since"] is not None:
            since = span((self.host.feed.now_ms() - milliseconds(row["late_since"])) / 1000)
            return [(f"late: due since {self._clock(row['late_since'])}, {since}, and has not begun", "-late")]
        if row["paused"]:
            why = cell(job.get("suspended_why") or job.get("paused_why") or "a pause holds it")
            until = job.get("suspended_until")
            return [(f"held: {why}" + (f", until {self._clock(until)}" if until else ""), "-paused")]
        left_out = timeline.left_out_words(row, self._clock)
        words = cell((job.get("schedule") or {}).get("words") or "")
        if not left_out:
            return [(words, "-dim")]
        return [(left_out, "-late"), (f" {self.host.glyphs.dot} {words}", "-dim")]

    def _read(self) -> None:
        row = self.current()
        if row is None or int(row["id"]) in self._details:
            return
        ident = int(row["id"])

        def came(found: Json) -> None:
            self._details[ident] = found
            self.peek()

        self.host.errand("look at it", lambda client: details(client, ident), came, lambda _: None, "upcoming.peek")

    # ── keys: the window ───────────────────────────────────
    def act_time_later(self) -> None:
        self._move(1)

    def act_time_earlier(self) -> None:
        self._move(-1)

    def _move(self, by: int) -> None:
        """A quarter of the window; back at most to now."""
        step = max(self.cell_ms, self.hours * 3_600_000 // 4)
        now_ms = self.host.feed.now_ms()
        since_ms = (now_ms if self.since_ms is None else self.since_ms) // self.cell_ms * self.cell_ms + by * step
        self.since_ms = since_ms if since_ms > now_ms else None
        self._moved()

    def act_time_now(self) -> None:
        self.since_ms = None
        self._moved()

    def act_time_in(self) -> None:
        self._zoom(-1)

    def act_time_out(self) -> None:
        self._zoom(1)

    def _zoom(self, by: int) -> None:
        at = timeline.ZOOMS.index(self.hours) + by
        if 0 <= at < len(timeline.ZOOMS):
            self.hours = timeline.ZOOMS[at]
            self._moved()

    def _moved(self) -> None:
        self._fit()
        if isinstance(self.screen, Framed):
            self.screen.renew_lines()

    def act_upcoming_warnings(self) -> None:
        self._wants_warnings = not self._warned()
        self._fit()

    # ── keys: the job ──────────────────────────────────────
    def label(self, action: Action) -> str | None:
        """Enter opens what this tab is about."""
        return "Times" if action.id == "open" else None

    def act_open(self) -> None:
        row = self.current()
        if row is None:
            return
        ident = int(row["id"])

        def came(found: Ahead) -> None:
            self.app.push_screen(TimesScreen(found, self.host.when, self.host.feed.now_ms()))

        self.host.errand(f"times of {row['name']}", lambda client: ahead(client, ident), came, group="upcoming.times")

    def act_upcoming_job(self) -> None:
        row = self.current()
        if row is not None:
            self.host.go_to_job(int(row["id"]))

    def act_upcoming_skip(self, *said: str) -> None:
        self.act_job_skip(*said)

    def act_upcoming_pause(self, *said: str) -> None:
        self.act_job_pause(*said)

    def act_upcoming_edit(self, *said: str) -> None:
        self.act_job_edit(*said)

    def _turn(self, aims: Sequence[Aim]) -> None:
        """Resumes what a pause holds; a pause of its queue is ended there."""
        rows = [row for aim in aims if (row := self.window.find(aim.id)) is not None]
        if rows and all(row["paused"] for row in rows):
            self._resume(aims)
        else:
            self._pause(aims)


def details(client: Client, ident: int) -> Json:
    """Of one job: what comes next, how long it takes, what holds it."""
    job = client.job(ident)
    coming = client.job_next(ident, 4)
    return {"job": job, "items": coming.get("items") or [], "took": client.durations(ident, 30)}
