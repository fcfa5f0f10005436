"""Commenting lines of a live table out, and putting them back. Pure; every other byte stays as it is."""

from collections import Counter
from collections.abc import Collection, Iterable

MARK = b"#jobctl# "


def lines_of(data: bytes, numbers: Collection[int]) -> list[bytes]:
    """The lines with these numbers, from 1, without their newlines."""
    return [line for number, line in enumerate(data.split(b"\n"), start=1) if number in numbers]


def comment_out(data: bytes, lines: Iterable[bytes]) -> tuple[bytes, list[bytes]]:
    """`data` with each of these lines behind the mark, and those that are not there (any more).

    A line that is only there commented out counts as done, so that doing it twice is the same as once.
    """
    wanted = Counter(lines)
    written = []
    for line in data.split(b"\n"):
        if wanted[line] > 0:
            wanted[line] -= 1
            written.append(MARK + line)
        else:
            written.append(line)
    missing = wanted - Counter(line.removeprefix(MARK) for line in written if line.startswith(MARK))
    return b"\n".join(written), list(missing.elements())


def put_back(data: bytes, lines: Iterable[bytes]) -> tuple[bytes, list[bytes]]:
    """`data` with these lines active again, and those whose comment is not there any more."""
    wanted = Counter(lines)
    written = []
    for line in data.split(b"\n"):
        plain = line.removeprefix(MARK)
        if line.startswith(MARK) and wanted[plain] > 0:
            wanted[plain] -= 1
            written.append(plain)
        else:
            written.append(line)
    missing = wanted - Counter(written)
    return b"\n".join(written), list(missing.elements())
