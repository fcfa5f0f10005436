"""From a page of the manual to blocks of text: the part of man(7) that the pages use, and no more of it."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

#: In front of running text, of subheadings; how far what has a tag is moved.
BODY: Final = 7
SUBHEADING: Final = 3
HANG: Final = 7
#: A hyphen at which a line may be broken: what is written `-`; an option has `\-`.
HYPHEN: Final = "\u2010"
#: A space at which no line is broken.
STIFF: Final = "\u00a0"

_NAMED: Final = {
    "aq": "'", "ga": "`", "dq": '"', "bu": "•", "en": "–", "em": "—", "mu": "×", "ha": "^", "ti": "~", "rs": "\\",
    "->": "→", "<-": "←",
}  # fmt: skip
_ESCAPE: Final = re.compile(r"\\(?:f(.)|\((..)|\[u([0-9A-F]{4,5})\]|(.))", re.DOTALL)
_SINGLE: Final = {"-": "-", "&": "", "e": "\\", "~": STIFF, " ": STIFF}
_ARGUMENT: Final = re.compile(r'"((?:[^"]|"")*)"?|((?:\\.|[^\s"])\S*(?:(?<=\\)\s\S*)*)')
#: Fonts that take turns: their arguments stand side by side. One font: with spaces between.
_TURNS: Final = frozenset({"BI", "BR", "IB", "IR", "RB", "RI"})
_FONTS: Final = frozenset({"B", "I"})


class Unknown(ValueError):
    """A request or an escape that this reader has not learned."""


class Block(NamedTuple):
    """A heading, a paragraph, or lines as they are."""

    kind: str
    """`heading`, `subheading`, `text`, `lines`."""
    lines: tuple[str, ...]
    """What it says; of a text, pieces that are filled together."""
    indent: int = BODY
    gap: bool = False
    """Whether an empty line is before it."""
    tag: str = ""
    """What hangs in front of its first line, `hang` to the left."""
    hang: int = 0


def read(text: str) -> Iterator[Block]:
    """The blocks of a page, in their order; the title is left out."""
    reader = _Reader()
    for line in text.splitlines():
        yield from reader.take(line)
    yield from reader.flush()


class _Reader:
    def __init__(self) -> None:
        self._margins = [BODY]
        self._hang = 0
        """How far what follows is moved, below a tag."""
        self._width = HANG
        self._gap = False
        self._spaced = True
        """Whether paragraphs have an empty line before them."""
        self._tag: str | None = None
        self._tag_next = False
        self._literal = False
        self._held: list[str] = []

    def take(self, line: str) -> Iterator[Block]:
        if line.startswith(("'\\\"", '.\\"')):
            return
        if not line.startswith("."):
            yield from self._say(unescaped(line))
            return
        name, _, rest = line[1:].partition(" ")
        arguments = _arguments(rest)
        if name in _FONTS:
            yield from self._say(unescaped(" ".join(arguments)))
        elif name in _TURNS:
            yield from self._say(unescaped("".join(arguments)))
        else:
            yield from self._request(name, arguments)

    def flush(self) -> Iterator[Block]:
        """What was gathered, as a block."""
        if not self._held and self._tag is None:
            return
        kind = "lines" if self._literal else "text"
        tag, hang = self._tag or "", self._hang
        yield Block(kind, tuple(self._held), self._margins[-1] + hang, self._gap, tag, hang if tag else 0)
        self._held, self._tag, self._gap = [], None, False

    def _say(self, text: str) -> Iterator[Block]:
        if self._tag_next:
            self._tag, self._tag_next = text, False
        else:
            self._held.append(text)
        yield from ()

    def _request(self, name: str, arguments: list[str]) -> Iterator[Block]:
        if name in ("TH", "nh", "ad"):
            return
        yield from self.flush()
        match name:
            case "SH" | "SS":
                self._margins, self._hang, self._width = [BODY], 0, HANG
                below = name == "SS"
                yield Block(
                    "subheading" if below else "heading",
                    (unescaped(" ".join(arguments)),),
                    SUBHEADING if below else 0,
                    True,
                )
                self._gap = False
            case "PP":
                self._hang, self._width, self._gap = 0, HANG, self._spaced
            case "TP" | "IP":
                if len(arguments) > (name == "IP"):
                    self._width = int(arguments[-1])
                self._hang, self._gap = self._width, self._spaced
                self._tag_next = name == "TP"
                if name == "IP" and arguments:
                    self._tag = unescaped(arguments[0])
            case "RS":
                self._margins.append(self._margins[-1] + (int(arguments[0]) if arguments else HANG))
                self._hang = 0
            case "RE":
                self._margins.pop()
                self._hang = 0
            case "PD":
                self._spaced = arguments != ["0"]
            case "EX" | "EE":
                self._literal = name == "EX"
            case "br":
                pass
            case _:
                raise Unknown(f"the request .{name}")


def unescaped(text: str) -> str:
    """What a reader sees of a line, without its fonts."""
    return _ESCAPE.sub(_character, text.replace("-", HYPHEN).replace("\\" + HYPHEN, "\\-"))


def _character(found: re.Match[str]) -> str:
    font, name, code, single = found.groups()
    if font is not None:
        return ""
    if code is not None:
        return chr(int(code, 16))
    if name is not None:
        name = name.replace(HYPHEN, "-")
    known = _NAMED.get(name) if name is not None else _SINGLE.get(single)
    if known is None:
        raise Unknown(f"the escape {found[0]}")
    return known


def _arguments(text: str) -> list[str]:
    return [quoted.replace('""', '"') if bare == "" else bare for quoted, bare in _ARGUMENT.findall(text)]
