"""How many columns a text takes on a terminal, and cutting it to some."""

import unicodedata


def width(text: str) -> int:
    """Columns of a text that `safe.cell` has been over: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def cut(text: str, columns: int, mark: str = "…") -> str:
    """`text` in at most `columns` columns; what is cut off is marked."""
    if width(text) <= columns:
        return text
    room = columns - width(mark)
    if room <= 0:
        return mark[:columns]
    used = 0
    for index, char in enumerate(text):
        used += _char_width(char)
        if used > room:
            return text[:index] + mark
    return text


def _char_width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
