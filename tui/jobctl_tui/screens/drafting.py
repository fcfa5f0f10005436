"""A job as it is written or changed: its fields, what comes of them while they are typed, and what a save would change.

Everything beside the fields is computed here, 150 ms after the last key, by the rules of the daemon; that is asked as
well when it answers.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from secrets import token_hex
from typing import Any, ClassVar, Final

from textual.containers import Container, VerticalScroll
from textual.timer import Timer
from textual.widget import Widget

from jobctl.client.sync import Client
from jobctl.errors import CallerError, Conflict, JobctlError, NotFound
from jobctl.reading.safe import cell
from jobctl_tui.actions import Scope
from jobctl_tui.live.changes import Changes
from jobctl_tui.screens.fields import Edited, Entered, FieldBox, rows
from jobctl_tui.screens.framed import Framed
from jobctl_tui.screens.lines import Line, Lines, rule
from jobctl_tui.screens.review import named
from jobctl_tui.words import fires, origin
from jobctl_tui.words.difference import add_line, between, edit_line, of_api
from jobctl_tui.words.draft import Draft, draft_of
from jobctl_tui.words.field import BY_ID, FIELDS, in_text, place_of
from jobctl_tui.words.fires import Foretold, Trouble
from jobctl_tui.words.outlook import Saved, outlook, saving, told
from jobctl_tui.words.slips import slip_of

Json = dict[str, Any]

#: After the last key.
QUIET_S: Final = 0.15
#: A job that has these is no row of a list.
_WHOLE: Final = frozenset({"target", "env", "retry", "rev", "source"})
_OF_CRON: Final = ("dst_gap", "dst_overlap")
#: Rows of the part below the fields, where it does not stand beside them.
_LEAST, _MOST = 3, 14


class Drafting(Framed):
    """What keys do and how it is saved is said by who derives from it."""

    SCOPES: ClassVar[tuple[Scope, ...]] = (Scope.EDITOR, Scope.EVERYWHERE)
    AUTO_FOCUS = ""
    DEFAULT_CSS: ClassVar[str] = """
    Drafting #crumb, Drafting #hint { height: 1; }
    Drafting.-low #hint { display: none; }
    Drafting #desk { height: 1fr; layout: vertical; }
    Drafting #form { height: 1fr; width: 1fr; }
    Drafting #beside { height: 9; width: 1fr; }
    Drafting #about { height: auto; }
    Drafting #more { height: auto; }
    Drafting VerticalScroll { scrollbar-size-vertical: 1; }
    Drafting.-wide #desk, Drafting.-huge #desk { layout: horizontal; }
    Drafting.-wide #beside, Drafting.-huge #beside { height: 1fr; border-left: solid $rule; }
    """

    def __init__(self, job: Json | None = None) -> None:
        super().__init__()
        self.ident = None if job is None else int(job["id"])
        self.job_name = "" if job is None else str(job["name"])
        self.draft: Draft | None = draft_of(job) if job is None or job.keys() >= _WHOLE else None
        self.foretold = Foretold({})
        self._refused: Mapping[str, Trouble] = {}
        """By field: what the daemon does not take."""
        self.dry: Json | None = None
        """Its answer to what is typed now."""
        self.newer: Json | None = None
        """The job, as somebody else has changed it meanwhile."""
        self._gone = False
        self._thens: list[Callable[[bool], None]] = []
        """Who waits for the job as it is now."""
        self.tried = False
        """Whether it was to be saved."""
        self.boxes: dict[str, FieldBox] = {}
        self.at = "name" if job is None else "schedule"
        self._whole = False
        """Whether there is all of it to paint: until then the screen below stays."""
        self._timer: Timer | None = None
        self.key = token_hex(8)
        self._crumb, self._hint = Lines(id="crumb"), Lines(id="hint")
        self._about, self._rest = Lines(id="about"), Lines(id="more")
        self._fields = VerticalScroll(id="form", can_focus=False)
        self._aside = VerticalScroll(self._about, id="beside", can_focus=False)

    # ── what it is made of ───────────────────────────────────────
    def body(self) -> Iterable[Widget]:
        for part in self._form():
            self._fields.compose_add_child(part)
        return self._crumb, Container(self._fields, self._aside, id="desk"), self._hint

    def _form(self) -> list[Widget]:
        """The fields; none while the job is read."""
        draft = self.draft
        if draft is None:
            return []
        glyphs = self.host.glyphs
        self.boxes = {field.id: FieldBox(field, draft.text(field.id), glyphs) for field in FIELDS}
        for box in self.boxes.values():
            box.control.disabled = self.closed
        self._of_cron(bool((draft.table.get("schedule") or {}).get("cron")))
        return [*rows(FIELDS, list(self.boxes.values())), self._rest]

    def on_mount(self) -> None:
        super().on_mount()
        self._fit()
        self.renew_crumb()
        ident = self.ident
        if self.draft is not None:
            self.call_after_refresh(self._ready)
        elif ident is not None:
            self.call_after_refresh(self._paint_all)
            self.errand("read the job", lambda client: client.job(ident), self._read, self._unread, "editor.read")

    def _read(self, job: Json) -> None:
        self.job_name = str(job["name"])
        self.draft = draft_of(job)
        self._fields.mount(*self._form())
        self.call_after_refresh(self._ready)

    def _unread(self, error: JobctlError) -> None:
        self._about.show([*told(error.message, 60, "-failed"), *told(error.hint, 60, "-dim")])

    def _ready(self) -> None:
        """The keys go to what is most likely to be typed."""
        if not self.closed:
            self.boxes["name" if self.ident is None else "schedule"].control.focus(scroll_visible=False)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.look()
        self.call_after_refresh(self._paint_all)

    def _paint_all(self) -> None:
        self._whole = True
        self.refresh()

    def _compositor_refresh(self) -> None:
        """Textual paints whenever something of a screen is there: fields first, lines and keys afterwards."""
        if self._whole:
            super()._compositor_refresh()

    @property
    def closed(self) -> bool:
        """Whether it can only be read: a file owns it, or these screens change nothing."""
        job = self.draft.job if self.draft else None
        return self.host.read_only or bool(job and job.get("declared"))

    # ── what is typed ────────────────────────────────────────────
    def on_edited(self, event: Edited) -> None:
        event.stop()
        if self.draft is None or self.closed:
            return
        self.typed(self.draft.put(event.ident, event.text))

    def on_entered(self, event: Entered) -> None:
        event.stop()
        before, self.at = self.at, event.ident
        for ident in {before, self.at}:
            self._label(ident)
        self.renew_lines()
        field = BY_ID[self.at]
        self._hint.show([[(f" {field.label}: ", "-dim"), (field.about, "")]])

    def typed(self, draft: Draft) -> None:
        """Another draft; what comes of it is told when the keys have been quiet."""
        self.draft = draft
        self.dry, self._refused = None, {}
        self.renew_crumb()
        self._label(self.at)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(QUIET_S, self.look)

    def take_draft(self, draft: Draft) -> None:
        """Another draft that the fields do not show yet."""
        for ident, box in self.boxes.items():
            box.control.show_text(draft.text(ident))
        self.typed(draft)
        self.look()

    # ── what comes of it ─────────────────────────────────────────
    def look(self) -> None:
        """Now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        draft = self.draft
        if draft is None:
            return
        host = self.host
        here = fires.circumstances(host.feed.status, host.feed.now_ms(), os.getuid(), draft.job)
        self.foretold = fires.foretell(draft, here, n=self._fires_shown)
        for ident, box in self.boxes.items():
            if ident != self.at:  # what goes with a field has changed with it
                box.control.show_text(draft.text(ident))
            self._note(ident)
            self._label(ident)
        spec = self.foretold.spec
        self._of_cron(spec is not None and spec.cron is not None)
        self._more(draft)
        self.renew_crumb()
        self._beside()
        self._ask()

    @property
    def _fires_shown(self) -> int:
        """So many that the clock changes below them are seen as well."""
        return 5 if self.size.width >= 100 else 3 if self.size.height >= 20 else 2

    def _of_cron(self, holds: bool) -> None:
        """What a clock change means is asked of a cron schedule alone."""
        for ident in _OF_CRON:
            self.boxes[ident].display = holds

    def _more(self, draft: Draft) -> None:
        """What has no field of its own, and how it is reached."""
        more = self._rest
        columns = max(20, more.size.width - 1)
        lines = told(f"{in_text(draft.table)}: F2, as a text in $EDITOR", columns, "-dim", " More      ", "-dim")
        more.styles.height = len(lines)
        more.show(lines)

    def _ask(self) -> None:
        """The daemon, where there is something to ask it."""
        draft = self.draft
        if draft is None or not self.host.feed.link.reached or self.closed:
            return
        if self.foretold.troubles or not draft.changed or self.dry is not None or self._refused:
            return
        self.errand("look at it", self.asks(draft), lambda answer: self.answered(draft, answer),
                    lambda error: self.objected(draft, error), "editor.dry")  # fmt: skip

    def asks(self, draft: Draft) -> Callable[[Client], Any]:
        job, patch = draft.job, draft.patch
        if job is None:
            body = draft.body
            return lambda client: client.preview_job(body)
        return lambda client: client.preview_edit(job["id"], patch, job["rev"])

    def answered(self, draft: Draft, answer: Json) -> None:
        if draft is self.draft:
            self.dry = answer
            self._beside()

    def objected(self, draft: Draft, error: JobctlError) -> None:
        """A field is wrong by what only the daemon knows; or the job is another by now."""
        if draft is not self.draft:
            return
        field = str(error.details.get("field") or "")
        after = isinstance(error, NotFound) and (draft.table.get("schedule") or {}).get("after")
        ident = place_of(field) or ("schedule" if after else "")
        if isinstance(error, Conflict | NotFound) and not ident and self.ident is not None:
            self.look_again(lambda another: None if another else self._refuse(ident, error))
        elif isinstance(error, CallerError):
            self._refuse(ident, error)
        self._beside()

    def _refuse(self, ident: str, error: JobctlError) -> None:
        self._refused = {ident: Trouble(error.message, error.hint)}
        self._note(ident)
        self.renew_crumb()
        self._beside()

    @property
    def troubles(self) -> Mapping[str, Trouble]:
        return {**self._refused, **self.foretold.troubles}

    @property
    def told_troubles(self) -> Mapping[str, Trouble]:
        """Of a new job not what nobody has got to yet, until it is to be saved."""
        draft = self.draft
        early = draft is not None and draft.job is None and "command" not in draft.texts and not self.tried
        return {ident: one for ident, one in self.troubles.items() if not (early and ident == "command")}

    # ── what is shown of it ──────────────────────────────────────
    def _note(self, ident: str) -> None:
        box = self.boxes.get(ident)
        if box is not None:
            box.note(self._note_lines(ident, box.note_columns))

    def _note_lines(self, ident: str, columns: int) -> list[Line]:
        glyphs, trouble = self.host.glyphs, self.told_troubles.get(ident)
        if trouble is not None:
            hint = told(trouble.hint, columns, "-dim", "  ") if trouble.hint else []
            return [*told(trouble.reason, columns, "", f"{glyphs.failed} ", "-failed"), *hint]
        draft = self.draft
        assert draft is not None
        slip = slip_of(draft.table.get("target") or {}) if ident == "command" else ""
        line: list[tuple[str, str]] = []
        if ident == "schedule" and self.foretold.words:
            line = [(f"{glyphs.ok} ", "-ok"), (cell(self.foretold.words), "")]
        if ident == "timezone" and self.foretold.preview is not None:
            line = [(fires.offset_words(self.foretold.preview, self.host.feed.now_ms()), "-dim")]
        was = draft.was(ident)
        if was is not None and BY_ID[ident].kind != "lines":
            before = cell(was) or ("by hand" if ident == "schedule" else "empty")
            line += [("   " if line else "", ""), (f"was {before}", "-dim")]
        return [*([line] if line else []), *(told(slip, columns, "", f"{glyphs.warning} ", "-late") if slip else [])]

    def _label(self, ident: str) -> None:
        box = self.boxes.get(ident)
        if box is not None and self.draft is not None:
            box.label(changed=self.draft.was(ident) is not None)

    def renew_crumb(self) -> None:
        glyphs, draft = self.host.glyphs, self.draft
        what = f"{named(self.job_name)} / edit" if self.ident is not None else "new job"
        left = [(f" {glyphs.back} ", "-dim"), ("Jobs / ", "-dim"), (what, "-bold")]
        state, style = "", "-dim"
        if draft is None:
            state = "" if self.ident is None else "reading…"
        elif self._gone:
            state, style = "it is there no more", "-failed"
        elif self.newer is not None:
            state, style = "changed by somebody else meanwhile: ^s shows it", "-late"
        elif draft.job and draft.job.get("declared"):
            state, style = "a file owns it", "-late"
        elif self.told_troubles:
            number = len(self.told_troubles)
            state, style = f"{number} {'field is' if number == 1 else 'fields are'} not right", "-failed"
        elif draft.changed:
            number = len(between(draft.base, draft.table))
            words = f"{number} change{'' if number == 1 else 's'}, " if draft.job else ""
            state, style = f"{glyphs.live} {words}not saved", "-key"
        room = self.size.width - sum(len(text) for text, _ in left) - len(state) - 1
        self._crumb.show([[*left, (" " * max(1, room), ""), (state, style)]])

    def _beside(self) -> None:
        draft = self.draft
        if draft is None:
            return
        columns = max(20, self._aside.size.width - 1)
        glyphs, now_ms = self.host.glyphs, self.host.feed.now_ms()
        zone = f" {glyphs.dot} {self.foretold.preview.zone} {glyphs.dot} UTC" if self.foretold.preview else ""
        lines: list[Line] = [*self._banner(draft, columns)]
        lines.append(rule(f"next fires{cell(zone)}", columns, glyphs.rule, "-dim"))
        lines += outlook(self.foretold, now_ms, columns, glyphs)
        lines += self._general(columns)
        kept = saving(self.would_save(draft), columns, glyphs) if draft.changed and not self.foretold.troubles else []
        if kept:
            title = "what will change on save" if draft.job else "what will be added"
            lines += [[], rule(title, columns, glyphs.rule, "-dim"), *kept]
        self._about.styles.height = len(lines)
        self._about.show(lines)

    def _banner(self, draft: Draft, columns: int) -> list[Line]:
        job = draft.job
        if not job or not job.get("declared"):
            return []
        words = f"{job['name']} comes from {origin.place(job)}: {origin.way(job)}"
        return [*told(words, columns, "-bold", f" {self.host.glyphs.warning} ", "-late"), []]

    def _general(self, columns: int) -> list[Line]:
        """What is wrong and stands in no field."""
        trouble = self.troubles.get("")
        if trouble is None:
            return []
        words = f"{trouble.reason}; {trouble.hint}" if trouble.hint else trouble.reason
        return [*told(words, columns, "", f" {self.host.glyphs.failed} ", "-failed")]

    def would_save(self, draft: Draft) -> Saved:
        dry, job = self.dry, draft.job
        if job is None:
            return Saved((), add_line(draft.body), None, _warnings(dry, self.foretold), dry is not None)
        changed = of_api(dry["changes"]) if dry is not None else between(draft.base, draft.table)
        moved = None
        if draft.base.get("schedule") != draft.table.get("schedule"):
            host = self.host
            here = fires.circumstances(host.feed.status, host.feed.now_ms(), os.getuid(), job)
            moved = fires.shift_words(fires.foretell(draft_of(job), here, n=1).preview, self.foretold.preview)
        line = edit_line(str(job["name"]), draft.base, draft.table)
        return Saved(changed, line, moved, _warnings(dry, self.foretold), dry is not None)

    # ── somebody else ────────────────────────────────────────────
    def changed(self, changes: Changes) -> None:
        super().changed(changes)
        if self.draft is None or self.draft.job is None:
            return
        kinds = [str(event.get("kind")) for event in changes.events if event.get("job_id") == self.ident]
        if changes.reset or any(kind.startswith("job.") for kind in kinds):
            self.look_again()

    def look_again(self, then: Callable[[bool], None] | None = None) -> None:
        """Reads the job once more; `then` is told whether it is on another revision by now, also by a later reading."""
        ident = self.ident
        assert ident is not None
        if then is not None:
            self._thens.append(then)

        def seen(job: Json) -> None:
            draft = self.draft
            if draft is not None and draft.job is not None and job["rev"] != draft.job["rev"]:
                moved = draft.moved_to(job)
                if moved is not None:
                    self._move(moved)
                elif not draft.changed:  # nothing of anybody's is lost
                    self.job_name = str(job["name"])
                    self.take_draft(draft_of(job))
                else:
                    self.newer = job
                    self.renew_crumb()
            thens, self._thens = self._thens, []
            for tell in thens:
                tell(draft is not self.draft or self.newer is not None)

        def failed(error: JobctlError) -> None:
            self._thens = []
            self._gone = isinstance(error, NotFound)
            self.renew_crumb()

        self.errand("look at the job", lambda client: client.job(ident), seen, failed, "editor.again")

    def _move(self, draft: Draft) -> None:
        """To a newer revision: what is typed, and what is known of it, stays."""
        self.draft = draft
        if self.newer is not None and self.newer["rev"] <= (draft.job or {})["rev"]:
            self.newer = None
        self.look()

    def tick(self) -> None:
        super().tick()
        preview = self.foretold.preview
        if preview is not None and preview.fires and preview.fires[0].at_ms <= self.host.feed.now_ms():
            self.look()
        elif self.draft is not None:
            self._beside()

    def subject(self) -> str:
        return self.job_name

    def on_resize(self) -> None:
        self._fit()
        self.renew_crumb()
        if self.draft is not None and self.boxes:
            self.call_after_refresh(self.look)

    def _fit(self) -> None:
        """Below the fields the rest has two fifths of the room; beside them it has all of the height."""
        if self.size.width >= 100:
            self._aside.styles.height = None
        else:
            self._aside.styles.height = max(_LEAST, min(_MOST, (self.size.height - 3) * 2 // 5))


def _warnings(dry: Json | None, foretold: Foretold) -> list[str]:
    """Of the daemon, but for those that stand beside the schedule already."""
    if dry is None:
        return []
    return [text for text in dry.get("warnings", ()) if text not in foretold.warnings]
