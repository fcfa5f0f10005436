"""A TOML text cut into its statements, so that one that is broken harms no other.

A statement is a heading in brackets, or KEY = VALUE with all lines of its value. Only as much of TOML is known here
as is needed to see where a statement ends: strings, brackets and comments.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_MARKS: Final = re.compile(r"[\n#\"'\[\]{}]")
_STRINGS: Final = (
    re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?', re.DOTALL),
    re.compile(r"'''(?:[^']|'(?!''))*+(?:'{3,5})?", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\[^\n])*+["\\]?'),
    re.compile(r"'[^'\n]*+'?"),
)
_HEADING: Final = re.compile(r"[ \t]*\[\[?[ \t]*(?:jobs?|defaults)\b[^=\n]*\]", re.IGNORECASE)
_PAIR: Final = re.compile(r"[ \t]*[A-Za-z_][A-Za-z0-9_.-]*[ \t]*=")


class Statement(NamedTuple):
    """`open_at`: the offset of a bracket that is never closed; None where all are."""

    text: str
    at: int
    open_at: int | None = None

    @property
    def heading(self) -> bool:
        return self.text.startswith("[")


def statements(text: str) -> Iterator[Statement]:
    """All of them, in order; comments and empty lines are none."""
    at = 0
    while at < len(text):
        if text[at] in " \t\n":
            at += 1
        elif text[at] == "#":
            at = line_end(text, at)
        else:
            end, open_at = (line_end(text, at), None) if text[at] == "[" else _end(text, at)
            yield Statement(text[at:end], at, open_at)
            at = end


def line_end(text: str, at: int) -> int:
    """The offset of the newline behind an offset, or the end."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def string_end(text: str, at: int) -> int:
    """Behind the string that begins here; one that is not closed goes to the end of its line, or of the text."""
    for pattern in _STRINGS:
        match = pattern.match(text, at)
        if match:
            return match.end()
    return at + 1


def _end(text: str, at: int) -> tuple[int, int | None]:
    """Where KEY = VALUE ends, and the first bracket of it that is not closed."""
    inside: list[int] = []
    while mark := _MARKS.search(text, at):
        at, char = mark.start(), mark[0]
        if char == "\n":
            if not inside or _begins_anew(text, at + 1, text[inside[-1]]):
                return at, inside[0] if inside else None
            at += 1
        elif char == "#":
            at = line_end(text, at)
        elif char in "\"'":
            at = string_end(text, at)
        else:
            if char in "[{":
                inside.append(at)
            elif inside:
                inside.pop()
            at += 1
    return len(text), inside[0] if inside else None


def _begins_anew(text: str, at: int, within: str) -> bool:
    """Whether a line cannot be part of the value above: somebody forgot to close a bracket there."""
    return bool(_HEADING.match(text, at)) or (within == "[" and bool(_PAIR.match(text, at)))
