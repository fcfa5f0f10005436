"""Texts that are written for wide lines, on a narrower terminal: broken between words, what is beside a term beside it.

A command line is left whole: what is copied must run.
"""

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Final

_GAP: Final = re.compile(r"(?<=\S) {2,}(?=\S)")
_COMMAND: Final = re.compile(r"\s*(?:jobctl|curl) ")
#: A line goes on in the next one when that one's first word has no room before this column.
_FULL: Final = 112
#: A column of text is not made narrower than this; then it begins under its term.
_NARROW: Final = 24
#: Two terms with their texts in one line.
_PAIRS: Final = 4


def fitted(text: str, room: int | None) -> str:
    """`text` in lines of at most `room` columns; as it is without a room."""
    lines = text.split("\n")
    if room is None or all(len(line) <= room for line in lines):
        return text
    return "\n".join(line for paragraph in _paragraphs(lines) for line in _broken(paragraph, room))


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """The lines that belong together, one after the other."""
    held: list[str] = []
    for line in lines:
        if held and not _goes_on(held, line):
            yield held
            held = []
        held.append(line)
    yield held


def _is_command(line: str) -> bool:
    return _COMMAND.match(line) is not None and _GAP.search(line) is None


def _goes_on(held: list[str], line: str) -> bool:
    words = line.split()
    if not words or _GAP.search(line) or _is_command(held[0]):
        return False
    return _indent(line) == _column(held[0]) and len(held[-1]) + 1 + len(words[0]) > _FULL


def _broken(paragraph: list[str], room: int) -> list[str]:
    first = paragraph[0]
    if all(len(line) <= room for line in paragraph) or _is_command(first):
        return paragraph
    indent, column = _indent(first), _column(first)
    cells = _GAP.split(first.strip())
    if len(cells) == _PAIRS:
        beside = first.index(cells[1])
        rows = [(" " * indent + cells[at]).ljust(beside) + cells[at + 1] for at in (0, 2)]
        return [line for row in rows for line in _broken([row], room)]
    whole = " ".join([first, *(line.strip() for line in paragraph[1:])])
    if column > indent and room - column < _NARROW:
        column = indent + 2
        head, rest = " " * indent, whole.strip()
    else:
        head, rest = whole[:column], whole[column:]
    further = " " * column
    return wrap(
        rest, room, initial_indent=head, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _column(line: str) -> int:
    """Where the text beside a term begins; of a line without terms, where it begins."""
    return max((gap.end() for gap in _GAP.finditer(line)), default=_indent(line))
