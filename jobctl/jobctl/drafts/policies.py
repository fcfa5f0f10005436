"""How it is run: the policies, each with its default for what was not said."""

from typing import Final, TypeVar

from jobctl.defaults import MISFIRE_WITHIN_MS, Defaults
from jobctl.drafts.retry import RETRIES_MAX, delays_ms, hopeless_kinds, on_lost
from jobctl.drafts.telling import destinations, mailed
from jobctl.drafts.values import byte_size, matching, milliseconds, number
from jobctl.errors import InvalidInput
from jobctl.model import JobDraft, Policies, RetryDraft
from jobctl.states import Misfire, OnFailure, Overlap

T = TypeVar("T")

LIMIT_MAX: Final = 10_000
OVERLAP_QUEUE_MAX: Final = 1000
NOTE_CHARS_MAX: Final = 4000
TAGS_MAX: Final = 32
TAG_CHARS_MAX: Final = 64
_LOG_BYTES_MIN, _LOG_BYTES_MAX = 4096, 1 << 40
_TAG: Final = rf"[\w.:/@+-]{{1,{TAG_CHARS_MAX}}}"


def checked_policies(draft: JobDraft, otherwise: Defaults) -> Policies:
    """The policies; `otherwise` is what holds for what was not said."""
    overlap = draft.overlap or Overlap(otherwise.overlap)
    misfire = draft.misfire or Misfire(otherwise.misfire)
    retry = draft.retry or RetryDraft()
    backoff_ms, backoff_max_ms = delays_ms(retry, otherwise)
    return Policies(
        timeout_ms=_or(_positive(milliseconds(draft.timeout, "timeout"), "timeout"), otherwise.timeout_ms),
        grace_ms=_or(milliseconds(draft.grace, "grace"), otherwise.grace_ms),
        late_after_ms=_or(milliseconds(draft.late_after, "late_after"), otherwise.late_after_ms),
        overlap=overlap,
        misfire=misfire,
        misfire_within_ms=_or(milliseconds(draft.misfire_within, "misfire_within"), MISFIRE_WITHIN_MS[misfire]),
        overlap_queue=_overlap_queue(draft.overlap_queue, overlap, otherwise),
        limit=number(draft.limit, otherwise.limit, "limit", 1, LIMIT_MAX),
        retries=number(retry.max, otherwise.retries, "retry.max", 0, RETRIES_MAX),
        lost_retries=number(retry.lost, otherwise.lost_retries, "retry.lost", 0, RETRIES_MAX),
        backoff_ms=backoff_ms,
        backoff_max_ms=backoff_max_ms,
        no_retry_on=hopeless_kinds(retry.no_retry_on),
        on_lost=on_lost(retry.on_lost, otherwise),
        on_failure=draft.on_failure or OnFailure(otherwise.on_failure),
        notify=destinations(draft.notify),
        mail=mailed(draft.mail),
        log_max=_log_max(draft.log_max, otherwise),
        tags=_tags(draft.tags),
        note=_note(draft.note),
    )


def _overlap_queue(wanted: int | None, overlap: Overlap, otherwise: Defaults) -> int:
    if wanted is not None and overlap is not Overlap.QUEUE:
        raise InvalidInput(
            f"nothing waits under overlap {overlap}", "overlap_queue goes with overlap queue", field="overlap_queue"
        )
    return number(wanted, otherwise.overlap_queue, "overlap_queue", 1, OVERLAP_QUEUE_MAX)


def _or(value: int | None, default: T) -> int | T:
    return default if value is None else value


def _positive(value_ms: int | None, field: str) -> int | None:
    if value_ms is not None and value_ms <= 0:
        raise InvalidInput(f"a {field} of 0 would end it before it begins", "leave it out for none", field=field)
    return value_ms


def _log_max(limit: int | str | None, otherwise: Defaults) -> int:
    """Bytes, or a text such as 10MB; k, M, G and T are powers of 1000, with an i of 1024."""
    size = otherwise.log_max if limit is None else limit if isinstance(limit, int) else byte_size(limit)
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
