"""Server-sent events: from the bytes of a stream to its messages (WHATWG HTML, section 9.2)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Message(NamedTuple):
    """One message: its number (empty when it has none), its kind and its data."""

    id: str
    event: str
    data: str


def messages(pieces: Iterable[bytes]) -> Iterator[Message]:
    """The messages of a stream; comments are dropped, an unfinished last message too."""
    fields: dict[str, list[str]] = {}
    for line in _lines(pieces):
        if line:
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        elif "data" in fields:
            last = {name: values[-1] for name, values in fields.items()}
            yield Message(last.get("id", ""), last.get("event", "message"), "\n".join(fields["data"]))
            fields = {}
        else:
            fields = {}


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")
