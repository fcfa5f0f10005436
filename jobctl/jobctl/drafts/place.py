"""Where a job waits for its turn: its queue, and its place in it."""

import re
from typing import Final

from jobctl.defaults import PRIORITIES, Defaults
from jobctl.drafts.circumstances import Circumstances
from jobctl.drafts.values import matching
from jobctl.errors import Forbidden, InvalidInput
from jobctl.model import JobDraft

QUEUE_CHARS_MAX: Final = 64
PRIORITY_MAX: Final = 9
_QUEUE: Final = rf"(?!-)(?=.*\w)[\w.@/:+-]{{1,{QUEUE_CHARS_MAX}}}"
#: What it delivers goes through these: a job in one of them would hold up everybody's mail.
_JOBD_ALONE: Final = frozenset({"jobd-mail", "notices"})
#: Those of cron's folders, which root's daemon limits to one at a time by itself: nobody chose to share them.
SCRIPTS: Final = frozenset({"cron.hourly", "cron.daily", "cron.weekly", "cron.monthly"})
_ROOT: Final = 0
_NUMBER: Final = re.compile(r"[+-]?[0-9]", re.ASCII)


def place_of(draft: JobDraft, otherwise: Defaults, here: Circumstances) -> tuple[str, int]:
    """Queue and priority."""
    queue = otherwise.queue if draft.queue is None else checked_queue(draft.queue)
    if queue in _JOBD_ALONE:
        raise InvalidInput(f"the queue {queue} is jobd's own", "name another queue", field="queue")
    if queue in SCRIPTS and here.system and here.caller_uid != _ROOT:
        hint = "the host's own scripts wait in it for each other: name another queue"
        raise Forbidden(f"only root has jobs in the queue {queue}", hint, details={"field": "queue"})
    return queue, otherwise.priority if draft.priority is None else checked_priority(draft.priority)


def checked_queue(name: str, field: str = "queue") -> str:
    """The name of a queue."""
    hint = f"1 to {QUEUE_CHARS_MAX} letters, digits and . _ - @ : / +, not beginning with -"
    return matching(name, _QUEUE, field, hint)


def checked_priority(priority: int | str) -> int:
    """A number or a word; smaller goes first."""
    value = _value(priority)
    if value is None or not -PRIORITY_MAX <= value <= PRIORITY_MAX:
        raise InvalidInput(
            f"a priority of {str(priority)[:20]!a} is not possible",
            f"-{PRIORITY_MAX} (first) to {PRIORITY_MAX}, or {', '.join(PRIORITIES)}",
            field="priority",
        )
    return value


def _value(priority: int | str) -> int | None:
    if isinstance(priority, int):
        return priority
    return int(priority) if _NUMBER.fullmatch(priority) else PRIORITIES.get(priority)
