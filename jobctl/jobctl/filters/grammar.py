"""From the text of a filter to its terms. Every mistake is told with its place, and what it may have been."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from jobctl.errors import InvalidInput

from .keys import KEYS, STATE_WORDS, Key, Kind
from .pattern import Pattern, TooCostly, Work, glob
from .terms import Filter, Term

TEXT_CHARS_MAX: Final = 500
TERMS_MAX: Final = 30
#: Values of one term.
VALUES_MAX: Final = 50
#: Steps of building all its patterns, which are some milliseconds: who reads a filter does nothing else meanwhile.
_BUILD_MAX: Final = 100_000

_TERM: Final = re.compile(
    r"""
    (?P<minus>-?)
    (?:
        /(?P<pattern>(?:\\.|[^/\\])+)/(?=\s|$)
      | (?P<key>[A-Za-z_]+)(?P<relation>[:<>])(?P<values>(?:"(?:\\.|[^"\\])*"|[^\s"])*)
      | (?P<word>(?:"(?:\\.|[^"\\])*"|[^\s"])+)
    )
    (?=\s|$)
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = re.compile(r"\s*")
_PIECE: Final = re.compile(r'"((?:\\.|[^"\\])*)"|([^",]+)|(,)', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")


class _Value(NamedTuple):
    text: str
    at: int


def parse(text: str) -> Filter:
    """The filter; `InvalidInput` says what is wrong, and its `details` at which character (`at`, from 0)."""
    if len(text) > TEXT_CHARS_MAX:
        raise _wrong(f"the filter has over {TEXT_CHARS_MAX} characters", "leave something out", TEXT_CHARS_MAX)
    matches = list(_split(text))
    if len(matches) > TERMS_MAX:
        raise _wrong(f"the filter has over {TERMS_MAX} terms", "leave some out", matches[TERMS_MAX].start())
    work = Work(_BUILD_MAX)
    return Filter(tuple(_term(match, work) for match in matches))


def _split(text: str) -> Iterator[re.Match[str]]:
    at = _SPACE.match(text, 0).end()  # type: ignore[union-attr]  # it matches nothing too
    while at < len(text):
        match = _TERM.match(text, at)
        if match is None:
            raise _unreadable(text, at)
        yield match
        at = _SPACE.match(text, match.end()).end()  # type: ignore[union-attr]


def _unreadable(text: str, at: int) -> InvalidInput:
    quote = text.find('"', at)
    if quote >= 0:
        return _wrong("a quotation mark is not closed, or has text behind it", 'close it: "two words"', quote)
    return _wrong(f"{text[at:].split()[0][:40]!r} is no term", "a minus stands before a word, or key:value", at)


def _term(match: re.Match[str], work: Work) -> Term:
    at, negated = match.start(), bool(match["minus"])
    if match["pattern"] is not None:
        return Term("pattern", ":", (_pattern(match["pattern"], match.start("pattern"), work),), negated, at)
    if match["key"] is not None:
        return _keyed(match, at, work, negated=negated)
    word = "".join(value.text for value in _values(match["word"], match.start("word"), commas=False))
    if not word or (match["word"].startswith("-") and negated):
        raise _wrong("there is nothing to look for", "give a word, or key:value", at)
    bare = '"' not in match["word"] and word.lower() in STATE_WORDS
    return Term("word_or_state" if bare else "word", ":", (word,), negated, at)


def _pattern(source: str, at: int, work: Work) -> str:
    source = source.replace("\\/", "/")
    try:
        Pattern(source, work)
    except TooCostly as error:
        raise _wrong(
            "the patterns of the filter repeat too much together", "leave one out, or repeat less", at
        ) from error
    except InvalidInput as error:
        raise _wrong(error.message, error.hint, at + int(str(error.details.get("at", 0)))) from error
    return source


def _keyed(match: re.Match[str], at: int, work: Work, *, negated: bool) -> Term:
    name, relation = match["key"].lower(), match["relation"]
    key = KEYS.get(name)
    if key is None:
        raise _unknown(name, match)
    values = _values(match["values"], match.start("values"), commas=True)
    if not values:
        raise _wrong(f"{name} has no value", _example(key), match.end())
    if len(values) > VALUES_MAX:
        raise _wrong(f"{name} has over {VALUES_MAX} values", "leave some out", values[VALUES_MAX].at)
    compared = relation in "<>"
    if compared and key.kind not in (Kind.DURATION, Kind.NUMBER):
        raise _wrong(f"{name} cannot be compared", _example(key), match.start("relation"))
    if not compared and key.kind is Kind.DURATION:
        raise _wrong(f"{name} is compared", _example(key), match.start("relation"))
    if compared and len(values) > 1:
        raise _wrong(f"{name}{relation} has one value", _example(key), values[1].at)
    return Term(name, relation, tuple(_read(key, value, work) for value in values), negated, at)


def _values(text: str, at: int, *, commas: bool) -> list[_Value]:
    """The values between commas; where none separate, the pieces between quotation marks belong together."""
    found: list[_Value] = []
    joined = False
    for match in _PIECE.finditer(text):
        if match[3] and commas:
            joined = False
            continue
        piece = _ESCAPED.sub(r"\1", match[1]) if match[1] is not None else match[2] or match[3]
        if joined:
            found[-1] = found[-1]._replace(text=found[-1].text + piece)
        else:
            found.append(_Value(piece, at + match.start()))
        joined = True
    return [value for value in found if value.text]


def _read(key: Key, value: _Value, work: Work) -> str | int:
    match key.kind:
        case Kind.WORD:
            return _word(key, value)
        case Kind.DURATION:
            return _duration(key, value)
        case Kind.NUMBER:
            if not _NUMBER.fullmatch(value.text):
                raise _wrong(f"{key.name} is a number, not {value.text[:40]!r}", _example(key), value.at)
            return int(value.text)
        case Kind.GLOB:
            _pattern(glob(value.text), value.at, work)
            return value.text
        case _:
            return value.text


def _word(key: Key, value: _Value) -> str:
    word = value.text.lower()
    if word in key.words:
        return word
    raise _wrong(f"{key.name} {value.text[:40]!r} is not known", _nearest(word, key.words), value.at)


def _duration(key: Key, value: _Value) -> int:
    from jobctl.schedule import parse_duration  # what only writes a filter does not need it

    try:
        return parse_duration(value.text)
    except InvalidInput as error:
        raise _wrong(f"{key.name}: {error.message}", _example(key), value.at) from error


def _unknown(name: str, match: re.Match[str]) -> InvalidInput:
    as_it_stands = f'a name with {match["relation"]} in it is put in quotation marks: "{match[0][:40]}"'
    return _wrong(
        f"there is no key {name[:40]!r}", f"{_nearest(name, tuple(KEYS))}; {as_it_stands}", match.start("key")
    )


def _nearest(word: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word[:40], known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"


def _example(key: Key) -> str:
    match key.kind:
        case Kind.DURATION:
            return f"as in {key.name}<1h, {key.name}>90s"
        case Kind.NUMBER:
            return f"as in {key.name}:1,2 or {key.name}>0"
        case Kind.WORD:
            return f"one of {', '.join(key.words)}"
        case Kind.GLOB:
            return f"as in {key.name}:back*"
        case _:
            return f"as in {key.name}:rsync"


def _wrong(message: str, hint: str, at: int) -> InvalidInput:
    error = InvalidInput(message, hint, field="q")
    error.details["at"] = at
    return error
