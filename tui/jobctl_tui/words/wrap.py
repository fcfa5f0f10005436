"""Long texts on several lines, by the columns that they take on a terminal."""

from collections.abc import Iterator

from jobctl.reading.width import cut, width


def wrapped(text: str, columns: int, indent: str = "") -> Iterator[str]:
    """The lines of a safe text, cut between words where that goes; `indent` stands before all but the first."""
    columns = max(8, columns)
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line.strip() else line + word
        if width(joined) <= columns:
            line = joined
            continue
        if line.strip():
            yield line
            joined = indent + word
        while width(joined) > columns:
            head = cut(joined, columns, "")
            yield head
            joined = indent + joined[len(head) :]
        line = joined
    yield line
