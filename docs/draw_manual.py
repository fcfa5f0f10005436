"""Fills what the code knows into the pages of man/: `python docs/draw_manual.py` writes it, a test compares it.

A page is written by hand. Between `.\\" drawn: WHAT` and `.\\" end` stands what is drawn: synopses, options, examples
of verbs, settings with their defaults and limits, keys of the screens, exit codes, defaults. A verb that is
told of on the page of its family has a link (`.so`) for its own, which is drawn too.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import msgspec

from jobctl.cli.build import command_of
from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import BY_WORDS, VERBS, Verb
from jobctl.defaults import HEADING, rows
from jobctl_daemon import settings
from jobctl_tui.actions import Action, Risk, Scope
from jobctl_tui.keys import ACTIONS
from jobctl_tui.words.glyphs import ASCII
from jobctl_tui.words.keys import shown

MAN: Final = Path(__file__).parents[1] / "man"
DRAWN: Final = re.compile(r'(^\.\\" drawn: (.+)\n)(?:.*\n)*?(\.\\" end\n)', re.MULTILINE)
#: Characters that not every terminal of a man(1) has, or that roff takes for something else.
_SIGNS: Final = str.maketrans(
    {"\\": "\\e", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", "\0": "\\-",
     "…": "...", "→": "\\(->", "–": "\\(en", "×": "\\(mu", "·": ","}
)  # fmt: skip
#: A hyphen that is none inside a word: it stands for itself, and no line is broken there.
_MINUS: Final = re.compile(r"(?<![A-Za-z])-|-(?![A-Za-z])")
_WIDE: Final = 68


# ── texts ─────────────────────────────────────────────────


def roff(text: str) -> str:
    """Running text; what stands in backquotes is bold."""
    parts = re.split(r"`([^`]*)`", text)
    parts[1::2] = [bold(part) for part in parts[1::2]]
    parts[::2] = [_MINUS.sub("\0", part).translate(_SIGNS) for part in parts[::2]]
    lines = wrap("".join(parts), 79, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in lines)


def literal(text: str) -> str:
    """Something to type."""
    return text.replace("-", "\0").translate(_SIGNS)


def bold(text: str) -> str:
    return f"\\fB{literal(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{literal(text)}\\fR"


# ── verbs ─────────────────────────────────────────────────


def synopsis(words: str) -> Iterator[str]:
    """A line for each verb."""
    for at, each in enumerate(words.split(", ")):
        if at:
            yield ".br"
        usage = BY_WORDS[each].usage
        if "OPTIONS" not in usage and "-e" not in usage and any(map(_is_option, command_of(BY_WORDS[each]).params)):
            usage = f"[OPTION…] {usage}"
        yield f"{bold(f'jobctl {each}')} {_usage(usage)}".rstrip()


def _usage(usage: str) -> str:
    """What a person replaces is slanted, what is typed as it stands is bold."""
    found = re.sub(r"-{1,2}(?:[a-z-]+)?|[a-z]+", lambda word: bold(word[0]), usage)
    return re.sub(r"(?<![\\f])\b[A-Z]+\b", lambda word: italic(word[0]), found).replace("…", "...")


def options(words: str) -> Iterator[str]:
    """Those of a verb, without the common ones; arguments first."""
    own = [param for param in command_of(BY_WORDS[words]).params if not _is_common(param)]
    shown_ones = [param for param in own if getattr(param, "help", None) or param.param_type_name == "option"]
    if not shown_ones:
        yield "It has none of its own."
        yield f"Those of all verbs are in {bold('jobctl')}(1)."
        return
    for param in sorted(shown_ones, key=lambda param: param.param_type_name != "argument"):
        yield ".TP"
        yield _head(param)
        yield roff(str(getattr(param, "help", "") or ""))
    yield ".PP"
    yield f"The options of all verbs are in {bold('jobctl')}(1)."


def common(_: str) -> Iterator[str]:
    for param in command_of(BY_WORDS["version"]).params:
        yield ".TP"
        yield _head(param)
        yield roff(str(getattr(param, "help", "")))
    yield ".TP"
    yield bold("--version")
    yield "the version of this program, without a verb"


def _is_option(param: Any) -> bool:
    """Whether it is one of the verb's own."""
    return param.param_type_name == "option" and not _is_common(param)


def _is_common(param: Any) -> bool:
    return getattr(param, "rich_help_panel", None) == "Common options"


def _head(param: Any) -> str:
    if param.param_type_name == "argument":
        return _usage(str(param.metavar))
    names = ", ".join(bold(name) for name in param.opts)
    value = "" if getattr(param, "is_flag", False) else str(param.metavar or "")
    return f"{names} {_value(value)}".rstrip()


def _value(metavar: str) -> str:
    """`queue[:N]`: the word is typed, the capital replaced."""
    return _usage(metavar)


def verbs(_: str) -> Iterator[str]:
    """Every verb in one line, by section."""
    for section in dict.fromkeys(verb.section for verb in VERBS):
        yield f'.SS "{section}"'
        yield from _list(18, ((bold(verb.words), roff(verb.summary)) for verb in VERBS if verb.section == section))


def _list(width: int, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One below the other, without empty lines between."""
    for at, (tag, text) in enumerate(entries):
        if at == 1:
            yield ".PD 0"
        yield f".TP {width}"
        yield tag
        yield text
    yield ".PD"


def examples(words: str) -> Iterator[str]:
    """The examples of the short help."""
    module = __import__(BY_WORDS[words].module, fromlist=["EXAMPLES"])
    yield ".RS 4"
    yield ".EX"
    for at, (command, comment) in enumerate(module.EXAMPLES):
        if at:
            yield ""
        if comment:
            yield from (literal(f"# {line}") for line in wrap(comment, _WIDE - 2, break_on_hyphens=False))
        yield from (literal(line) for line in _folded(command))
    yield ".EE"
    yield ".RE"


def _folded(command: str) -> list[str]:
    """A command in lines that a terminal holds, continued as a shell reads it: before an option or behind a pipe."""
    lines = [""]
    for piece in _pieces(command):
        if lines[-1] and len(lines[-1]) + 1 + len(piece) > _WIDE:
            lines[-1] += " \\"
            lines.append("    " + piece)
        else:
            lines[-1] += (" " if lines[-1] else "") + piece
    return lines


#: What a continued line of a command may begin with.
_BREAK: Final = re.compile(r"--?[a-z]|--$|[|]$|&&$")


def _pieces(command: str) -> list[str]:
    """Where it may be continued: before options, `--` with its command, `|` and `&&`, outside of quotes."""
    pieces, quote = [""], ""
    words = command.split(" ")
    for at, word in enumerate(words):
        begins = (
            not quote and at > 0 and (re.match(r"--?[a-z]|--$|[|]$|&&$", word) is not None) and words[at - 1] != "|"
        )
        if begins and not any(piece.startswith("-- ") for piece in pieces):
            pieces.append(word)
        else:
            pieces[-1] += (" " if at else "") + word
        for char in word:
            if char in "'\"" and quote in ("", char):
                quote = "" if quote else char
    return pieces


# ── tables ────────────────────────────────────────────────


def exit_codes(_: str) -> Iterator[str]:
    found = re.findall(r"^  (\d+) +(.+)$", TEXTS["exit-codes"], re.MULTILINE)
    yield from _list(7, ((bold(code), roff(text)) for code, text in found))


def defaults(_: str) -> Iterator[str]:
    """A list for each way a job comes to be."""
    for at in range(1, len(HEADING)):
        yield f".SS {literal(HEADING[at])}"
        yield from _list(26, ((roff(row.label), roff(row[at])) for row in rows() if row[at] != "–"))


def setting(key: str) -> Iterator[str]:
    """A key of jobd.toml with what it is without a line, and from where to where it goes."""
    default = getattr(settings.Settings(), key)
    facts = f"Default: {bold(_toml(default))}."
    if key in settings._BOUNDS:
        low, high = settings._BOUNDS[key]
        facts += f" A number from {low:,} to {high:,}."
    words = settings.ECHOES if key == "echo" else settings._WORDS.get(key)
    if words:
        facts += f" One of {', '.join(bold(word) for word in words)}."
    yield ".TP"
    yield bold(key)
    yield facts
    yield ".br"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "[]" if value == () else msgspec.json.encode(value).decode()


def keys(name: str) -> Iterator[str]:
    """The keys of a part of the screens, in the order of its key bar."""
    scope = Scope[name]
    found = sorted((each for each in ACTIONS if each.scope is scope), key=lambda each: each.rank)
    yield from _list(14, ((_keys_of(action), _what_of(action)) for action in found))


def _what_of(action: Action) -> str:
    asks = " (asks first)" if action.risk is Risk.ASKED else ""
    return f"{roff(action.help)}{asks} [{italic(action.id)}]"


def _keys_of(action: Action) -> str:
    return ", ".join(bold(shown(key, ASCII)) for key in action.keys) or bold(f":{action.id}")


_DRAWERS: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "synopsis of": synopsis, "options of": options, "examples of": examples, "common options": common, "verbs": verbs,
    "exit codes": exit_codes, "defaults": defaults, "setting": setting, "keys of": keys,
}  # fmt: skip


def drawn(what: str) -> str:
    """What belongs between two markers: `options of dlq ls`."""
    for name, draw in _DRAWERS.items():
        if what == name or what.startswith(name + " "):
            return "".join(line + "\n" for line in draw(what[len(name) :].strip()))
    raise ValueError(f"nobody draws {what!r}: {', '.join(_DRAWERS)}")


def page(text: str) -> str:
    """A page with what holds now between its markers."""
    return DRAWN.sub(lambda found: found[1] + drawn(found[2]) + found[3], text)


# ── links ─────────────────────────────────────────────────


def name_of(verb: Verb) -> str:
    """The page of a verb."""
    return "jobctl-" + verb.words.replace(" ", "-")


def links() -> dict[str, str]:
    """For each verb that is told of on the page of its family: the file and the line in it."""
    pages = {path.name: path.read_text(encoding="utf-8") for path in sorted(MAN.glob("jobctl-*.1"))}
    whole = {name: text for name, text in pages.items() if not text.startswith(".so ")}
    found = {}
    for verb in VERBS:
        file = name_of(verb) + ".1"
        if file in whole:
            continue
        homes = [name for name, text in whole.items() if f'\n.\\" drawn: options of {verb.words}\n' in text]
        if len(homes) != 1:
            raise ValueError(f"{verb.words} has {len(homes)} pages")
        found[file] = f".so man1/{homes[0]}\n"
    return found


def main() -> None:
    for path in sorted(MAN.glob("*.[158]")):
        text = path.read_text(encoding="utf-8")
        path.write_text(page(text), encoding="utf-8")
    for name, text in links().items():
        (MAN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
