"""The one place where strings that jobs, users or crontabs wrote are made safe to show.

A terminal acts on what it is sent: ESC ] 52 writes to the clipboard, CSI moves the cursor over other lines, bidi
controls turn text around, zero-width characters hide. `cell` shows such characters by their escapes, on one line;
`LogFilter` does it for a log that goes to a terminal, where the colour codes of well-meant programs are dropped.
"""

import codecs
import re
from functools import cache
from typing import Final

#: C0 and DEL, C1, soft hyphen, Arabic letter mark, Mongolian vowel separator, zero-width and bidi controls, line and
#: paragraph separators, invisible operators, fillers, byte order mark, interlinear marks, tags, and lone surrogates.
_DANGEROUS = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff"
)
#: CSI; then OSC, DCS, SOS, PM and APC up to their terminator; then two-byte escapes. 7-bit and 8-bit forms.
_SEQUENCE = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\^-~]"
)
_SEQUENCE_START = r"[\x1b\x9b\x9d\x90\x98\x9e\x9f]"
_SEQUENCE_CHARS_MAX: Final = 4096


def cell(text: object) -> str:
    """One line that is safe in a table or a sentence; control characters, also newlines, by their escapes."""
    line = str(text)
    if line.isascii() and line.isprintable():
        return line
    return _dangerous().sub(_escape, line)


def text(value: str) -> str:
    """As `cell`, but newlines and tabs stay: for a text of several lines."""
    if value.isascii() and value.replace("\n", "").isprintable():
        return value
    return _dangerous_in_text().sub(_escape, value)


def json_text(value: str) -> str:
    """JSON with dangerous characters as its own escapes: the value is the same, no terminal acts on it."""
    return value if value.isascii() and value.isprintable() else _dangerous_in_text().sub(_json_escape, value)


# Compiled when first needed: each costs a good part of a millisecond, and most texts are plain.


@cache
def _dangerous() -> re.Pattern[str]:
    return re.compile(f"[{_DANGEROUS}]")


@cache
def _dangerous_in_text() -> re.Pattern[str]:
    return re.compile(f"(?![\n\t])[{_DANGEROUS}]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if short:
        return short
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        return "\N{REPLACEMENT CHARACTER}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


class LogFilter:
    """Makes the bytes of a log safe for a terminal, piece by piece; a sequence may be cut between two pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._sequence = re.compile(_SEQUENCE)
        self._start = re.compile(_SEQUENCE_START)

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """What can be shown of the log so far. Carriage returns begin a new line: nothing is written over."""
        pending = self._held + self._decoder.decode(data, final)
        ready, self._held = (pending, "") if final else self._split_unfinished(pending)
        plain = self._sequence.sub("", ready).replace("\r\n", "\n").replace("\r", "\n")
        return text(plain)

    def _split_unfinished(self, pending: str) -> tuple[str, str]:
        """Hold back a sequence at the end that may go on in the next piece, and a CR whose LF may follow."""
        tail = pending[-_SEQUENCE_CHARS_MAX:]
        for match in self._start.finditer(tail):
            if not self._sequence.match(tail, match.start()):
                at = len(pending) - len(tail) + match.start()
                return pending[:at], pending[at:]
        return (pending[:-1], "\r") if pending.endswith("\r") else (pending, "")
