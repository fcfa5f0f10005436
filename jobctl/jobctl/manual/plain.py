"""A page of the manual as plain text, laid out as man(1) does it, ragged at the right."""

from collections.abc import Iterable, Iterator
from typing import Final

from jobctl.manual.read import HYPHEN, STIFF, Block, read
from jobctl.reading.width import width

#: Text is never narrower, however narrow the terminal.
_LEAST: Final = 20
#: What stands for signs where the encoding has none.
_ASCII: Final = str.maketrans({"•": "*", "–": "-", "—": "-", "×": "x", "→": ">"})


def plain(page: str, columns: int = 80, *, signs: bool = True) -> str:
    """All of a page in lines of so many columns; longer only where it shows lines as they are.

    Without `signs` in ASCII, as far as pages go.
    """
    lines: list[str] = []
    under_heading = True
    for block in read(page):
        if block.gap and not under_heading:
            lines.append("")
        under_heading = block.kind.endswith("heading")
        lines += _lines(block, columns)
    text = "\n".join(line.rstrip() for line in lines).replace(HYPHEN, "-").replace(STIFF, " ") + "\n"
    return text if signs else text.translate(_ASCII)


def _lines(block: Block, columns: int) -> Iterator[str]:
    if block.kind == "lines":
        yield from (" " * block.indent + line for line in block.lines)
        return
    before = " " * block.indent
    filled = _filled(block.lines, max(_LEAST, columns - block.indent))
    if block.tag:
        tag = " " * (block.indent - block.hang) + block.tag
        if width(tag) < block.indent:
            yield tag + " " * (block.indent - width(tag)) + next(filled, "")
        else:
            yield tag
    yield from (before + line for line in filled)


def _filled(lines: Iterable[str], room: int) -> Iterator[str]:
    """Words, as many as go on a line."""
    line = ""
    for word in (word for line in lines for word in line.split(" ") if word):
        for piece, space in _pieces(word):
            gap = " " if line and space else ""
            if line and width(line) + len(gap) + width(piece) > room:
                yield line
                line, gap = "", ""
            line += gap + piece
    if line:
        yield line


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    """A word where a line may be broken in it: behind a hyphen. And whether a space is before the piece."""
    first = True
    while word:
        at = word.find(HYPHEN, 1) + 1
        cut = at if 0 < at < len(word) else len(word)
        yield word[:cut], first
        word, first = word[cut:], False
