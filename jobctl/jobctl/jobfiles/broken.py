"""What is wrong with a statement that is no TOML, in words for somebody who has never read its specification."""

import json
import re
from difflib import get_close_matches
from typing import Final, NamedTuple

from jobctl.jobfiles.statements import Statement, string_end

_POSITION: Final = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_KEY: Final = re.compile(r"(?P<key>[^=\n]*?)[ \t]*=[ \t]*(?P<value>.*)", re.DOTALL)
_COLON: Final = re.compile(r"(?P<key>[A-Za-z0-9_.-]+)[ \t]*:[ \t]*(?P<value>[^\n]*)")
_BARE_KEY: Final = re.compile(
    r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*"""
)
_TITLE: Final = re.compile(r"\[+[ \t]*(?P<table>jobs?|defaults)(?:[ \t]*\.[ \t]*(?P<name>[^\]\n#]*))?", re.IGNORECASE)
_SWITCH: Final = {"yes": "true", "on": "true", "no": "false", "off": "false", "true": "true", "false": "false"}
_NOTHING: Final = ("null", "none", "nil", "undefined", "~")
_CURLY: Final = "“”„‘’«»"
_SHOWN_CHARS: Final = 60


class Flaw(NamedTuple):
    """`at` counts from the beginning of the statement."""

    at: int
    reason: str
    hint: str


def flaw(statement: Statement, error: Exception, known: tuple[str, ...]) -> Flaw:
    """What is wrong; `error` is what tomllib says. `known` are keys that one may have meant."""
    text = statement.text
    if statement.heading:
        return _of_heading(text)
    pair = _KEY.fullmatch(text)
    if pair is None:
        return _without_equals(text)
    key, value, at = pair["key"], pair["value"], pair.start("value")
    if not _BARE_KEY.fullmatch(key):
        return _of_key(key, known)
    if statement.open_at is not None:
        return _open(text, statement.open_at - statement.at)
    bare = re.split(r"[ \t]*(?:#|\n|$)", value, maxsplit=1)[0]
    if not bare:
        return Flaw(pair.end("key"), f"there is no value behind {key} =", f'texts are in quotes: {key} = "…"')
    return _of_value(key, value, bare, at) or _as_told(text, error)


def _of_heading(text: str) -> Flaw:
    """A name that needs quotes, or a bracket that is missing."""
    title = _TITLE.match(text)
    line = text.partition("#")[0].rstrip()
    name = (title["name"] or "").strip() if title else ""
    if name and not _BARE_KEY.fullmatch(name):
        plain = name.replace('"', "").replace("'", "").replace("\\", "")
        return Flaw(title.start("name") if title else 0, "a name of other than letters, digits, - and _ is in quotes",
                    f"write [job.{_text(plain)}]")  # fmt: skip
    if not line.endswith("]"):
        return Flaw(0, "the bracket of this heading is not closed", f"write {line}]")
    return Flaw(0, "this heading cannot be read", "a job begins with [job.NAME], defaults with [defaults]")


def _without_equals(text: str) -> Flaw:
    colon = _COLON.match(text)
    if colon:
        return Flaw(colon.end("key"), "between a key and its value stands =, not :", f"write {colon['key']} = …")
    return Flaw(0, "this line is neither KEY = VALUE nor a heading in brackets", "remarks begin with #")


def _of_key(key: str, known: tuple[str, ...]) -> Flaw:
    if not key:
        return Flaw(0, "there is no key before the =", "write KEY = VALUE")
    near = get_close_matches(re.sub(r"[\s-]+", "_", key.strip()), known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "keys are of letters, digits, - and _; others are in quotes"
    return Flaw(0, f"{_text(key[:_SHOWN_CHARS])} cannot be a key", hint)


def _open(text: str, at: int) -> Flaw:
    if text[at] == "[":
        return Flaw(at, "this list is not closed", "put a ] behind its last item")
    return Flaw(at, "this table in braces is not closed", "put a } at its end; it stands on one line")


def _of_value(key: str, value: str, bare: str, at: int) -> Flaw | None:
    word = bare.lower()
    if bare[0] in _CURLY or bare[-1] in _CURLY:
        inner = bare.strip(_CURLY)
        return Flaw(at, "these quotes are typographic ones", f"write {key} = {_text(inner)}")
    if word in _SWITCH:
        return Flaw(at, f"{bare} is no value of TOML", f"write {key} = {_SWITCH[word]}")
    if word in _NOTHING:
        return Flaw(at, f"{bare} is no value of TOML", "leave the line out: then the default holds")
    if bare[0] in "\"'":
        return _of_text(key, value, at)
    if bare[0] == "{" and "\n" in value.strip():
        return Flaw(at, "a table in braces must stand on one line", f"or make it a table of its own: [job.NAME.{key}]")
    if bare[0] in "[{":
        return None
    if bare.isdigit() and bare[0] != "0":
        return Flaw(at, "this number is too long", "no key takes one of so many digits")
    return Flaw(at, "texts are in quotes", f"write {key} = {_text(bare)}")


def _of_text(key: str, value: str, at: int) -> Flaw | None:
    end = string_end(value, 0)
    mark = value[:3] if value.startswith(('"""', "'''")) else value[0]
    if end < 2 * len(mark) or not value[:end].endswith(mark):
        return Flaw(at, "this text is not closed", f"put a {mark} at its end")
    rest = value[end:].strip()
    if rest and not rest.startswith("#"):
        return Flaw(at + end, "something stands behind the text", _behind(key, value, end, mark))
    return None


def _behind(key: str, value: str, end: int, mark: str) -> str:
    """Several texts are a list, and a quote inside a text ends it."""
    rest = value[end:].strip()
    if rest[0] in ",\"'" and key in ("command", "notify", "tags"):
        return f"several texts are a list: {key} = [{value[:end]}, …]"
    return f"a {mark} inside it ends the text: put the whole in {'double' if mark == chr(39) else 'single'} quotes"


def of_whole(error: Exception) -> tuple[Flaw, int, int]:
    """What is wrong with a text of which each statement is right, with line and column."""
    place = _POSITION.search(str(error))
    line, column = (int(place["line"]), int(place["column"])) if place and place["line"] else (1, 1)
    return _in_words(_POSITION.sub("", str(error)), 0), line, column


def _as_told(text: str, error: Exception) -> Flaw:
    """By what tomllib says, where it says it."""
    said = str(error)
    place = _POSITION.search(said)
    at = 0
    if place and place["line"]:
        lines = text.split("\n")
        at = sum(len(line) + 1 for line in lines[: int(place["line"]) - 1]) + int(place["column"]) - 1
    return _in_words(_POSITION.sub("", said), min(at, max(0, len(text.rstrip()) - 1)))


def _in_words(words: str, at: int) -> Flaw:
    if "Invalid value" in words:
        return Flaw(at, "what stands here is no value", "texts are in quotes, those in a list as well")
    if "Unclosed array" in words:
        return Flaw(at, "in this list something is missing", "between two items stands a comma")
    if "Unclosed inline table" in words:
        return Flaw(at, "in these braces something is missing", "between two entries stands a comma")
    if "Unescaped" in words or "escape" in words.lower() or "hex value" in words.lower():
        return Flaw(at, "a \\ in double quotes begins a special character", "use single quotes, or write \\\\")
    if "inline table key" in words:
        return Flaw(at, "a key is there twice in these braces", "keep one of them")
    if "Cannot" in words:
        return Flaw(at, "this key was given a value before", "keep one of them")
    if "Illegal character" in words:
        return Flaw(at, "here is a control character", "leave it out, or write it as \\u0000 with its number")
    if "Expected newline" in words:
        return Flaw(at, "something stands behind the value", "one KEY = VALUE on each line")
    return Flaw(at, f"this cannot be read: {words}", "see jobs.toml(5)")


def _text(text: str) -> str:
    """As TOML writes it: JSON's strings are such."""
    return json.dumps(text[:_SHOWN_CHARS], ensure_ascii=False)
