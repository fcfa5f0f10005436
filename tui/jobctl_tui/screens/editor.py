"""The job editor: what keys do in it, and the same definition as a text in $EDITOR."""

import os
from typing import Any, Final

from jobctl.errors import CallerError, InvalidInput, JobctlError
from jobctl.reading.document import line_of
from jobctl.reading.sheet import Sheet, editor, sheet
from jobctl_tui.screens.outside import outside
from jobctl_tui.screens.review import NotRight
from jobctl_tui.screens.saving import Saving
from jobctl_tui.words import fires
from jobctl_tui.words.draft import Draft

Json = dict[str, Any]

_CONTROLS: Final = "LineControl, LinesControl, ChoiceControl"


class EditorScreen(Saving):
    """Of a job, or of a new one. `job` may be a row of a list: then all of it is read first."""

    # ── keys ─────────────────────────────────────────────────────
    def act_editor_next(self) -> None:
        self.focus_next(_CONTROLS)

    def act_editor_previous(self) -> None:
        self.focus_previous(_CONTROLS)

    def act_tab_next(self) -> None:
        self.act_editor_next()

    def act_tab_previous(self) -> None:
        self.act_editor_previous()

    def act_editor_scroll_down(self) -> None:
        self._page(1)

    def act_editor_scroll_up(self) -> None:
        self._page(-1)

    def _page(self, by: int) -> None:
        """Of what stands beside the fields; of the fields when nothing of that is hidden, or they cannot be entered."""
        beside, form = self._aside, self._fields
        part = beside if beside.max_scroll_y > 0 and not self.closed else form
        part.scroll_relative(y=by * max(1, part.size.height - 1), animate=False)

    def act_editor_policy(self) -> None:
        """The next pair of policies for clock changes."""
        draft = self.draft
        if draft is None or self.closed or not (draft.table.get("schedule") or {}).get("cron"):
            self.host.say("clock changes touch schedules of cron alone")
            return
        gap, overlap = fires.next_policy(draft.text("dst_gap"), draft.text("dst_overlap"))
        self.take_draft(draft.put("dst_gap", gap).put("dst_overlap", overlap))

    def act_editor_revert(self) -> None:
        if self.draft is not None and not self.closed:
            self.take_draft(self.draft.revert(self.at))

    def act_editor_reveal(self) -> None:
        if self.draft is not None:
            self.take_draft(self.draft.reveal())

    # ── $EDITOR ──────────────────────────────────────────────────
    def act_editor_text(self) -> None:
        if self.draft is not None and not self.closed:
            self.run_worker(self._in_editor(self.draft), exclusive=True, group="editor.text")

    async def _in_editor(self, draft: Draft) -> None:
        status = self.host.feed.status or {}
        owner = str((draft.job or {}).get("owner") or (status.get("caller") or {}).get("name") or "you")
        before = draft.document(owner)
        with sheet(before, ".toml") as paper:
            try:
                taken = await self._edited(draft, before, paper)
            except JobctlError as error:
                kept = f"; your text is kept in {paper.keep()}" if paper.differs(before) else ""
                self.host.say(f"{error.message}{kept}", trouble=True)
                return
        if taken is not None:
            self.take_draft(taken)

    async def _edited(self, draft: Draft, before: str, paper: Sheet) -> Draft | None:
        """What came back; asked again as long as somebody wants to mend it."""
        command = [*editor(os.environ), paper.path]
        while True:
            code = await outside(self.app, command, os.environ)
            if code != 0:
                raise CallerError(f"the editor ended with {code}", "nothing was changed")
            text = paper.text()
            wrongs, taken = self._read_back(draft, before, text)
            if not wrongs:
                return taken
            if not await self.app.push_screen_wait(NotRight(wrongs, self.size)):
                if taken is None:
                    raise InvalidInput("the text was not right, and nothing was changed")
                return taken

    def _read_back(self, draft: Draft, before: str, text: str) -> tuple[list[tuple[int | None, str]], Draft | None]:
        """What is wrong, by line; and the draft, unless the text is no TOML."""
        try:
            taken = draft.taken(before, text)
            host = self.host
            here = fires.circumstances(host.feed.status, host.feed.now_ms(), os.getuid(), draft.job)
            found = fires.foretell(taken, here, n=1)
        except InvalidInput as error:
            return [(None, error.message)], None
        return [(line_of(text, field) if field else None, words) for field, words in found.wrongs], taken
