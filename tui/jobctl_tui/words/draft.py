"""A job that is being written or changed: what it is, what was typed into which field, and what comes of the two."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from jobctl.errors import InvalidInput
from jobctl.reading.document import changes, parsed, text_with, written
from jobctl_tui.words import plan
from jobctl_tui.words.field import BY_ID, FIELDS, Table
from jobctl_tui.words.variables import env_of, lines_of

Json = dict[str, Any]

#: Merged member by member, as a PATCH does.
_MERGED: Final = ("env", "retry", "mail")
_HEAD: Final = """\
# {title}. What you change comes back into the editor, and is saved there.
# A line behind # is the default or an example: take the # away to set it. A line taken out is the default again.
"""


@dataclass(frozen=True)
class Draft:
    """Frozen: `put` and its kin make another. `job` is None for a new one."""

    job: Json | None = None
    start: Table = field(default_factory=dict)
    """What the fields show where nothing was typed: the job, or what came back from $EDITOR."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By field: what was typed, where it is another text."""
    revealed: bool = False
    """Whether secrets are shown."""

    @cached_property
    def base(self) -> Table:
        """The job as the daemon has it."""
        return definition(self.job) if self.job else {}

    @cached_property
    def _folded(self) -> tuple[Table, dict[str, InvalidInput]]:
        table, errors = deepcopy(self.start), {}
        for each in FIELDS:
            if each.id in self.texts:
                try:
                    each.write(table, self.texts[each.id])
                except InvalidInput as error:
                    errors[each.id] = error
        return table, errors

    @property
    def table(self) -> Table:
        """The definition; a field that cannot be read is as it was."""
        return self._folded[0]

    @property
    def unreadable(self) -> Mapping[str, InvalidInput]:
        """By field: why its text cannot be read."""
        return self._folded[1]

    @cached_property
    def patch(self) -> Json:
        """The body of the PATCH; empty when nothing is changed."""
        return changes(self.base, self.table)

    @property
    def changed(self) -> bool:
        """Whether leaving would lose something."""
        if self.unreadable:
            return True
        return bool(self.patch) if self.job else self.table != {}

    @property
    def body(self) -> Json:
        """The body of the POST for a new one."""
        table = deepcopy(self.table)
        schedule = table.pop("schedule", None) or {}
        if schedule.keys() - {"timezone", *plan.GOES_WITH}:
            table["schedule"] = schedule
        elif schedule.get("timezone"):
            table["timezone"] = schedule["timezone"]
        return {"target": {"command": []}, **table}

    def text(self, ident: str) -> str:
        """What stands in a field."""
        if ident in self.texts:
            return self.texts[ident]
        if ident == "env":
            return lines_of(self.table.get("env") or {}, revealed=self.revealed)
        return BY_ID[ident].read(self.table)

    def was(self, ident: str) -> str | None:
        """What stood there before, where it is another text; None: the same, or it is a new job."""
        if self.job is None:
            return None
        before = lines_of(self.base.get("env") or {}) if ident == "env" else BY_ID[ident].read(self.base)
        return None if before == self.text(ident) else before

    def put(self, ident: str, text: str) -> "Draft":
        """With another text in a field."""
        texts = {name: typed for name, typed in self.texts.items() if name != ident}
        if text != replace(self, texts=texts).text(ident):
            texts[ident] = text
        return replace(self, texts=texts)

    def revert(self, ident: str) -> "Draft":
        """The field as the job has it."""
        return self.put(ident, BY_ID[ident].read(self.base))

    def reveal(self) -> "Draft":
        """Secrets shown, or covered again."""
        shown = replace(self, revealed=not self.revealed)
        typed = self.texts.get("env")
        if typed is None:
            return shown
        try:
            env = env_of(typed, self.start.get("env") or {})
        except InvalidInput:
            return shown
        return shown.put("env", lines_of(env, revealed=shown.revealed))

    # ── $EDITOR ──────────────────────────────────────────────

    def document(self, owner: str) -> str:
        """All of it as a text, in which errors have lines."""
        title = f"{self.job['name']}, id {self.job['id']}" if self.job else "A new job"
        line = "".join(char if char.isprintable() else "?" for char in title)
        return text_with(_HEAD.format(title=line), deepcopy(self.table), owner)

    def taken(self, before: str, after: str) -> "Draft":
        """With what became of `document`: what is the default stands in neither. Raises `InvalidInput` for what is no
        TOML."""
        start = patched(self.table, changes(parsed(before), parsed(after)))
        return replace(self, start=start, texts=dict(self._left()))

    # ── somebody else's change ──────────────────────────────────────────────

    def onto(self, job: Json) -> "Draft":
        """The same changes to the job as it is now."""
        now = definition(job)
        return replace(self, job=job, start=patched(now, self.patch), texts=dict(self._left()))

    def moved_to(self, job: Json) -> "Draft | None":
        """The same on a newer revision that defines the same job: a pause or a time that is left out changes no
        field. None: it is defined otherwise by now."""
        return replace(self, job=job) if self.job is not None and definition(job) == self.base else None

    def clashes(self, job: Json) -> list[str]:
        """The API's names of what was changed here and, to something else, there."""
        ours, theirs = _members(self.patch), _members(changes(self.base, definition(job)))
        return [name for name in ours if name in theirs and theirs[name] != ours[name]]

    def _left(self) -> Mapping[str, str]:
        """Texts that cannot be read are in no table, and stay to be mended."""
        return {ident: self.texts[ident] for ident in self.unreadable}


def draft_of(job: Json | None) -> Draft:
    """The draft that changes nothing."""
    return Draft(job=job, start=definition(job) if job else {})


def definition(job: Json) -> Table:
    """A job as a table; a policy that is the one by default is not said, as it is not in the text for $EDITOR."""
    table = written(job)
    for name in ("dst_gap", "dst_overlap"):
        if table["schedule"].get(name) == "auto":
            del table["schedule"][name]
    return table


def _members(patch: Mapping[str, Any]) -> Table:
    """Each part of what is merged by itself, as `env.LANG`."""
    found: Table = {}
    for name, value in patch.items():
        merged = name in _MERGED and isinstance(value, dict)
        found |= {f"{name}.{part}": inner for part, inner in value.items()} if merged else {name: value}
    return found


def patched(table: Mapping[str, Any], patch: Mapping[str, Any]) -> Table:
    """What a PATCH makes of a definition: null is the default again, which is no key."""
    found = deepcopy(dict(table))
    for name, value in patch.items():
        if name in _MERGED and isinstance(value, dict):
            inside = {**(found.get(name) or {}), **value}
            found[name] = {part: inner for part, inner in inside.items() if inner is not None}
        elif name == "timezone":
            found["schedule"] = {**(found.get("schedule") or {}), "timezone": value}
        elif value is None:
            found.pop(name, None)
        else:
            found[name] = deepcopy(value)
    return found
