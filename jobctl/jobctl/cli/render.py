"""The only printer: data on stdout, words on stderr.

Text goes out in the stream's encoding, with escapes for what it cannot hold: printing never fails because of a locale.
Colour only on a terminal, and never with `NO_COLOR` or `TERM=dumb`.
"""

import json
import os
import select
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TextIO

from jobctl.cli import table
from jobctl.reading.safe import cell, json_text
from jobctl.reading.safe import text as safe_text
from jobctl.reading.width import cut, width

FORMATS: Final = ("table", "wide", "json", "ndjson", "csv", "name")
_STYLES: Final = {"bad": "31", "good": "32", "warn": "33", "dim": "2", "strong": "1"}
_WIDTH: Final = 80
_HEIGHT: Final = 24
_NARROW: Final = 20


class Sink:
    """One of the two streams, as bytes."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], colour: str) -> None:
        self._stream = stream
        self.terminal = stream.isatty()
        self.encoding = stream.encoding or "utf-8"
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        self.colour = colour == "always" or (colour == "auto" and self.terminal and not plain)
        self._columns = environ.get("COLUMNS", "")
        self._lines = environ.get("LINES", "")
        self._term = environ.get("TERM", "")

    def write(self, text: str) -> None:
        self.bytes(text.encode(self.encoding, "backslashreplace"))

    def bytes(self, data: bytes) -> None:
        self._stream.flush()
        self._stream.buffer.write(data)
        self._stream.buffer.flush()

    def at_once(self, text: str) -> None:
        """For a signal handler, which may have come in the middle of a write: past the buffer, which takes no second
        one then, and only if the terminal takes it now."""
        with suppress(OSError, ValueError):
            number = self._stream.fileno()
            if select.select([], [number], [], 0)[1]:
                os.write(number, text.encode(self.encoding, "backslashreplace"))

    def width(self) -> int | None:
        """Columns of the terminal; None when it is not one."""
        if not self.terminal:
            return None
        if self._columns.isdigit() and int(self._columns) > 0:
            return int(self._columns)
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        except (OSError, ValueError):
            return _WIDTH

    def height(self) -> int | None:
        """Lines of the terminal; None when it is not one."""
        if not self.terminal:
            return None
        if self._lines.isdigit() and int(self._lines) > 0:
            return int(self._lines)
        try:
            return os.get_terminal_size(self._stream.fileno()).lines or _HEIGHT
        except (OSError, ValueError):
            return _HEIGHT

    @property
    def moves(self) -> bool:
        """Whether it is a terminal whose cursor can be moved."""
        return self.terminal and self._term not in ("", "dumb", "unknown")

    @property
    def file(self) -> bool:
        """Whether it is a plain file: what reads a pipe may be a pager, whose screen is not ours to write on."""
        try:
            return stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode)
        except (OSError, ValueError):
            return False

    def can(self, text: str) -> bool:
        """Whether the stream's encoding holds a text."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True


class Render:
    """Prints for one invocation, in the format that its caller chose."""

    def __init__(self, stdout: TextIO, stderr: TextIO, environ: Mapping[str, str], output: str, colour: str) -> None:
        self.output = output
        self.aside: Callable[[], None] | None = None
        """Takes away what stands on stderr for a while, before words are said there."""
        self.out = Sink(stdout, environ, colour)
        self.err = Sink(stderr, environ, colour)

    @property
    def machine(self) -> bool:
        """Whether a program reads: no words between the data."""
        return self.output in {"json", "ndjson", "csv", "name"}

    def line(self, text: str = "") -> None:
        """One line of data, made safe: a newline in a name must not make a second one."""
        self.out.write(cell(text) + "\n")

    def flow(self, text: str, indent: int = 2) -> None:
        """As `line`; on a terminal wrapped between words, further lines indented."""
        for line in _wrapped(cell(text), self.out.width(), indent):
            self.out.write(line + "\n")

    def painted(self, text: str, style: str) -> str:
        """For stdout: `text` in a colour, which must be safe already. Print it with `raw_line`."""
        return _paint(self.out.colour, text, style)

    def raw_line(self, text: str) -> None:
        """A line whose parts were made safe and painted by us."""
        self.out.write(text + "\n")

    def text(self, text: str) -> None:
        """A piece of a log that went through `safe.LogFilter`."""
        self.out.write(text)

    def bytes(self, data: bytes) -> None:
        """Bytes as the command wrote them."""
        self.out.bytes(data)

    def fact(self, label: str, text: str, indent: int, style: str = "", mark: str = "") -> None:
        """`label` and what it is, safe; on a terminal wrapped behind the label instead of under it.

        `style` paints the text, `mark` the first word of the label.
        """
        for line in self.fact_lines(label, text, indent, style, mark):
            self.out.write(line + "\n")

    def fact_lines(self, label: str, text: str, indent: int, style: str = "", mark: str = "") -> list[str]:
        """The lines that `fact` prints."""
        head = cell(label).ljust(indent)
        word = head.partition(" ")[0]
        room = self.out.width()
        if room is not None and room <= indent + _NARROW:
            whole = f"{cell(label)} {cell(text)}" if label.strip() else f"  {cell(text)}"
            return _wrapped(whole, room, 2)
        lines = _wrapped(cell(text), None if room is None else room - indent, 0)
        first = self.painted(word, mark) + head[len(word) :]
        return [
            (first if number == 0 else " " * indent) + self.painted(line, style) for number, line in enumerate(lines)
        ]

    def word(self, text: str, mark: str = "") -> None:
        """One line for a person, on stderr; it never stands in the way of a full or closed stderr.

        `mark` paints what stands before the colon.
        """
        if self.aside is not None:
            self.aside()
        shown = "\n".join(_wrapped(cell(text), self.err.width(), 2))
        head, colon, rest = shown.partition(":") if mark else (shown, "", "")
        try:
            self.err.write(_paint(self.err.colour, head, mark) + colon + rest + "\n")
        except OSError:
            return

    def error(self, title: str, facts: Iterable[tuple[str, str]]) -> None:
        """What, why and what to do: the fix last, where the eye ends."""
        head = _paint(self.err.colour, "error", "bad")
        room = self.err.width()
        lines = [head + _lines(f": {safe_text(title)}", None if room is None else room - len("error"), 2)]
        lines += [_lines(f"  {label + ':':<5} {safe_text(text)}", room, 8) for label, text in facts if text]
        try:
            self.err.write("\n".join(lines) + "\n")
        except OSError:
            return

    def json_error(self, value: object) -> None:
        try:
            self.err.write(_dump(value) + "\n")
        except OSError:
            return

    def json(self, value: object) -> None:
        """One JSON document; one line of it with `ndjson`."""
        self.out.write(_dump(value, indent=None if self.output == "ndjson" else 2) + "\n")

    def items(self, values: Iterable[object], cursor: str | None = None) -> None:
        """A list for programs: `{"schema": 1, "items": […], "next": …}`, or one object a line."""
        if self.output == "ndjson":
            for value in values:
                self.out.write(_dump(value) + "\n")
        else:
            self.json({"schema": 1, "items": list(values), "next": cursor})

    def names(self, names: Iterable[str]) -> None:
        """One a line, as they are, for another program; made safe for a terminal."""
        for name in names:
            if self.out.terminal:
                self.line(name)
            else:
                self.out.write(name + "\n")

    def csv(self, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """RFC 4180 with a heading; empty where there is no value."""
        self.csv_rows([titles, *rows])

    def csv_rows(self, rows: Iterable[Sequence[object]]) -> None:
        """Further rows of it."""
        for row in rows:
            text = ",".join(_csv_field(value) for value in row)
            self.out.write((safe_text(text) if self.out.terminal else text) + "\r\n")

    def columns(self, parts: Sequence[tuple[str, str]]) -> None:
        """A line of texts with their styles, two spaces between them; on a terminal cut to its width."""
        room, shown = self.out.width(), []
        mark = "…" if self.out.can("…") else ".."
        for text, style in parts:
            safe = cell(text)
            if room is not None:
                safe = cut(safe, max(0, room), mark)
                room -= width(safe) + len(table.GAP)
            shown.append(self.painted(safe, style))
        self.out.write(table.GAP.join(shown).rstrip(" ") + "\n")

    def table(self, columns: Sequence[table.Column], rows: Sequence[table.Row]) -> None:
        mark = "…" if self.out.can("…") else ".."
        for line in table.lines(columns, rows, room=self.out.width(), mark=mark, paint=self.painted):
            self.out.write(line.rstrip(" ") + "\n")

    def listing(
        self,
        items: Iterable[dict[str, object]],
        *,
        name: Callable[[dict[str, object]], str],
        fields: Sequence[str],
        show: Callable[[list[dict[str, object]]], None],
    ) -> None:
        """A list in whatever format: `show` makes the table, `fields` are the columns of csv."""
        if self.output in {"json", "ndjson"}:
            self.items(items)
        elif self.output == "name":
            self.names(name(item) for item in items)
        elif self.output == "csv":
            self.csv(fields, ([_at(item, field) for field in fields] for item in items))
        else:
            show(list(items))


def _paint(colour: bool, text: str, style: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour and style else text


def _wrapped(text: str, room: int | None, indent: int) -> list[str]:
    """Lines of at most `room` columns, broken between words only where there are any; as it is without a room."""
    if room is None or len(text) <= room or room <= _NARROW:
        return [text]
    from textwrap import wrap

    lines = wrap(text, room, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False,
                 drop_whitespace=True, replace_whitespace=False)  # fmt: skip
    return lines or [""]


def _lines(text: str, room: int | None, indent: int) -> str:
    """A text of several lines, each wrapped, those after the first indented."""
    pieces = [piece for line in text.split("\n") for piece in _wrapped(line, room, indent)]
    return ("\n" + " " * indent).join([pieces[0], *(piece.strip() for piece in pieces[1:])])


def _dump(value: object, indent: int | None = None) -> str:
    separators = (", ", ": ") if indent is None else None
    return json_text(json.dumps(value, ensure_ascii=False, indent=indent, separators=separators))


def _at(item: object, path: str) -> object:
    """`last_run.exit_code` of an object."""
    for name in path.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item


def _csv_field(value: object) -> str:
    if value is None:
        return ""
    text = _dump(value) if isinstance(value, dict | list | bool) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"\r\n') else text
