"""The dead letters: grouped by how they failed, what each is about, and replaying or giving them up."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult

from jobctl.client.sync import Client
from jobctl.errors import JobctlError
from jobctl.reading.runs import first_line
from jobctl.reading.safe import cell
from jobctl_tui.live import burial
from jobctl_tui.live.aim import Aim
from jobctl_tui.live.burial import Gathered, Replayed
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.window import Dirty
from jobctl_tui.screens.deadlist import LOOKED_AT_MAX, DeadList, Wanted, letters_of
from jobctl_tui.screens.deadrows import COLUMNS, DeadRows
from jobctl_tui.screens.discard import Discard
from jobctl_tui.screens.drawer import tail
from jobctl_tui.screens.empty import Empty, no_dead, no_match
from jobctl_tui.screens.listing import Listing
from jobctl_tui.screens.peek import Peek
from jobctl_tui.screens.replay import Replay
from jobctl_tui.screens.rest import Rest
from jobctl_tui.widgets.vtable import VTable
from jobctl_tui.words import dead as words
from jobctl_tui.words.dead import About, Group, Letter, Row

Json = dict[str, Any]

#: Filters that find what most people look for.
TRY: Final = ("name:backup*", "class:timed_out", "error:space", "exit:1 last<1d")
_KEPT: Final = 64
_TALL: Final = 20


class DeadTab(Listing):
    """`jobctl_tui.host.Pane`. A row is a group or a letter; the key of a group is below zero."""

    SCOPED_CSS = False  # the size of the screen is a class of that
    DEFAULT_CSS: ClassVar[str] = """
    DeadTab Empty { display: none; }
    DeadTab.-empty > VTable, DeadTab.-empty > Peek { display: none; }
    DeadTab.-empty Empty { display: block; }
    DeadTab > Peek { height: 5; }
    DeadTab > Peek.-tall { height: 10; }
    DeadTab > Peek.-taller { height: 14; }
    Screen.-low DeadTab Peek { display: none; }
    """

    window: DeadList  # type: ignore[assignment]  # it keeps its rows as still as a Window does

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._about: dict[int, About] = {}
        self._asked: int | None = None
        self._rest = Rest(self, self._read)
        self._sought: str | None = None

    def compose(self) -> ComposeResult:
        host = self.host
        self.window = DeadList(host.errands, host.clock, self.came)
        self.rows = DeadRows(self.window, host)
        self.table = VTable(self.rows, COLUMNS, host.glyphs)
        self.strip = Peek(host.glyphs)
        self.empty = Empty()
        yield self.table
        yield self.empty
        yield self.strip
        yield self.bar

    def on_mount(self) -> None:
        self._fit()
        self.window.reorder()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        height = self.screen.size.height
        self.strip.set_class(height >= _TALL, "-tall")
        self.strip.set_class(height >= 2 * _TALL - 6, "-taller")
        self.call_after_refresh(self.peek)

    # ── Pane ───────────────────────────────────────────────
    def changed(self, changes: Changes) -> None:
        for ident in changes.runs if not changes.reset else list(self._about):
            self._about.pop(ident, None)
        super().changed(changes)

    def differing(self) -> Iterable[int]:
        return self.rows.differing()

    def about(self) -> str:
        """`4 dead letters · 2 groups`, and the filter."""
        read = self.window.read
        groups = (
            len({str(fingerprint) for fingerprint in read.letters}) if self.window.wanted.flat else len(read.groups)
        )
        newest = "the newest " if self.window.wanted.flat and read.total >= LOOKED_AT_MAX else ""
        parts = [f"{newest}{words.count_words(read.total)}", f"{groups} group{'' if groups == 1 else 's'}"]
        parts += [cell(self.query_text)] if self.query_text else []
        return f" {self.host.glyphs.dot} ".join(parts)

    def subject(self) -> str:
        row = self._row()
        return str(row.run["id"]) if isinstance(row, Letter) else str(row.line["newest_run_id"]) if row else ""

    # ── what is meant ──────────────────────────────────────
    def _row(self) -> Row | None:
        key = self.table.cursor_key
        return None if key is None else self.window.row_of(key)

    def aim(self, row: Json) -> Aim:
        if "newest_run_id" in row:
            return Aim(words.group_key(str(row["fingerprint"])), words.said(row))
        return Aim(int(row["id"]), f"run {row['id']}")

    def _newest(self) -> Json | None:
        """The letter under the cursor; of a group the newest of it, as far as it is known."""
        row = self._row()
        if isinstance(row, Letter):
            return row.run
        return None if row is None else {"id": row.line["newest_run_id"], "error": row.line.get("error")}

    # ── what has changed ───────────────────────────────────
    def came(self, dirty: Dirty) -> None:
        if not self.is_mounted:
            return
        super().came(dirty)
        self.table.clear_marks([key for key in self.table.marks if self.window.index_of(key) is None])
        none = self.window.known and self.window.total == 0
        self.set_class(none, "-empty")
        if none:
            self.empty.show(no_match(self.query_text, TRY) if self.query_text else no_dead())

    def ask(self) -> None:
        self.window.show(self.window.wanted._replace(query=self.query_text))

    # ── below ──────────────────────────────────────────────
    def peek(self) -> None:
        if not self.is_mounted:
            return
        row = self._row()
        newest = self._newest()
        if row is None or newest is None:
            gone = "" if self.window.total == 0 else "it is no dead letter any more; move to choose another"
            self.strip.tell("", [[(gone, "-dim")]])
            return
        about = self._about.get(int(newest["id"]))
        room = max(1, self.strip.size.height - 1)
        title = f"run {newest['id']}" if isinstance(row, Letter) else f"newest: run {newest['id']}"
        self.strip.tell(self._title(row, title), words.below(row, about, room))
        if about is None and self._asked != int(newest["id"]):
            self._rest.on(int(newest["id"]))

    def _title(self, row: Row, title: str) -> str:
        dot = self.host.glyphs.dot
        job = words.jobs(row.line) if isinstance(row, Group) else cell(row.run["job"])
        parts = [self.marked(), job, title]
        return f" {dot} ".join(part for part in parts if part)

    def _read(self) -> None:
        newest = self._newest()
        if newest is None or int(newest["id"]) in self._about:
            return
        ident = self._asked = int(newest["id"])

        def came(about: About) -> None:
            self._asked = None
            self._about[ident] = about
            while len(self._about) > _KEPT:
                self._about.pop(next(iter(self._about)))
            self.peek()

        def failed(_: JobctlError) -> None:
            self._asked = None

        self.host.errand("dead letter", lambda client: read(client, ident), came, failed, "dead letter")

    # ── folding, grouping ──────────────────────────────────
    def act_dead_group(self) -> None:
        wanted = self.window.wanted
        self.window.show(wanted._replace(flat=not wanted.flat))

    def act_dead_unfold(self) -> bool:
        return self._fold(open=True)

    def act_dead_fold(self) -> bool:
        return self._fold(open=False)

    def _fold(self, *, open: bool | None = None) -> bool:  # noqa: A002 - that is what it is
        """Of the group under the cursor, or the one that its letter stands below. False: there is none."""
        row = self._row()
        if row is None or (isinstance(row, Letter) and (not row.below or open is not False)):
            return False
        line = row.line if isinstance(row, Group) else row.run
        fingerprint = str(line["fingerprint"])
        unfolded = self.window.wanted.unfolded
        opens = fingerprint not in unfolded if open is None else open
        if not opens:
            self.table.go_to(words.group_key(fingerprint))
        unfolded = unfolded | {fingerprint} if opens else unfolded - {fingerprint}
        self.window.show(self.window.wanted._replace(unfolded=unfolded))
        return True

    def act_open(self) -> None:
        """A group is unfolded or folded; a letter is opened."""
        if not self._fold():
            self._open(find=False)

    def act_dead_log(self) -> None:
        self._open(find=True)

    def _open(self, *, find: bool) -> None:
        newest = self._newest()
        if newest is None:
            self.host.say("there is no dead letter under the cursor")
            return
        line = first_line(newest.get("error"))
        self.host.open_run(int(newest["id"]), cell(line) if find and line else None)

    def act_dead_job(self) -> None:
        self._with_job(lambda job: self.host.go_to_job(int(job["id"])))

    def act_dead_edit(self) -> None:
        self._with_job(self.host.open_editor)

    def _with_job(self, then: Callable[[Json], None]) -> None:
        newest = self._newest()
        if newest is not None:
            ident = int(newest["id"])
            work = lambda client: client.job(client.run(ident)["job_id"])  # noqa: E731
            self.host.errand("its job", work, then, group="job of a dead letter")

    # ── marks ──────────────────────────────────────────────
    def act_mark_all(self) -> None:
        """All rows that are shown, none when some are."""
        if self.table.marks:
            self.table.clear_marks()
        else:
            keys = (self.rows.key(index) for index in range(self.rows.count))
            self.table.mark(key for key in keys if key is not None)

    # ── replaying, giving up ───────────────────────────────
    def _gather(self, verb: str, then: Callable[[Gathered], None]) -> None:
        """What is meant is what was marked or highlighted now, whatever the list shows when the answer comes."""
        aims = self.aims()
        if not aims:
            self.host.say("there is no dead letter under the cursor")
            return
        wanted, known = self.window.wanted, self.window.read
        keys = [aim.id for aim in aims]
        self.window.hold_for(5_000)
        self.host.errand(verb, lambda client: gathered(client, wanted, keys, known), then, group="gather")

    def act_dead_replay(self) -> None:
        def ask(found: Gathered) -> None:
            host = self.host
            self.put(Replay(found, host.glyphs, host.when, host.feed.now_ms()), lambda how: self._replay(found, how))

        self._gather("replay", ask)

    def _replay(self, found: Gathered, how: Json) -> None:
        def done(answer: Replayed) -> None:
            self.table.clear_marks()
            self.window.reorder()
            if answer.skipped:
                first = answer.skipped[0]
                self.host.say(
                    f"{len(answer.ids)} replayed, {len(answer.skipped)} not: run {first['id']}: {first['reason']}",
                    trouble=True,
                )

        self.host.act(words.replayed(found.runs, found.jobs, how), burial.replay(found.ids, how), done=done)

    def act_dead_discard(self) -> None:
        def ask(found: Gathered) -> None:
            host = self.host
            self.put(Discard(found, host.glyphs, host.when, host.feed.now_ms()), lambda why: self._discard(found, why))

        self._gather("discard", ask)

    def _discard(self, found: Gathered, why: str) -> None:
        def done(ids: list[int]) -> None:
            self.table.clear_marks()
            self.window.reorder()
            missed = len(found.ids) - len(ids)
            if missed:
                self.host.say(f"{len(ids)} discarded; {missed} were no dead letters any more", trouble=True)

        self.host.act(f"discarded {words.count_words(len(found.ids))}", burial.discard(found.ids, why), done=done)


# ── in threads ─────────────────────────────────────────────


def read(client: Client, ident: int) -> About:
    run = client.run(ident)
    return About(
        run,
        _or_none(lambda: client.job(run["job_id"])),
        _or_none(lambda: client.work(ident)),
        client.attempts(ident),
        tail(client, ident),
    )


def gathered(client: Client, wanted: Wanted, keys: Sequence[int], known: Any) -> Gathered:
    return burial.gather(client, letters_of(client, wanted, keys, known))


def _or_none(ask: Callable[[], Json]) -> Json | None:
    try:
        return ask()
    except JobctlError:
        return None
