"""What of a line of a log is shown. The same for the eye and for who looks for something in it."""

from typing import Final, NamedTuple

from jobctl.reading.safe import LogFilter

_SELECTORS: Final = {0xFE0E: None, 0xFE0F: None}
"""Terminals do not agree on how wide they make the character before them."""
_TAB: Final = 8


class Shown(NamedTuple):
    """A line that no terminal acts on: without colours, tabs as spaces."""

    text: str
    overwritten: int = 0
    """So many texts before it were written over by carriage returns, as progress bars do."""


def shown(data: bytes) -> Shown:
    """What a terminal would have been left with, of the bytes of one line without its newline."""
    if data.isascii():
        plain = data.decode("ascii")
        if plain.isprintable():
            return Shown(plain)
    texts = [text for part in data.split(b"\r") if (text := _safe(part))]
    return Shown(texts[-1], len(texts) - 1) if texts else Shown("")


def _safe(data: bytes) -> str:
    text = LogFilter().feed(data, final=True)
    return (text if text.isascii() else text.translate(_SELECTORS)).expandtabs(_TAB)
