"""Durations as people write them: `10m`, `2h30m`, `500ms`."""

import re

from jobctl.errors import InvalidInput

UNITS_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
MAX_DURATION_MS = 3653 * UNITS_MS["d"]
_HINT = "Write 90s, 10m, 2h30m or 1d: the units are w, d, h, m, s and ms, the largest first."
_PART = r"(?:([0-9]{{1,18}}){unit})?\s?"
_TEXT = re.compile("".join(_PART.format(unit=unit) for unit in UNITS_MS), re.ASCII)
_MAX_TEXT = 64


def parse_duration(text: str) -> int:
    """Milliseconds of a duration: numbers with units, the largest unit first, each once. `0s` is 0.

    Raises `InvalidInput` for anything else, for a number without a unit, and for more than ten years.
    """
    bare = text.strip()
    match = _TEXT.fullmatch(bare) if len(bare) <= _MAX_TEXT else None
    if match is None or not any(match.groups()):
        raise InvalidInput(f"{text[:40]!a} is not a duration", _hint_for(bare), field="duration")
    total_ms = sum(int(n or 0) * unit for n, unit in zip(match.groups(), UNITS_MS.values(), strict=True))
    if total_ms > MAX_DURATION_MS:
        raise InvalidInput(f"{text[:40]} is over the limit of ten years", _HINT, field="duration")
    return total_ms


def _hint_for(bare: str) -> str:
    if bare.isascii() and bare.isdigit() and len(bare) <= 12:
        return f"Say the unit: {bare}s for seconds, {bare}m for minutes."
    if re.fullmatch(r"[0-9]+\.[0-9]+[a-z]+", bare):
        return "Whole numbers only: 1h30m instead of 1.5h."
    return _HINT


def format_duration(duration_ms: int) -> str:
    """A duration as `parse_duration` reads it, in days and smaller units; 0 is `0s`, a negative one has a `-`."""
    if duration_ms == 0:
        return "0s"
    rest_ms = abs(duration_ms)
    parts = ["-"] if duration_ms < 0 else []
    for unit, size_ms in UNITS_MS.items():
        if unit == "w":
            continue
        number, rest_ms = divmod(rest_ms, size_ms)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts)
