"""What may be meant by a filter that is being typed."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from .keys import KEYS, Kind

#: Suggestions that are worth reading.
_MOST: Final = 8
#: Of a word that may become a state so many letters stand there.
_STATE_BEGUN: Final = 3
_BEGUN: Final = re.compile(r"(?P<minus>-?)(?:(?P<key>[A-Za-z_]*)(?P<rest>[:<>].*)?)?", re.DOTALL)
_TIMES: Final = ("5m", "1h", "1d")

_NOTHING: Final[Mapping[str, Sequence[str]]] = {}


def suggest(text: str, cursor: int, known: Mapping[str, Sequence[str]] = _NOTHING) -> list[str]:
    """What the word before the cursor may become, the likeliest first: at most eight, none of them what stands there.

    `known` are values that there are of keys whose values can be any: tags, queues, owners, names.
    """
    before = text[: max(0, min(cursor, len(text)))]
    word = "" if not before or before[-1].isspace() else before.split()[-1]
    match = _BEGUN.fullmatch(word)
    if match is None:
        return []
    found = _keys(match["minus"], match["key"] or "") if match["rest"] is None else _values(match, known)
    return [each for each in found if each != word][:_MOST]


def _keys(minus: str, begun: str) -> list[str]:
    relation = {Kind.DURATION: "<"}
    keys = [f"{minus}{key.name}{relation.get(key.kind, ':')}" for key in KEYS.values()
            if key.name.startswith(begun.lower())]  # fmt: skip
    states = [f"{minus}state:{word}" for word in KEYS["state"].words
              if len(begun) >= _STATE_BEGUN and word.startswith(begun.lower())]  # fmt: skip
    return keys + states


def _values(match: re.Match[str], known: Mapping[str, Sequence[str]]) -> list[str]:
    key = KEYS.get(match["key"].lower())
    if key is None:
        near = [name for name in KEYS if name[:2] == match["key"][:2].lower()]
        return [f"{match['minus']}{name}{match['rest']}" for name in near]
    if key.kind is Kind.DURATION:
        return [f"{match['minus']}{key.name}{match['rest'][0]}{time}" for time in _TIMES if match["rest"] in "<>:"]
    given, comma, begun = match["rest"][1:].rpartition(",")
    first = f"{match['minus']}{key.name}{match['rest'][0]}{given}{comma}"
    there = set(given.split(","))
    values = key.words or tuple(map(_written, known.get(key.name, ())))
    return [f"{first}{value}" for value in values if value.lower().startswith(begun.lower()) and value not in there]


def _written(value: str) -> str:
    """A value as it must be typed."""
    return value if re.fullmatch(r'[^\s",]+', value) else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
