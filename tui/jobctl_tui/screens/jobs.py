"""The jobs, trouble first: a table, what the one under the cursor is about, and what can be done to it.

What a key does is done to the job that was highlighted when it was pressed, by its id (F144): the table's cursor
belongs to a job, and what is meant is fixed before anything is asked.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Horizontal

from jobctl.reading.safe import cell
from jobctl.windows import JOB_SORTS
from jobctl_tui.live.aim import Aim
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.sources import Jobs
from jobctl_tui.live.views import View, Views
from jobctl_tui.live.window import Dirty, Window
from jobctl_tui.screens.drawer import Drawer, Known
from jobctl_tui.screens.empty import Empty, no_jobs, no_match
from jobctl_tui.screens.jobacting import JobActing, everything
from jobctl_tui.screens.joblist import HUGE, WIDE, JobRows, columns
from jobctl_tui.screens.peek import Peek
from jobctl_tui.screens.rest import Rest
from jobctl_tui.screens.views import ChooseView
from jobctl_tui.widgets.vtable import VTable
from jobctl_tui.words import details

Json = dict[str, Any]

#: Filters that find what most people look for.
TRY: Final = ("state:failed", "state:late,retrying", "tag:prod next<1h", "command:rsync")
#: On screens with fewer lines the strip below has two lines of text, on others three.
TALL: Final = 30
#: So many are marked at once, at most.
MARKED_MAX: Final = 10_000


class JobsTab(JobActing):
    """`jobctl_tui.host.Pane`."""

    SCOPED_CSS = False  # the size of the screen is a class of that
    DEFAULT_CSS: ClassVar[str] = """
    JobsTab > Horizontal { height: 1fr; }
    JobsTab Empty { display: none; }
    JobsTab.-empty > Horizontal, JobsTab.-empty > Peek { display: none; }
    JobsTab.-empty Empty { display: block; }
    Screen.-low JobsTab Peek { display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.view = View()
        self._sought: int | None = None
        self._wants_drawer = True
        self._rest = Rest(self, self._read)

    # ── what it is made of ─────────────────────────────────
    def make(self) -> None:
        host = self.host
        self.views = Views(host.state_dir)
        self.window = Window(Jobs(), host.errands, host.clock, self.came)
        self.rows = JobRows(self.window, host, lambda: self.screen.size.width, lambda name: self.table.width_of(name))
        self.table = VTable(self.rows, columns(0), host.glyphs)
        self.drawer = Drawer(host.glyphs)
        self.strip = Peek(host.glyphs)
        self.empty = Empty()
        self.known = Known(host.errand, lambda _: self.peek())

    def compose(self) -> ComposeResult:
        self.make()
        with Horizontal():
            yield self.table
            yield self.drawer
        yield self.empty
        yield self.strip
        yield self.bar

    def on_mount(self) -> None:
        self._fit()
        self.window.ask(sort=self.view.sort)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        screen = self.screen.size
        self.table.set_columns(columns(screen.width))
        self.drawer.set_class(screen.width >= WIDE and self._wants_drawer, "-open")
        self.drawer.set_class(screen.width >= HUGE, "-huge")
        self.strip.set_class(screen.height >= TALL, "-tall")
        self.call_after_refresh(self.peek)

    # ── Pane ───────────────────────────────────────────────
    def changed(self, changes: Changes) -> None:
        self.known.touch(changes.jobs, all_of_them=changes.reset)
        super().changed(changes)

    def differing(self) -> Iterable[int]:
        return self.rows.differing()

    def about(self) -> str:
        """`14 of 120 · state:failed · next first`."""
        total = int(((self.host.feed.status or {}).get("jobs") or {}).get("total") or 0)
        parts = [f"{self.window.total} of {max(total, self.window.total)}"]
        parts += [cell(self.view.query)] if self.view.query else []
        parts.append(f"{self.view.sort} {'last' if self.view.reverse else 'first'}")
        return f" {self.host.glyphs.dot} ".join(parts)

    # ── what is meant ──────────────────────────────────────
    def aim(self, row: Json) -> Aim:
        return Aim(int(row["id"]), str(row["name"]))

    # ── what has changed ───────────────────────────────────
    def came(self, dirty: Dirty) -> None:
        if not self.is_mounted:
            return
        super().came(dirty)
        if self._sought is not None and self.table.go_to(self._sought):
            self.choose()
            self._sought = None
        none = self.window.known and self.window.total == 0 and not self.window.loading
        self.set_class(none, "-empty")
        if none:
            host, query = self.host, self.view.query
            lines = no_match(query, TRY) if query else no_jobs(host.feed.status, may_change=not host.read_only)
            self.empty.show(lines)

    # ── below and beside ───────────────────────────────────
    def peek(self) -> None:
        """What is said of the job under the cursor; what its row does not have comes later."""
        if not self.is_mounted:
            return
        host, job = self.host, self.current()
        if job is None:
            gone = "" if self.window.total == 0 else "this job is gone; move to choose another"
            self.strip.tell("", [[(gone, "-dim")]])
            self.drawer.tell([])
            return
        ident, now_ms = int(job["id"]), host.feed.now_ms()
        known = self.known.of(ident)
        room = max(1, self.strip.size.height - 1)
        tail = known.tail if known is not None else ()
        title = details.title(job, host.glyphs)
        title = f"{self.marked()} {host.glyphs.dot} {title}" if self.table.marks else title
        self.strip.tell(title, details.below(job, host.when, now_ms, host.glyphs, tail, room))
        if self.drawer.is_open:
            self.drawer.tell(details.beside(job, known, host.when, now_ms, host.glyphs, self.drawer.columns))
        if self.known.wants(ident) and (self.drawer.is_open or room > 2):
            self._rest.on(ident)

    def _read(self) -> None:
        job = self.current()
        if job is not None and self.known.wants(int(job["id"])):
            self.known.read(job)

    def act_drawer(self) -> None:
        self._wants_drawer = not self._wants_drawer
        if self.screen.size.width < WIDE:
            self.host.say(f"details stand beside the list from {WIDE} columns on")
        self._fit()

    # ── what is shown ──────────────────────────────────────
    def values(self) -> dict[str, list[str]]:
        """Of the jobs that are here."""
        jobs = self.rows.shown()
        return {
            "tag": sorted({str(tag) for job in jobs for tag in job.get("tags") or ()}),
            "queue": sorted({str(job["queue"]) for job in jobs}),
            "owner": sorted({str(job["owner"]) for job in jobs}),
            "name": sorted({str(job["name"]) for job in jobs}),
        }

    def look(self, view: View) -> None:
        self.view, self.query_text = view, view.query
        self.window.ask(q=view.query or None, sort=view.sort, reverse=view.reverse or None)
        self.peek()

    def ask(self) -> None:
        self.look(self.view._replace(query=self.query_text))

    def go_to(self, job_id: int) -> None:
        """The cursor to that job, wherever it is in the list; without the filter when that may hide it."""
        if self.window.find(job_id) is None and self.view.query:
            self.look(self.view._replace(query=""))
        self.choose()
        self._sought = job_id
        self.window.around(job_id)

    def act_sort(self) -> None:
        after = JOB_SORTS[(JOB_SORTS.index(self.view.sort) + 1) % len(JOB_SORTS)]
        self.look(self.view._replace(sort=after, reverse=False))

    def act_reverse(self) -> None:
        self.look(self.view._replace(reverse=not self.view.reverse))

    def act_views(self) -> None:
        self.put(ChooseView(self.views, self.view), self.look)

    # ── marks ──────────────────────────────────────────────
    def act_mark_all(self) -> None:
        """All that the filter shows, also those that are not here; none when all are."""
        if 0 < self.window.total <= len(self.table.marks):
            self.table.clear_marks()
            return
        if self.window.total > MARKED_MAX:
            self.host.say(f"{self.window.total} jobs are too many to mark; narrow them down with / first", trouble=True)
            return
        query = dict(self.window.query)
        self.host.errand("mark all", lambda client: everything(client, query, MARKED_MAX), self._mark, group="mark all")

    def _mark(self, jobs: Sequence[Aim]) -> None:
        self._named.update({job.id: job for job in jobs})
        self.table.mark(job.id for job in jobs)
        self.host.say(f"{len(jobs)} jobs are marked; esc clears the marks")
