"""Where a long line of text is broken for a screen of some width. Pure."""

from functools import lru_cache

from jobctl.reading.width import width


@lru_cache(1024)
def wrapped(text: str, columns: int) -> tuple[tuple[int, int], ...]:
    """From which character to before which each row goes; at least one row.

    Behind the last space of a row where that leaves it more than half full, else in the middle of a word. Characters
    of two columns are not cut in two.
    """
    columns = max(1, columns)
    rows, start = [], 0
    while len(text) - start > columns or width(text[start:]) > columns:
        end = _reach(text, start, columns)
        space = text.rfind(" ", start + columns // 2, end)
        if end < len(text) and text[end] != " " and space > start:
            end = space + 1
        rows.append((start, end))
        start = end
    rows.append((start, len(text)))
    return tuple(rows)


def _reach(text: str, start: int, columns: int) -> int:
    """How far so many columns go; at least one character."""
    row = text[start : start + columns]
    if row.isascii():
        return start + len(row)
    used, end = 0, start
    while end < len(text):
        used += width(text[end])
        if used > columns:
            break
        end += 1
    return max(end, start + 1)
