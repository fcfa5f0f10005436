"""Where the keys and values of a statement stand. Of statements that are right TOML only: nothing is checked."""

import re
import tomllib
from typing import Final, NamedTuple

from jobctl.jobfiles.statements import line_end, string_end

Path = tuple[str | int, ...]

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SPACE: Final = re.compile(r"[ \t\n]*")
_ATOM: Final = re.compile(r"[^,\]}\n#]*")


class Spot(NamedTuple):
    """Offsets of a key and of its value. An item of a list has no key: both are its own."""

    key: int
    value: int


def heading(text: str, at: int) -> list[tuple[str, int]]:
    """The parts of a heading's name, each with its offset; `at` is that of its first bracket."""
    at += 2 if text.startswith("[[", at) else 1
    return _keys(text, at)[0]


def pair(text: str, at: int) -> tuple[tuple[str, ...], dict[Path, Spot]]:
    """The parts of the key of KEY = VALUE, and all spots in it by their path from outside the key on."""
    spots: dict[Path, Spot] = {}
    keys, at = _keys(text, at)
    path = tuple(name for name, _ in keys)
    value = _skip(text, at + 1)
    for length in range(1, len(keys) + 1):
        spots[path[:length]] = Spot(keys[length - 1][1], value)
    _value(text, value, path, spots)
    return path, spots


def _keys(text: str, at: int) -> tuple[list[tuple[str, int]], int]:
    """A dotted key, and the offset of what follows it: = or ]."""
    found: list[tuple[str, int]] = []
    while True:
        at = _skip(text, at)
        bare = _BARE.match(text, at)
        end = bare.end() if bare else string_end(text, at)
        found.append((bare[0] if bare else _quoted(text[at:end]), at))
        at = _skip(text, end)
        if not text.startswith(".", at):
            return found, at
        at += 1


def _quoted(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 0")))


def _value(text: str, at: int, path: Path, spots: dict[Path, Spot]) -> int:
    """Notes what is inside a value; returns the offset behind it."""
    if text.startswith(("'", '"'), at):
        return string_end(text, at)
    if text.startswith("[", at):
        return _items(text, at + 1, path, spots)
    if text.startswith("{", at):
        return _members(text, at + 1, path, spots)
    atom = _ATOM.match(text, at)
    return atom.end() if atom else at


def _items(text: str, at: int, path: Path, spots: dict[Path, Spot]) -> int:
    number = 0
    while True:
        at = _skip(text, at)
        if at >= len(text) or text[at] == "]":
            return at + 1
        if text[at] == ",":
            at += 1
            continue
        spots[(*path, number)] = Spot(at, at)
        at = _value(text, at, (*path, number), spots)
        number += 1


def _members(text: str, at: int, path: Path, spots: dict[Path, Spot]) -> int:
    while True:
        at = _skip(text, at)
        if at >= len(text) or text[at] == "}":
            return at + 1
        if text[at] == ",":
            at += 1
            continue
        keys, at = _keys(text, at)
        at = _skip(text, at + 1)
        inner = path
        for name, key_at in keys:
            inner = (*inner, name)
            spots[inner] = Spot(key_at, at)
        at = _value(text, at, inner, spots)


def _skip(text: str, at: int) -> int:
    """Over spaces, newlines and comments."""
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if not text.startswith("#", at):
            return at
        at = line_end(text, at)
