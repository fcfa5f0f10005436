"""How it is run: the policies, with the defaults of `jobctl add`."""

from typing import Final

from jobctl.errors import InvalidInput
from jobctl.model import JobDraft, Policies
from jobctl.states import Misfire, Overlap
from jobctl_daemon.drafts.values import byte_size, matching, milliseconds

GRACE_MS: Final = 10_000
LATE_AFTER_MS: Final = 10_000
MISFIRE_WITHIN_MS: Final = 86_400_000
MISFIRE_GRACE_MS: Final = 60_000
LOG_MAX_BYTES: Final = 10_000_000

NOTE_CHARS_MAX: Final = 4000
TAGS_MAX: Final = 32
TAG_CHARS_MAX: Final = 64
_LOG_BYTES_MIN, _LOG_BYTES_MAX = 4096, 1 << 40
_TAG: Final = rf"[\w.:/@+-]{{1,{TAG_CHARS_MAX}}}"


def checked_policies(draft: JobDraft) -> Policies:
    """The policies, with a default for what was not said."""
    misfire = draft.misfire or Misfire.ONCE
    within_ms = milliseconds(draft.misfire_within, "misfire_within")
    if within_ms is None:
        within_ms = MISFIRE_GRACE_MS if misfire is Misfire.SKIP else MISFIRE_WITHIN_MS
    return Policies(
        timeout_ms=_positive(milliseconds(draft.timeout, "timeout"), "timeout"),
        grace_ms=_or(milliseconds(draft.grace, "grace"), GRACE_MS),
        late_after_ms=_or(milliseconds(draft.late_after, "late_after"), LATE_AFTER_MS),
        overlap=draft.overlap or Overlap.SKIP,
        misfire=misfire,
        misfire_within_ms=within_ms,
        log_max=_log_max(draft.log_max),
        tags=_tags(draft.tags),
        note=_note(draft.note),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _positive(value_ms: int | None, field: str) -> int | None:
    if value_ms is not None and value_ms <= 0:
        raise InvalidInput(f"a {field} of 0 would end it before it begins", "leave it out for none", field=field)
    return value_ms


def _log_max(limit: int | str | None) -> int:
    """Bytes, or a text such as 10MB; k, M, G and T are powers of 1000, with an i of 1024."""
    size = LOG_MAX_BYTES if limit is None else limit if isinstance(limit, int) else byte_size(limit)
    if not _LOG_BYTES_MIN <= size <= _LOG_BYTES_MAX:
        raise InvalidInput(
            f"a log limit of {str(size)[:20]} bytes is not possible", "4096 bytes to 1 TiB", field="log_max"
        )
    return size


def _tags(tags: list[str]) -> list[str]:
    if len(tags) > TAGS_MAX:
        raise InvalidInput(f"there are over {TAGS_MAX} tags", "fewer will do", field="tags")
    for tag in tags:
        matching(tag, _TAG, "tags", f"1 to {TAG_CHARS_MAX} letters, digits and . _ - : / @ +")
    return list(dict.fromkeys(tags))


def _note(note: str | None) -> str | None:
    if note is not None and (len(note) > NOTE_CHARS_MAX or "\0" in note):
        raise InvalidInput(f"the note has over {NOTE_CHARS_MAX} characters or a NUL", "say it shorter", field="note")
    return note
