"""From the text of a regular expression to the states of a machine that follows it.

What there is: characters, `.`, `[a-z]`, `[^a-z]`, `\\d \\w \\s` (`\\D \\W \\S`), `( )`, `|`, `* + ?`, `{2,3}`, `^`
and `$`. Case does not matter.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from jobctl.errors import InvalidInput

SOURCE_CHARS_MAX: Final = 200
#: States of one expression: `{1000}` is as many copies.
STATES_MAX: Final = 1_000

_Test = Callable[[str], bool]


class _Range(NamedTuple):
    first: str
    last: str


class _Set(NamedTuple):
    """Characters of a class; a negated one has all others."""

    ranges: tuple[_Range, ...]
    tests: tuple[_Test, ...]
    negated: bool

    def has(self, char: str) -> bool:
        forms = (char, char.upper())
        within = any(each.first <= form <= each.last for each in self.ranges for form in forms)
        return (within or any(test(char) for test in self.tests)) is not self.negated


class State:
    """Either it takes a character that passes `test` and goes on to `next`, or it is in all of `also` at once."""

    __slots__ = ("also", "anchor", "next", "test")

    def __init__(self) -> None:
        self.test: _Test | None = None
        self.next: State | None = None
        self.also: list[State] = []
        self.anchor = ""
        """`^` or `$`: it is in `also` only at that end of the text."""


class Piece(NamedTuple):
    """A part of the expression: where it begins, and where it has matched."""

    first: State
    last: State


class Machine(NamedTuple):
    """A whole expression, and of how many states it is made."""

    first: State
    last: State
    states: int


def _any(_: str) -> bool:
    return True


def _word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CLASSES: Final[dict[str, _Test]] = {"d": str.isdigit, "w": _word, "s": str.isspace}
_REPEATS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS: Final = {"t": "\t", "n": "\n"}


def read(source: str) -> Machine:
    """The machine; `InvalidInput` says what is wrong, and its `details` at which character (`at`, from 0)."""
    return _Parser(source).parse()


class _Parser:
    """Recursive descent; each piece that is repeated is parsed once for each copy."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._states = 0

    def parse(self) -> Machine:
        if len(self._source) > SOURCE_CHARS_MAX:
            raise self._wrong(f"the pattern has over {SOURCE_CHARS_MAX} characters", "say it shorter")
        piece = self._either()
        if self._at < len(self._source):
            raise self._wrong("a ) closes nothing", r"\) means the character")
        return Machine(*piece, self._states)

    # ── what pieces are made of ──────────────────────────────────────────────
    def _either(self) -> Piece:
        piece = self._sequence()
        while self._take("|"):
            other, first, last = self._sequence(), self._state(), self._state()
            first.also = [piece.first, other.first]
            piece.last.also.append(last)
            other.last.also.append(last)
            piece = Piece(first, last)
        return piece

    def _sequence(self) -> Piece:
        first = last = self._state()
        while self._peek() not in ("", "|", ")"):
            piece = self._repeated()
            last.also.append(piece.first)
            last = piece.last
        return Piece(first, last)

    def _repeated(self) -> Piece:
        begin = self._at
        piece = self._one()
        while (times := self._times()) is not None:
            end = self._at
            piece = self._copies(begin, piece, *times)
            self._at = end
            if self._peek() in ("*", "+", "?", "{"):
                raise self._wrong("two repetitions in a row", "put the first in ( )")
        return piece

    def _copies(self, begin: int, piece: Piece, least: int, most: int | None) -> Piece:
        first = last = self._state()
        for number in range(max(least, 1 if most is None else most)):
            if number:
                self._at = begin
                piece = self._one()
            if number >= least:
                last.also.append(piece.first)
                skip = self._state()
                last.also.append(skip)
                piece.last.also.append(skip)
                last = skip
            else:
                last.also.append(piece.first)
                last = piece.last
        if most is None:
            piece.last.also.append(piece.first)
        return Piece(first, last)

    def _one(self) -> Piece:
        char = self._next()
        if char == "(":
            self._take("?:")
            piece = self._either()
            if not self._take(")"):
                raise self._wrong("a ( is not closed", r"\( means the character")
            return piece
        if char in "^$":
            return self._anchored(char)
        if char == "[":
            return self._taking(self._set().has)
        if char == ".":
            return self._taking(_any)
        if char == "\\":
            return self._taking(self._escaped())
        if char in "*+?{":
            raise self._wrong(f"there is nothing before {char} to repeat", f"\\{char} means the character", back=1)
        return self._taking(_equal(char))

    def _times(self) -> tuple[int, int | None] | None:
        char = self._peek()
        if char in _REPEATS and char:
            self._at += 1
            return _REPEATS[char]
        if char != "{":
            return None
        close = self._source.find("}", self._at)
        least, comma, most = self._source[self._at + 1 : max(close, 0)].partition(",")
        if not least.isdecimal() or len(least) > 4 or len(most) > 4 or not (most.isdecimal() or not most):
            raise self._wrong("a { is not {2}, {2,} or {2,3}", r"\{ means the character")
        self._at = close + 1
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise self._wrong(f"{{{least},{most}}} is less than it begins with", "put the smaller number first")
        return int(least), int(most) if most else None

    def _set(self) -> _Set:
        begin = self._at
        negated = self._take("^")
        ranges: list[_Range] = []
        tests: list[_Test] = []
        while not self._take("]") or (not ranges and not tests):
            char = "]" if self._source[self._at - 1 : self._at] == "]" and not ranges and not tests else self._next()
            if not char:
                self._at = begin
                raise self._wrong("a [ is not closed", r"\[ means the character", back=1)
            if char == "\\":
                if self._peek().lower() in _CLASSES and self._peek():
                    tests.append(self._escaped())
                    continue
                char = self._literal()
            last = char
            if self._peek() == "-" and self._source[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._next()
                last = self._literal() if last == "\\" else last
                if last < char:
                    raise self._wrong(f"{char}-{last} is backwards", "put the smaller one first")
            ranges.append(_Range(char, last))
        return _Set(tuple(ranges), tuple(tests), negated)

    def _escaped(self) -> _Test:
        """What stands after a backslash."""
        letter = self._peek()
        known = _CLASSES.get(letter.lower())
        if known is None:
            return _equal(self._literal())
        self._at += 1
        return known if letter.islower() else lambda char: not known(char)

    def _literal(self) -> str:
        char = self._next()
        if not char:
            raise self._wrong("a backslash has nothing behind it", r"\\ means the character", back=1)
        if char.isalnum() and char not in _CONTROLS:
            raise self._wrong(
                f"\\{char} means nothing here", r"there are \d \w \s \t \n, and \. for a character", back=2
            )
        return _CONTROLS.get(char, char)

    # ── states ──────────────────────────────────────────────
    def _taking(self, test: _Test) -> Piece:
        first, last = self._state(), self._state()
        first.test, first.next = test, last
        return Piece(first, last)

    def _anchored(self, anchor: str) -> Piece:
        first, last = self._state(), self._state()
        first.anchor, first.also = anchor, [last]
        return Piece(first, last)

    def _state(self) -> State:
        if self._states >= STATES_MAX:
            raise self._wrong("the pattern repeats too much", f"it would have over {STATES_MAX} states")
        self._states += 1
        return State()

    # ── the text ──────────────────────────────────────────────
    def _peek(self) -> str:
        return self._source[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += len(char)
        return char

    def _take(self, text: str) -> bool:
        if not self._source.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _wrong(self, message: str, hint: str, back: int = 0) -> InvalidInput:
        error = InvalidInput(message, hint)
        error.details["at"] = max(0, self._at - back)
        return error


def _equal(char: str) -> _Test:
    return char.lower().__eq__
