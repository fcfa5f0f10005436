"""A lasting error is told when it begins, then less and less often with how often it came: no fault floods the log.

One line of a kind goes through at once. The same again is held back for two minutes, then for twice as long each time,
an hour at most; what is shown then says how many were not. A kind that has been quiet is told at once again.
"""

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from jobctl.clock import Clock

_MINUTE_MS: Final = 60_000
_GAP_MS_MIN: Final = 2 * _MINUTE_MS
_GAP_MS_MAX: Final = 60 * _MINUTE_MS
#: A kind that did not come for so long is new again.
_QUIET_MS: Final = 10 * _MINUTE_MS
#: Lines of one kind that say different things go through, so many until it was quiet.
_DIFFERENT: Final = 5
_KINDS_MAX: Final = 500
#: What tells two sources of the same event apart. All of them are few.
_SOURCES: Final = ("service", "instance", "topic", "file")
_NUMBER: Final = re.compile(r"\d+")

Kind = tuple[str, ...]


@dataclass(slots=True)
class Told:
    """What is known of one kind of line."""

    last_ms: int
    shown_ms: int
    texts: set[str | None]
    gap_ms: int = _GAP_MS_MIN
    different: int = 1
    hidden: int = 0


class Repeats:
    """Decides for each line whether it is shown. Time is that of `boot_ms`."""

    def __init__(self) -> None:
        self._told: OrderedDict[Kind, Told] = OrderedDict()

    def take(self, kind: Kind, text: str | None, now_ms: int) -> int | None:
        """How many of the kind were held back since the last one that was shown; None: this one is held back too.

        `text` is what the line complains of; two lines with the same are the same but for their numbers. None: a line
        that stands for itself.
        """
        told = self._told.get(kind)
        same = None if text is None else _NUMBER.sub("#", text)
        if told is None or now_ms - told.last_ms >= max(_QUIET_MS, told.gap_ms):
            hidden = told.hidden if told is not None else 0
            self._told[kind] = Told(now_ms, now_ms, {same})
            self._told.move_to_end(kind)
            if len(self._told) > _KINDS_MAX:
                self._told.popitem(last=False)
            return hidden
        told.last_ms = now_ms
        if told.different < _DIFFERENT and (same is None or same not in told.texts):
            told.different += 1
            told.texts.add(same)
        elif now_ms - told.shown_ms >= told.gap_ms:
            told.gap_ms = min(told.gap_ms * 2, _GAP_MS_MAX)
        else:
            told.hidden += 1
            return None
        hidden, told.hidden, told.shown_ms = told.hidden, 0, now_ms
        return hidden


class RepeatsFilter(logging.Filter):
    """`Repeats` for the log's one handler: ours and what asyncio and aiohttp say. Debugging is shown whole."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._repeats = Repeats()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno <= logging.DEBUG:
            return True
        facts: dict[str, Any] = record.msg if isinstance(record.msg, dict) else {}
        hidden = self._repeats.take(_kind(record, facts), _text(record, facts), self._clock.boot_ms())
        if hidden is None:
            return False
        if hidden and facts:
            facts["repeated"] = hidden
        elif hidden:
            record.msg = f"{record.msg} (and {hidden} times before)"
        return True


def _kind(record: logging.LogRecord, facts: dict[str, Any]) -> Kind:
    event = str(facts.get("event", record.msg))
    return (record.levelname, event, *(str(facts[name]) for name in _SOURCES if name in facts))


def _text(record: logging.LogRecord, facts: dict[str, Any]) -> str | None:
    if record.levelno < logging.WARNING:
        return None
    complaint = facts.get("error", facts.get("why"))
    if complaint is not None:
        return str(complaint)
    if record.exc_info and record.exc_info[1] is not None:
        return repr(record.exc_info[1])
    return None
