"""Durations, sizes and words that several fields have in common."""

import re
from typing import Final, TypeVar

from jobctl.errors import InvalidInput
from jobctl.model import Duration
from jobctl.schedule import MAX_DURATION_MS, format_duration, parse_duration

T = TypeVar("T")

#: Linux takes 128 KiB for one argument or variable (MAX_ARG_STRLEN).
TEXT_BYTES_MAX: Final = 131_071

_SIZE: Final = re.compile(r"([0-9]{1,15})\s?([kmgt]?)(i?)b?", re.IGNORECASE)


def milliseconds(duration: Duration | None, field: str) -> int | None:
    """Seconds as a number, or a text with units."""
    if duration is None:
        return None
    if isinstance(duration, str):
        try:
            return parse_duration(duration)
        except InvalidInput as error:
            raise InvalidInput(error.message, error.hint, field=field) from error
    if not 0 <= duration <= MAX_DURATION_MS / 1000:  # NaN is not either
        raise InvalidInput(
            f"{str(duration)[:20]} s is not possible", f"0 to {format_duration(MAX_DURATION_MS)}", field=field
        )
    return round(duration * 1000)


def byte_size(text: str) -> int:
    """Bytes of a text such as 10MB: k, M, G and T are powers of 1000, with an i of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text[:40]!a} is not a size", "write 500k, 10MB or 1GiB", field="log_max")
    unit: int = 1024 if match[3] else 1000
    power = " kmgt".index(match[2].lower() or " ")
    return int(match[1]) * int(unit**power)


def matching(text: str, pattern: str, field: str, hint: str) -> str:
    """The text, if the whole of it is as the pattern says."""
    if not re.fullmatch(pattern, text):
        raise InvalidInput(f"{text[:40]!a} is not possible", hint, field=field)
    return text


def number(value: int | None, default: T, field: str, low: int, high: int) -> int | T:
    """The number, if it is inside its bounds; the default for none."""
    if value is None:
        return default
    if not low <= value <= high:
        raise InvalidInput(f"{field} is {str(value)[:20]}", f"it goes from {low} to {high:,}", field=field)
    return value


def argument(text: str, field: str) -> str:
    """The text, if the kernel can pass it to a command."""
    if "\0" in text:
        raise InvalidInput("a NUL byte cannot be passed to a command", "leave it out", field=field)
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
        raise InvalidInput(
            "one argument has over 128 KiB, more than the kernel takes", "use stdin or a file", field=field
        )
    return text
