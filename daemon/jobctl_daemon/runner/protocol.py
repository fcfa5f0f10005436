"""Framing: one JSON object a line, UTF-8, both ways."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PROTOCOL = 1
MAX_LINE_BYTES = 8 << 20

# Lone surrogates (bytes that are not UTF-8) leave as \udcXX escapes, so every line is plain ASCII.
_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Malformed(Exception):
    """A line that is too long, not UTF-8, not JSON, or not an object with an op."""


def dumps(value: object) -> bytes:
    """Encode a value as one line of JSON without its newline."""
    return _to_json(value).encode("ascii")


def wrap(kind: str, payload: bytes) -> bytes:
    """Make the line ``{kind: payload}`` around JSON that is encoded already."""
    return b'{"%s":%s}\n' % (kind.encode("ascii"), payload)


def message(kind: str, value: object) -> bytes:
    """Make the line ``{kind: value}``."""
    return wrap(kind, dumps(value))


class Lines:
    """Cuts a byte stream into messages."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield each whole message; raises Malformed at the first bad one."""
        self._pending += data
        if b"\n" in data:
            *whole, rest = bytes(self._pending).split(b"\n")
            self._pending = bytearray(rest)
            for line in whole:
                yield _parse(line)
        if len(self._pending) > MAX_LINE_BYTES:
            raise Malformed("line too long")


def _parse(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise Malformed("line too long")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("op"), str):
        raise Malformed("not an object with an op")
    return value
