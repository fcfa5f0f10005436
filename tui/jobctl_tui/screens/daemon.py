"""The daemon itself: how it is, its limits, queues and services, the files that it reads, and what happened lately.

Two lists: how it is, and what happened. They stand beside each other where there is room, else one behind the other.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from jobctl_tui.host import Shell
from jobctl_tui.live.changes import Changes
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.down import LINES, look_around, put_above
from jobctl_tui.screens.limit import Limit
from jobctl_tui.screens.moving import Moving
from jobctl_tui.screens.sheet import Said, Sheet
from jobctl_tui.widgets.cells import Cell, Rule
from jobctl_tui.widgets.columns import Column
from jobctl_tui.widgets.vtable import VTable
from jobctl_tui.words import daemon as words
from jobctl_tui.words.daemon import Entry, Row
from jobctl_tui.words.glyphs import Glyphs, style_of

Json = dict[str, Any]

#: From so many columns on what happened has a list of its own.
WIDE: Final = 100
#: Queues are counted by the daemon, so they are asked for: so often while they are shown.
QUEUES_MS: Final = 2_000
COLUMNS: Final = (Column("", 1), Column("", 11), Column("", 20, flex=1))
_LABELS: Final = 14
#: The cursor, the sign and the label with the gaps behind them.
_BEFORE_TEXT: Final = 20
_KEYS_MAX: Final = 5_000


class DaemonRows:
    """`jobctl_tui.widgets.vtable.Rows`: a line keeps its key for as long as it is about the same thing."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._rows: list[Row] = []
        self._places: dict[int, int] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._next = 1

    def put(self, rows: Sequence[Row]) -> set[int] | None:
        """The keys of lines that say something else now; None: other lines than before, or in another order."""
        before, self._rows = self._rows, list(rows)
        if len(self._keys) > _KEYS_MAX:
            here = {row.identity for row in rows if isinstance(row, Entry)}
            self._keys = {identity: key for identity, key in self._keys.items() if identity in here}
        self._places = {}
        for place, row in enumerate(rows):
            if isinstance(row, Entry):
                self._places[self._key(row)] = place
        if [_identity(row) for row in before] != [_identity(row) for row in rows]:
            return None
        return {self._key(new) for old, new in zip(before, rows, strict=True) if isinstance(new, Entry) and old != new}

    def _key(self, entry: Entry) -> int:
        if entry.identity not in self._keys:
            self._keys[entry.identity] = self._next
            self._next += 1
        return self._keys[entry.identity]

    def entry(self, key: int | None) -> Entry | None:
        place = None if key is None else self._places.get(key)
        row = None if place is None else self._rows[place]
        return row if isinstance(row, Entry) else None

    @property
    def count(self) -> int:
        return len(self._rows)

    def cells(self, index: int) -> Sequence[Cell] | Rule | None:
        row = self._rows[index] if 0 <= index < len(self._rows) else None
        if not isinstance(row, Entry):
            return None if row is None else Rule(row.text)
        sign = Cell(self._glyphs.of(row.sign) if row.sign else "", style_of(row.sign))
        return sign, Cell(row.label, row.style or "-dim"), Cell(row.text, row.style)

    def key(self, index: int) -> int | None:
        row = self._rows[index] if 0 <= index < len(self._rows) else None
        return self._key(row) if isinstance(row, Entry) else None

    def index_of(self, key: int) -> int | None:
        return self._places.get(key)

    def show(self, first: int, count: int) -> None:
        """All of them are here."""


def _identity(row: Row) -> tuple[str, str]:
    return row.identity if isinstance(row, Entry) else ("", row.text)


class DaemonTab(Moving, Vertical):
    """`jobctl_tui.host.Pane`."""

    DEFAULT_CSS: ClassVar[str] = """
    DaemonTab #daemon-past { display: none; }
    DaemonTab.-past #daemon-past { display: block; }
    DaemonTab.-past #daemon-now { display: none; }
    DaemonTab.-wide #daemon-now { display: block; }
    DaemonTab.-wide #daemon-past { display: block; margin-left: 1; width: 45%; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._queues: list[Json] = []
        self._asked_ms = -QUEUES_MS
        self._past_of: tuple[object, ...] = ()
        self._past_made: list[Row] = []

    @property
    def host(self) -> Shell:
        return cast("Shell", self.app)

    def compose(self) -> ComposeResult:
        glyphs = self.host.glyphs
        self._now, self._past = DaemonRows(glyphs), DaemonRows(glyphs)
        self._sides = (
            VTable(self._now, COLUMNS, glyphs, header=False, id="daemon-now"),
            VTable(self._past, COLUMNS, glyphs, header=False, id="daemon-past"),
        )
        yield Horizontal(*self._sides)

    def on_resize(self) -> None:
        self.set_class(self.screen.size.width >= WIDE, "-wide")
        self.renew()

    @property
    def table(self) -> VTable:
        """The one that has the keys."""
        now, past = self._sides
        return past if past.has_focus else now

    # ── Pane ───────────────────────────────────────────────
    def changed(self, changes: Changes) -> None:
        """What is not shown is made when it is."""
        if not self.display:
            return
        if changes.reset or any(event["kind"].startswith("queue.") for event in changes.events):
            self._asked_ms = -QUEUES_MS
        if changes.reset:
            self._ask()
        if changes.status or changes.link or changes.reset or changes.events:
            self.renew()

    def tick(self) -> None:
        self._ask()
        self.renew()

    def subject(self) -> str:
        entry = self.entry()
        return "" if entry is None or entry.kind != "queue" else entry.ident

    def about(self) -> str:
        feed = self.host.feed
        return words.about(feed.status, feed.now_ms()) if feed.link.reached else "stale"

    def entry(self) -> Entry | None:
        """What is under the cursor."""
        table = self.table
        return cast("DaemonRows", table.rows).entry(table.cursor_key)

    def _ask(self) -> None:
        awake_ms = self.host.clock.awake_ms()
        if self.host.feed.link.reached and awake_ms - self._asked_ms >= QUEUES_MS:
            self._asked_ms = awake_ms
            self.host.errand("the queues", lambda client: client.queues(), self._came, lambda _: None, group="queues")

    def _came(self, queues: list[Json]) -> None:
        self._queues = queues
        self.renew()

    def renew(self) -> None:
        if not self.is_mounted:
            return
        host, now_ms = self.host, self.host.feed.now_ms()
        status = host.feed.status
        to_past, to_now = self._hints()
        columns = self._sides[0].size.width - _BEFORE_TEXT
        how = [] if status is None else words.now(
            status, self._queues, host.when, now_ms, host.glyphs, to_past, columns)  # fmt: skip
        past = self._past_rows(to_now)
        for table, rows in zip(self._sides, (how, past), strict=True):
            differing = cast("DaemonRows", table.rows).put(rows)
            if differing is None:
                table.refresh_all()
            else:
                table.refresh_keys(differing)

    def _past_rows(self, hint: str) -> list[Row]:
        """Made anew when something has happened or was said, when times are told in another way, and every minute."""
        host = self.host
        feed, said = host.feed, host.all_said()
        newest = feed.recent[-1]["id"] if feed.recent else 0
        made_of = (newest, said[-1:], host.when, feed.now_ms() // 60_000, hint)
        if made_of != self._past_of:
            self._past_of = made_of
            now_ms = feed.now_ms()
            sentences = [(one.at_ms, one.words, one.trouble) for one in said]
            self._past_made = words.past(feed.recent, feed.troubles, host.when, now_ms, hint)
            self._past_made += words.said(sentences, host.when, now_ms)
        return self._past_made

    def _hints(self) -> tuple[str, str]:
        """Of two lists that stand one behind the other, how to come to the other one."""
        if self.has_class("-wide"):
            return "", ""
        dot, arrows = self.host.glyphs.dot, self.host.glyphs.left_right
        return f" {dot} {arrows[-1]} what happened lately", f" {dot} {arrows[0]} how the daemon is"

    # ── keys ───────────────────────────────────────────────
    def act_open(self) -> None:
        """The run or the job that a line is about; of any other line, all that it says."""
        entry = self.entry()
        if entry is None:
            return
        about = entry.about
        if entry.kind == "event" and about["run_id"] is not None:
            self.host.open_run(int(about["run_id"]))
        elif entry.kind == "event" and about["job_id"] is not None and about["kind"] != "job.deleted":
            self.host.go_to_job(int(about["job_id"]))
        else:
            put_above(
                self.host, Sheet(f"{entry.kind} {entry.label.strip()}".removeprefix("fact "), _told(entry), _LABELS)
            )

    def act_copy(self) -> None:
        entry = self.entry()
        if entry is not None:
            self.host.copy(f"{entry.label.strip()}: {entry.text}", "the line")

    def act_daemon_side(self) -> None:
        now, past = self._sides
        to_past = not past.has_focus
        self.set_class(to_past, "-past")
        (past if to_past else now).focus()

    def act_daemon_doctor(self) -> None:
        look_around(self.host)

    def act_daemon_deep(self) -> None:
        look_around(self.host, deep=True)

    def act_daemon_log(self) -> None:
        host = self.host

        def shown(lines: list[Json]) -> None:
            viewer = host.when.viewer(host.feed.now_ms())
            said = [
                Said(line["text"], viewer.clock(line["at"], exact=True), _LEVELS.get(line["level"], ""))
                for line in lines
            ] or [Said("It has written nothing.")]
            columns = max(len(one.label) for one in said)
            put_above(host, Sheet("The daemon's log, the last lines", said, columns, at_end=True))

        host.errand("the daemon's log", lambda client: client.daemon_log(LINES), shown)

    def act_queue_pause(self) -> None:
        queue = self._queue()
        if queue is None:
            return
        name = str(queue["name"])
        pause, resume = _pausing(name, queue), _resuming(name)
        if queue["paused"]:
            back = f"resume of the queue {name} taken back: it is paused again"
            self.host.act(f"resumed the queue {name}", resume, pause, back, self._done)
        else:
            back = f"pause of the queue {name} taken back: its jobs run again"
            self.host.act(f"paused the queue {name}", pause, resume, back, self._done)

    def act_queue_limit(self) -> None:
        queue = self._queue()
        if queue is None:
            return
        name, before = str(queue["name"]), queue["concurrency"]

        def set_to(answer: tuple[int | None] | None) -> None:
            if answer is not None:
                limit = "no limit but the slots" if answer[0] is None else f"{answer[0]} at once"
                self.host.act(
                    f"the queue {name} has {limit}",
                    lambda client: client.set_queue(name, answer[0]),
                    lambda client: client.set_queue(name, before),
                    f"limit of the queue {name} taken back: it is as it was",
                    self._done,
                )

        self.app.push_screen(Limit(queue), set_to)

    def _queue(self) -> Json | None:
        entry = self.entry()
        if entry is None or entry.kind != "queue":
            self.host.say("move to a queue first", trouble=True)
            return None
        return dict(entry.about)

    def act_daemon_pause(self) -> None:
        status = self.host.feed.status
        if status is None:
            return
        if status["paused"]:
            self.host.act("resumed the daemon", lambda client: client.resume_daemon(), done=self._done)
            return
        active = status["running"]
        facts = [
            [(f"No job of {status['jobs']['total']} is started any more, whoever owns it.", "")],
            [(f"What runs goes on: {active}. Times that pass are recorded.", "")],
        ]
        self.app.push_screen(
            Ask("Pause all jobs", facts, "Pause all", "a", cli="jobctl daemon pause"),
            lambda sure: self._pause_all() if sure else None,
        )

    def _pause_all(self) -> None:
        self.host.act(
            "paused the daemon: no job is started",
            lambda client: client.pause_daemon(),
            lambda client: client.resume_daemon(),
            "pause of the daemon taken back: jobs are started again",
            self._done,
        )

    def _done(self, _: object) -> None:
        self._asked_ms = -QUEUES_MS
        self._ask()


_LEVELS: Final = {"error": "-failed", "critical": "-failed", "warning": "-late"}


def _pausing(name: str, queue: Json) -> Callable[[Any], Any]:
    """As it was paused, where it was."""
    until, why = queue["paused_until"], queue["paused_why"]
    return lambda client: client.pause_queue(name, until, why)


def _resuming(name: str) -> Callable[[Any], Any]:
    return lambda client: client.resume_queue(name)


def _told(entry: Entry) -> list[Said]:
    said = [Said(entry.text, entry.label.strip(), entry.style)]
    facts = entry.about.get("data", entry.about)
    if "" in facts:  # a part of a sentence
        return [Said(str(facts[""]), entry.kind, entry.style)]
    return said + [Said(str(value), str(name), "") for name, value in facts.items() if value not in (None, "", [])]
