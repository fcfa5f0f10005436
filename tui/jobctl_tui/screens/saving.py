"""How a draft is saved: shown first, on the revision that was read, with a way back. What somebody else has changed
meanwhile is shown, and never written over unseen."""

from collections.abc import Callable
from hashlib import sha256
from json import dumps
from typing import Any

from jobctl.client.sync import Client
from jobctl.errors import CallerError, Conflict, JobctlError
from jobctl.reading.document import changes, written
from jobctl_tui.screens.drafting import Drafting
from jobctl_tui.screens.lines import Line
from jobctl_tui.screens.review import Leave, Overtaken, Review, named
from jobctl_tui.words import fires
from jobctl_tui.words.difference import between, since
from jobctl_tui.words.draft import Draft
from jobctl_tui.words.field import BY_ID, FIELDS

Json = dict[str, Any]


class Saving(Drafting):
    """Also how it is given up."""

    # ── saving ───────────────────────────────────────────────────
    def act_editor_save(self) -> None:
        draft = self.draft
        if draft is None:
            return
        if self.closed:
            self.host.say("it can only be read here", trouble=True)
            return
        self.tried = True
        self.look()
        if self.newer is not None:
            self._ask_meanwhile(self.newer)
        elif self.foretold.troubles:
            self._to_trouble()
        elif not draft.changed:
            self.host.say("nothing is changed")
        elif self.host.feed.link.reached:
            self.errand("look at it", self.asks(draft), lambda answer: self._reviewed(draft, answer),
                        lambda error: self._not_reviewed(draft, error), "editor.save")  # fmt: skip
        else:
            self._review(draft)

    def _to_trouble(self) -> None:
        ident = next((field.id for field in FIELDS if field.id in self.troubles), None)
        trouble = self.troubles[ident or ""] if (ident or "") in self.troubles else next(iter(self.troubles.values()))
        if ident is not None:
            self.boxes[ident].control.focus()
        label = f"{BY_ID[ident].label}: " if ident else ""
        self.host.say(f"{label}{trouble.reason}", trouble=True)

    def _reviewed(self, draft: Draft, answer: Json) -> None:
        self.answered(draft, answer)
        self._review_or_ask(draft)

    def _review_or_ask(self, draft: Draft) -> None:
        """What was typed before the key comes behind it where fields take their time: that is meant too."""
        if draft is self.draft:
            self._review(draft)
        else:
            self.act_editor_save()

    def _not_reviewed(self, draft: Draft, error: JobctlError) -> None:
        if isinstance(error, Conflict) and not error.details.get("field"):
            self.look_again(lambda _: self._refused_for(draft, error))
        elif isinstance(error, CallerError):
            self.objected(draft, error)
            self.renew_crumb()
            if self.troubles:
                self._to_trouble()
        else:
            self._review_or_ask(draft)

    def _refused_for(self, draft: Draft, error: JobctlError) -> None:
        """Another revision: shown where that matters, and passed over where it does not."""
        if self.newer is not None:
            self._ask_meanwhile(self.newer)
        elif self._has_moved(draft):
            self.act_editor_save()
        else:
            self.objected(draft, error)

    def _has_moved(self, draft: Draft) -> bool:
        """Whether it is on a newer revision by now, with nothing else changed."""
        here = self.draft
        if here is None or here.job is None or draft.job is None:
            return False
        return bool(here.job["rev"] != draft.job["rev"]) and here.patch == draft.patch

    def _review(self, draft: Draft) -> None:
        glyphs, now_ms = self.host.glyphs, self.host.feed.now_ms()
        found = self.foretold.preview
        coming: list[Line] = []
        if found is not None:
            coming = [[(fire.local, ""), (f"   {fire.ahead}", "-key")] for fire in fires.fire_lines(found, now_ms)[:3]]
            coming = coming or [[(fires.without_fires(self.foretold), "")]]
        name = named(str(self.job_name or (self.dry or {}).get("job", {}).get("name") or draft.text("name")))
        question = Review(name, draft.job is None, self.would_save(draft), coming, self.size, glyphs)

        def answered(answer: object) -> None:
            if answer:
                self._save(draft)
            else:
                self.host.say("not saved; ^s asks again")

        self.app.push_screen(question, answered)

    def _save(self, draft: Draft) -> None:
        if draft.job is None:
            self._add(draft)
        else:
            self._edit(draft, draft.job)

    def _add(self, draft: Draft) -> None:
        body = draft.body
        digest = sha256(dumps(body, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        made: Json = {}

        def work(client: Client) -> Json:
            made.update(client.create_job(body, f"ui-{self.key}-{digest}"))
            return made

        name = str(body.get("name") or "the job")
        self.act(f"added {name}", work, lambda client: client.delete_job(made["id"]),
                 f"{name} taken back: it is deleted again",
                 self._added, lambda error: self._not_saved(draft, error))  # fmt: skip

    def _added(self, job: Json) -> None:
        self._leave_behind()
        self.host.go_to_job(int(job["id"]))

    def _edit(self, draft: Draft, job: Json) -> None:
        patch, made = draft.patch, {}

        def work(client: Client) -> Json:
            made.update(client.edit_job(job["id"], patch, job["rev"]))
            return made

        def undo(client: Client) -> Json:
            """Only what this edit left: what somebody has changed since is not written over."""
            return client.edit_job(job["id"], changes(written(made), written(job)), made["rev"])

        self.act(f"changed {job['name']}", work, undo,
                 f"change of {job['name']} taken back: it is as it was",
                 lambda _: self._leave_behind(), lambda error: self._not_saved(draft, error))  # fmt: skip

    def _leave_behind(self) -> None:
        self.dismiss()

    def _not_saved(self, draft: Draft, error: JobctlError) -> None:
        if isinstance(error, Conflict) and draft.job is not None and not error.details.get("field"):
            self.look_again(lambda _: self._save_again(draft, error))
        else:
            self._tell_not_saved(draft, error)

    def _save_again(self, draft: Draft, error: JobctlError) -> None:
        """On the newer revision, where that defines the same job: it has been looked at, and holds."""
        here = self.draft
        if here is not None and self.newer is None and self._has_moved(draft):
            self._save(here)
        else:
            self._tell_not_saved(draft, error)

    def _tell_not_saved(self, draft: Draft, error: JobctlError) -> None:
        self.host.say(f"not saved: {error.message}" + (f"; {error.hint}" if error.hint else ""), trouble=True)
        if isinstance(error, CallerError):
            self._not_reviewed(draft, error)

    def _ask_meanwhile(self, job: Json | None) -> None:
        draft = self.draft
        if draft is None or draft.job is None or job is None:
            return
        both = [BY_ID[name].label if name in BY_ID else name for name in draft.clashes(job)]
        theirs = since(draft.job, job)
        question = Overtaken(named(str(job["name"])), theirs, both, self.size, self.host.glyphs)

        def answered(answer: object) -> None:
            if answer and self.draft is not None:
                self.newer, self.job_name = None, str(job["name"])
                self.take_draft(self.draft.onto(job))

        self.app.push_screen(question, answered)

    # ── leaving ──────────────────────────────────────────────────
    def act_editor_back(self) -> None:
        draft = self.draft
        if draft is None or not draft.changed or self.closed:
            self.dismiss()
            return
        self._leaves(self.dismiss)

    def act_quit(self) -> bool:
        """Leaving the screens loses what was typed as well."""
        draft = self.draft
        if draft is None or not draft.changed or self.closed:
            return False
        self._leaves(lambda: self.host.leave(0))
        return True

    def _leaves(self, leave: Callable[[], Any]) -> None:
        draft = self.draft
        assert draft is not None
        rows_ = between(draft.base, draft.table)
        question = Leave(named(self.job_name or draft.text("name")), rows_, self.size, self.host.glyphs)

        def answered(answer: object) -> None:
            if answer:
                self.app.call_later(leave)  # when the question is gone

        self.app.push_screen(question, answered)
