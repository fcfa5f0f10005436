"""What is tried again, as one text: `3x, wait 10s doubling, max 1h`."""

import re
from collections.abc import Mapping
from typing import Any, Final

from jobctl.defaults import ADD
from jobctl.errors import InvalidInput
from jobctl.reading.times import duration
from jobctl.schedule import parse_duration

_TOKEN: Final = re.compile(r"[^\s,.]+")
_COUNT: Final = re.compile(r"(?P<count>[0-9]{1,9})[x×]?")
#: Words that a person writes between the numbers, and that say nothing more.
_SILENT: Final = frozenset({"x", "×", "times", "wait", "waits", "doubling", "then", "after", "at", "retries", "retry"})
#: Words before the longest delay.
_LONGEST: Final = frozenset({"max", "most", "cap", "up", "to"})
_NONE: Final = frozenset({"none", "no", "never"})
_HINT: Final = "write how often, the first delay and the longest: 3, 10s, 1h; or none"


def text_of(retry: Mapping[str, Any]) -> str:
    """Of the fields of the API, durations as texts; what is not said is the default, and nothing is nothing."""
    if not retry:
        return ""
    number = retry.get("max", ADD.retries)
    if not number:
        return "none"
    first = retry.get("backoff") or duration(ADD.backoff_ms / 1000)
    longest = retry.get("backoff_max") or duration(ADD.backoff_max_ms / 1000)
    return f"{number}x, wait {first} doubling, max {longest}"


def usual() -> str:
    """What holds by default."""
    return text_of({"max": ADD.retries})


def retry_of(text: str) -> dict[str, Any]:
    """`max`, `backoff` and `backoff_max`, as far as they are said. Raises `InvalidInput`."""
    found: dict[str, Any] = {}
    name = "max"
    for token in _TOKEN.findall(text.lower()):
        count = _COUNT.fullmatch(token)
        if token in _SILENT:
            continue
        if token in _LONGEST:
            name = "backoff_max"
        elif name == "max" and (token in _NONE or count):
            found["max"] = int(count["count"]) if count else 0
            name = "backoff"
        else:
            name = "backoff" if name == "max" else name
            if name in found or not name:
                raise InvalidInput(f"{text[:40]!r} says too much", _HINT, field="retry")
            found[name] = _delay(token)
            name = "backoff_max"
    return found


def _delay(token: str) -> str:
    try:
        parse_duration(token)
    except InvalidInput as error:
        raise InvalidInput(f"{token[:20]!r} is no delay", _HINT, field="retry") from error
    return token
