"""What is wrong with a value, in words: msgspec tells a place and types, a person wants the field and what may be."""

import enum
import json
import re
from difflib import get_close_matches
from typing import Any, Final, get_args, get_type_hints

import msgspec

from jobctl.errors import InvalidInput

_PLACE: Final = re.compile(r" - at `(?:key in )?\$(?P<path>.*)`$")
_STEP: Final = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+)\]|\[\.\.\.\]")
_EXPECTED: Final = re.compile(r"Expected `(?P<kinds>[^`]+)`, got `\w+`")
_FIELD: Final = re.compile(r"(?P<what>missing required|unknown) field `(?P<name>.*)`", re.DOTALL)
_WORDS: Final = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false",
                 "array": "a list", "object": "an object"}  # fmt: skip
_SHOWN_CHARS: Final = 60

Path = tuple[str | int, ...]


def mismatch(error: msgspec.ValidationError, value: Any, kind: Any, whole: str = "the body") -> InvalidInput:
    """The same error for people. `value` is what was to become a `kind`; `whole` is what it is called."""
    text = str(error)
    place = _PLACE.search(text)
    path = _path(place["path"] if place else "", value, kind)
    told = _PLACE.sub("", text)
    about = _FIELD.search(told)
    if about is not None:
        return _of_field(about["what"], (*path, about["name"]), _kind(kind, path))
    name, found = _named(path), _at(value, path)
    field = _named(tuple(step for step in path if isinstance(step, str))) or None
    expected = _EXPECTED.search(told)
    choices = _choices(_kind(kind, path))
    if expected is None and not choices:
        return InvalidInput(f"{name or whole} is not right: {told}", "see `jobctl help api`", field=field)
    words = f"one of {', '.join(choices)}" if choices else _possible(expected["kinds"] if expected else "")
    quoted = words == _WORDS["str"] and isinstance(found, int | float)
    hint = "put it in quotes" if quoted else "see `jobctl help api`"
    return InvalidInput(f"{name or whole} is {_shown(found)}, and must be {words}", hint, field=field)


def _of_field(what: str, path: Path, kind: Any) -> InvalidInput:
    name = _named(path)[:_SHOWN_CHARS]
    if what != "unknown":
        return InvalidInput(f"{name} is missing", "see `jobctl help api`", field=name)
    near = get_close_matches(str(path[-1]), _fields(kind), n=1)
    hint = f"did you mean {near[0]}?" if near else "see `jobctl help api`"
    return InvalidInput(f"there is no field {name!a}", hint, field=name)


def _path(text: str, value: Any, kind: Any) -> Path:
    """The steps to the place. msgspec does not say which member of an object it was: it is looked for."""
    path: Path = ()
    for step in _STEP.finditer(text):
        if step["name"] is not None:
            path += (step["name"],)
        elif step["index"] is not None:
            path += (int(step["index"]),)
        else:
            path += tuple(_culprit(_at(value, path), _kind(kind, (*path, ""))))
    return path


def _culprit(members: Any, kind: Any) -> list[str]:
    for name, member in members.items() if isinstance(members, dict) else ():
        try:
            msgspec.convert(member, kind)
        except msgspec.ValidationError:
            return [str(name)]
    return []


def _at(value: Any, path: Path) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _kind(kind: Any, path: Path) -> Any:
    """The type at a place, without None."""
    for step in path:
        arms = [arm for arm in get_args(kind) if arm is not type(None)] if _is_union(kind) else [kind]
        kind = next((inner for arm in arms if (inner := _inner(arm, step)) is not None), Any)
    return kind


def _inner(kind: Any, step: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        names = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
        return get_type_hints(kind).get(names.get(str(step), ""))
    arguments = get_args(kind)
    return arguments[-1] if arguments else None


def _is_union(kind: Any) -> bool:
    return bool(get_args(kind)) and not hasattr(kind, "__origin__")


def _choices(kind: Any) -> list[str]:
    arms = get_args(kind) if _is_union(kind) else [kind]
    return [str(member) for arm in arms if isinstance(arm, type) and issubclass(arm, enum.Enum) for member in arm]


def _fields(kind: Any) -> list[str]:
    return list(kind.__struct_encode_fields__) if hasattr(kind, "__struct_encode_fields__") else []


def _named(path: Path) -> str:
    """`retry.max`, `target.command[1]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _possible(kinds: str) -> str:
    """Null is left out: it means that the field is not given."""
    named = kinds.split(" | ")
    words = [_WORDS.get(kind, kind) for kind in named if kind != "null" and not (kind == "int" and "float" in named)]
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _WORDS["array" if isinstance(value, list) else "object"]
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
