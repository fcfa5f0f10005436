"""What a person most likely meant by a time or a duration that cannot be read. Loaded only then."""

import re
from typing import Final

_UNITS: Final = (
    ("ms", r"ms|millis(?:econds?)?"), ("s", r"s|secs?|seconds?"), ("m", r"m|mins?|minutes?"), ("h", r"h|hrs?|hours?"),
    ("d", r"d|days?"), ("w", r"w|weeks?"),
)  # fmt: skip
_SMALLER: Final = {"w": "d", "d": "h", "h": "m", "m": "s"}
_PART: Final = re.compile(r"([0-9]{1,9})\s*([a-z]+)[\s,]*(?:and\s+)?", re.IGNORECASE)
_REST: Final = re.compile(r"(.*[wdhm])\s*([0-9]{1,9})", re.IGNORECASE)
_TWELVE: Final = re.compile(
    r"(.*?\s)?(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2}))?\s*(?P<half>[ap])\.?m\.?", re.IGNORECASE
)
_NAMED: Final = {"noon": "12:00", "midday": "12:00", "midnight": "00:00"}


def duration_hint(text: str) -> str:
    """`write it as 5m` for `5 minutes`; empty when there is no guess."""
    meant = _duration(text.strip())
    return f"write it as {meant}" if meant else ""


def time_hint(text: str) -> str:
    """`write it as 21:30` for `9:30pm`; empty when there is no guess."""
    bare = " ".join(text.split())
    last = bare.rpartition(" ")
    if last[2].lower() in _NAMED:
        return f"write it as {last[0]} {_NAMED[last[2].lower()]}".replace("  ", " ")
    match = _TWELVE.fullmatch(bare)
    if match and 1 <= int(match["hour"]) <= 12:
        hour = int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)
        return f"hours go from 0 to 23: write it as {match[1] or ''}{hour:02d}:{match['minute'] or '00'}"
    meant = _duration(bare.removeprefix("in "))
    return f"write it as {'in ' if bare.startswith('in ') else ''}{meant}" if meant else ""


def cron_hint(said: str) -> str:
    """What to try instead of an expression; that Debian's cron refuses it as well is of use for its crontabs alone."""
    from jobctl.schedule.cron_text import REFUSED_TOO

    return 'write it as in "30 3 * * 1-5"; see jobctl help cron' if said == REFUSED_TOO else said


def _duration(text: str) -> str:
    rest = _REST.fullmatch(text)
    if rest:  # 1h30
        text = f"{text}{_SMALLER[rest[1][-1].lower()]}"
    parts, at = [], 0
    while at < len(text):
        match = _PART.match(text, at)
        unit = match and _unit(match[2])
        if match is None or not unit:
            return ""
        parts.append(match[1] + unit)
        at = match.end()
    return "".join(parts)


def _unit(word: str) -> str:
    return next((unit for unit, words in _UNITS if re.fullmatch(words, word, re.IGNORECASE)), "")
