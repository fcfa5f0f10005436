"""`NAME=value` lines, as `load_env` of Debian's env.c reads them (3.0pl1-162)."""

import re

_QUOTES = "'\""
_SPACE = " \t\n\v\f\r"
#: `get_string(envstr, MAX_ENVSTR - 1)`: what follows is cut off without a word.
_BYTES_MAX = 998
_EQUALS = re.compile(f"[{_SPACE}]*=[{_SPACE}]*")


def parse_assignment(text: str) -> tuple[str, str] | None:
    """Name and value, or None where Debian goes on to read the line as a job.

    The name and the value may be quoted; a value loses the blanks at its end (a carriage return too), a quoted
    one as well; without quotes it cannot be empty; nothing may follow a closing quote; nothing is expanded.
    """
    text = _cut(text.lstrip(" \t"))
    name_end = _name(text)
    if name_end is None:
        return None
    name, at = name_end
    equals = _EQUALS.match(text, at)
    if equals is None or equals.end() == len(text):
        return None
    value = _value(text[equals.end() :])
    return None if value is None else (name, value)


def _name(text: str) -> tuple[str, int] | None:
    if text[:1] and text[0] in _QUOTES:
        closing = text.find(text[0], 1)
        name = text[1:closing]
        return None if closing < 0 or "=" in name else (name, closing + 1)
    end = next((at for at, char in enumerate(text) if char == "=" or char in _SPACE), None)
    return None if end is None else (text[:end], end)


def _value(text: str) -> str | None:
    if text[0] not in _QUOTES:
        return text.rstrip(_SPACE)
    end = text.find(text[0], 1)
    if end < 0 or text[end + 1 :].strip(_SPACE):
        return None
    return _unquoted_again(text[1:end].rstrip(_SPACE))


def _unquoted_again(value: str) -> str:
    """Debian strips a second pair of quotes: `A="'x'"` is x."""
    if len(value) >= 2 and value[0] in _QUOTES and value[-1] == value[0]:
        return value[1:-1]
    return value


def _cut(text: str) -> str:
    raw = text.encode("utf-8", "surrogateescape")
    return text if len(raw) <= _BYTES_MAX else raw[:_BYTES_MAX].decode("utf-8", "surrogateescape")


def looks_like_assignment(text: str) -> bool:
    """Whether a person meant an assignment, though cron does not read one."""
    return re.match(r"[ \t]*[\"']?[A-Za-z_][A-Za-z0-9_]*[\"']?[ \t]*=", text) is not None


def format_assignment(name: str, value: str) -> str | None:
    """The line that reads as this assignment, or None when no line does."""
    for quote in ("", '"', "'"):
        for name_quote in ("", '"', "'"):
            line = f"{name_quote}{name}{name_quote}={quote}{value}{quote}"
            if "\n" not in line and "\0" not in line and _reads_as(line, name, value):
                return line
    return None


def _reads_as(line: str, name: str, value: str) -> bool:
    return not line.startswith(("#", " ", "\t")) and parse_assignment(line) == (name, value)
