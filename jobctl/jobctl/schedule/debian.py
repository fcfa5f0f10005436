"""What Debian's own parser makes of a text we refuse: its accidents, retold.

A transcription of `get_list`, `get_range` and `get_number` of `entry.c` (3.0pl1-162): each returns how far it
read. It exists for messages and comparisons; no job's schedule is ever computed from it.
"""

import re
from dataclasses import dataclass, field

from .fields import FIELDS, Field

_MAX_TEXT = 4096
_ALNUM = re.compile(r"[0-9A-Za-z]*", re.ASCII)
# MAX_TEMPSTR of cron.h: a longer number or name is a syntax error.
_MAX_NUMBER = 1000


@dataclass(slots=True)
class _Reading:
    """The numbers Debian puts in one field, and what it overlooked on the way."""

    numbers: set[int] = field(default_factory=set)
    dropped: str = ""
    backwards: bool = False
    wrapped: bool = False


class _SyntaxError(Exception):
    """Debian refuses the field."""


def debian_reading(text: str) -> str | None:
    """What Debian's cron would do with a text it accepts by accident, as a sentence; None if there is no quirk.

    None also when Debian refuses the text, or when the text is too long to be worth reading.
    """
    if len(text) > _MAX_TEXT:
        return None
    words = re.split(r"[ \t]+", text.strip(" \t"))
    if len(words) != 5:
        return None
    try:
        readings = [_read(spec, word) for spec, word in zip(FIELDS, words, strict=True)]
    except _SyntaxError:
        return None
    remarks = [remark for spec, reading in zip(FIELDS, readings, strict=True) for remark in _remarks(spec, reading)]
    return f"Debian's cron accepts it by accident: {'; '.join(remarks)}." if remarks else None


def debian_numbers(text: str) -> list[tuple[int, ...]] | None:
    """The numbers that Debian's parser puts in the five fields, Sunday 0 or 7, also by accident; None if it refuses.

    For comparisons; what a job does is never computed from it.
    """
    words = re.split(r"[ \t]+", text.strip(" \t"))
    if len(text) > _MAX_TEXT or len(words) != len(FIELDS):
        return None
    try:
        return [tuple(sorted(_read(spec, word).numbers)) for spec, word in zip(FIELDS, words, strict=True)]
    except _SyntaxError:
        return None


def _remarks(spec: Field, reading: _Reading) -> list[str]:
    remarks = []
    numbers = ",".join(map(str, sorted(reading.numbers))) or "nothing"
    if reading.dropped:
        remarks.append(f"in the {spec.name} it drops {reading.dropped[:20]!a} and reads {numbers}")
    if reading.backwards:
        empty = "which never matches" if not reading.numbers else f"leaving {numbers}"
        remarks.append(f"in the {spec.name} a range that runs backwards is empty, {empty}")
    if reading.wrapped:
        remarks.append(f"in the {spec.name} the number wraps at 32 bits to {numbers}")
    return remarks


def _read(spec: Field, word: str) -> _Reading:
    reading = _Reading()
    at = _read_range(spec, word, 0, reading)
    while word[at : at + 1] == ",":
        at = _read_range(spec, word, at + 1, reading)
    reading.dropped = word[at:]
    return reading


def _read_range(spec: Field, word: str, at: int, reading: _Reading) -> int:
    low, high, step = spec.low, spec.high, 1
    if word[at : at + 1] == "*":
        at += 1
    else:
        low, at = _read_number(spec, word, at, reading)
        if word[at : at + 1] == "/":
            raise _SyntaxError
        if word[at : at + 1] != "-":
            _check(spec, low)
            reading.numbers.add(low)
            return at
        high, at = _read_number(spec, word, at + 1, reading)
    if word[at : at + 1] == "/":
        step, at = _read_number(None, word, at + 1, reading)
        if step <= 0:
            raise _SyntaxError
    _check(spec, low)
    _check(spec, high)
    reading.backwards |= low > high
    reading.numbers.update(range(low, high + 1, step))
    return at


def _read_number(spec: Field | None, word: str, at: int, reading: _Reading) -> tuple[int, int]:
    match = _ALNUM.match(word, at)
    text = match.group() if match else ""
    if not text or len(text) >= _MAX_NUMBER:
        raise _SyntaxError
    end = at + len(text)
    if spec is not None and text.lower() in spec.names:
        return spec.names[text.lower()], end
    if not text.isdigit():
        raise _SyntaxError
    number = int(text)
    wrapped = _atoi(number)
    reading.wrapped |= wrapped != number
    return wrapped, end


def _atoi(number: int) -> int:
    """`(int) strtol()` on a 64-bit machine: clamped at 64 bits, then cut to 32."""
    low = min(number, 2**63 - 1) & 0xFFFFFFFF
    return low - 2**32 if low >= 2**31 else low


def _check(spec: Field, number: int) -> None:
    if not spec.low <= number <= spec.high:
        raise _SyntaxError
