"""Everything that is wrong with one definition, by the rules by which the daemon takes it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from jobctl.drafts import Checked, Circumstances, checked_job
from jobctl.errors import CallerError, InvalidInput
from jobctl.mismatch import mismatch
from jobctl.model import JobDraft

#: A definition has not so many keys.
_LOOKS_MAX = 64


class Wrong(NamedTuple):
    """`field` is named as in the API: schedule.cron, retry.max; "" where it is the whole."""

    field: str
    reason: str
    hint: str


def examined(fields: Mapping[str, Any], here: Circumstances) -> tuple[Checked | None, list[Wrong]]:
    """The definition that a draft means; None, and all that is in its way.

    The rules stop at the first mistake. It is noted, its field is taken away, and they are asked again.
    """
    left = msgspec.to_builtins(fields)
    found: list[Wrong] = []
    for _ in range(_LOOKS_MAX):
        try:
            draft = _draft(left)
            checked = checked_job(draft, here)
        except CallerError as error:
            wrong = _wrong(error)
            found.append(wrong)
            if not _taken_away(left, wrong.field):
                return None, found
        else:
            return (None if found else checked), found
    return None, found


def _draft(fields: dict[str, Any]) -> JobDraft:
    try:
        return msgspec.convert(fields, JobDraft)
    except msgspec.ValidationError as error:
        raise mismatch(error, fields, JobDraft, "the job") from error


def _wrong(error: CallerError) -> Wrong:
    field = error.field if isinstance(error, InvalidInput) else error.details.get("field")
    return Wrong(str(field or ""), error.message, error.hint)


def _taken_away(fields: dict[str, Any], field: str) -> bool:
    """Whether there is anything left to look at."""
    field = field.partition("[")[0]
    part, dot, name = field.partition(".")
    if part == "target":
        fields["target"] = {"shell": "true"}
        return True
    if part == "name":
        return fields.pop("name", None) is not None
    if part == "timezone" and "timezone" not in fields:
        return _popped(fields.get("schedule"), "timezone")
    if dot and isinstance(fields.get(part), dict):
        return _popped(fields[part], name) or fields.pop(part, None) is not None
    return fields.pop(part, None) is not None


def _popped(fields: Any, name: str) -> bool:
    return isinstance(fields, dict) and fields.pop(name, None) is not None
