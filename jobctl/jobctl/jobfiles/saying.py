"""The words of an error, as they are right in a file: its keys, not the fields of the API nor options of a command."""

import json
import re
from typing import Any, Final

from jobctl.jobfiles.keys import KEYS

_OPTION: Final = re.compile(r"--(?P<name>[a-z]+(?:-[a-z]+)*)")
_FIELD: Final = re.compile(r"\b(?:schedule|target)\.(?=[a-z])")
_CALLED: Final = {"tz": "timezone", "payload": "payload_ref", "retries": "retry.max", "tag": "tags"}
_USELESS: Final = ("see `jobctl help api`", "see docs/api.md")
_FIXED: Final = re.compile(r"\s*(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|@[0-9])")
_BEGINNINGS: Final = (
    "Did",
    "Say",
    "Whole",
    "Use",
    "Write",
    "An",
    "Make",
    "Aliases",
    "Known",
    "Times",
    "Dates",
    "Days",
    "It",
    "Put",
)
_SHOWN_CHARS: Final = 60


def as_key(field: str) -> str:
    """schedule.cron is cron, target.command[1] is command; the parts of retry and env keep their names."""
    return _FIELD.sub("", field.partition("[")[0])


def in_file_words(key: str, reason: str, hint: str) -> tuple[str, str]:
    """Reason and hint of an error about a key."""
    reason, hint = _told(reason), "" if hint in _USELESS else _told(hint)
    if key and key not in ("name", "schedule", "target") and not re.search(rf"\b{re.escape(key)}\b", reason):
        reason = f"{key}: {reason}"
    return reason, hint


def _told(text: str) -> str:
    """In the middle of a line, where no sentence begins and none ends."""
    text = _FIELD.sub("", _OPTION.sub(_as_key, text)).removesuffix(".")
    first, space, rest = text.partition(" ")
    return f"{first.lower()}{space}{rest}" if first in _BEGINNINGS else text


def _as_key(match: re.Match[str]) -> str:
    """An option that sets a key is that key; others, such as those of `jobctl apply`, are options."""
    name = match["name"].replace("-", "_")
    name = _CALLED.get(name, name)
    return name if name.partition(".")[0] in KEYS else match[0]


def is_moving(text: str) -> bool:
    """Whether a time means another instant each time it is read: `in 10m`, `tomorrow 09:00`."""
    return _FIXED.match(text) is None


def words_of(value: Any) -> str:
    """A value in a sentence."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
