"""The terminal under the screens: whether there is a fit one, reading and writing it, and leaving it as it was.

What Textual's own driver does not do, and an operator needs: a terminal that went away ends the program instead of
keeping it busy; one that takes no more output holds up nothing and is painted anew afterwards; bytes that are no UTF-8
harm nothing; output goes to standard output, wherever standard error leads.
"""

import codecs
import contextlib
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from jobctl.clock import Clock
from jobctl.reading.width import width
from jobctl_tui.words.glyphs import ASCII, UTF8

#: Out of every mode that is entered: mouse, paste, focus, wrapping, keyboard, the alternate screen, the hidden cursor.
LEAVE: Final = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?2048l\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[m"
    "\x1b[?1049l\x1b[?25h"
)
#: On the line of the shell while all of it is loaded, and taken away from there before the screens come.
GREETING: Final = "jobctl: connecting..."
FORGET: Final = f"\r{' ' * len(GREETING)}\r"
#: A terminal that has so much to take still is painted anew later, instead of frame by frame.
_BACKLOG_CHARS: Final = 256 * 1024
_STALLED_MS: Final = 1_000
#: How long the last words to a terminal may take.
_FLUSH_S: Final = 0.5


def unfit(environ: Mapping[str, str]) -> str | None:
    """Why no screens can be shown here; None when they can."""
    if not (os.isatty(0) and os.isatty(1)):
        return "jobctl ui needs a terminal, for what is typed and for what is shown"
    if environ.get("TERM", "") in ("", "dumb", "unknown"):
        return f"jobctl ui needs a terminal that can place text, and TERM is {environ.get('TERM') or 'not set'}"
    return None


def _narrow(error: UnicodeError) -> tuple[str | bytes, int]:
    """What a terminal cannot show: a sign's twin of ASCII, else question marks in as many columns."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_shown, error.object[error.start : error.end])), error.end


def _shown(char: str) -> str:
    return _TWINS.get(char) or "?" * width(char)


#: Of signs, and of the lines around boxes.
_TWINS: Final = {
    **{utf8: ascii_ for utf8, ascii_ in zip(UTF8, ASCII, strict=True) if len(utf8) == len(ascii_) == 1},
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+"), "·": ".", "…": "~", "—": "-", "−": "-", "½": "%", "×": "x",
    "█": "#", "→": ">",
    **dict(zip(UTF8.levels, ASCII.levels, strict=True)),
}  # fmt: skip
codecs.register_error("jobctl.columns", _narrow)


class Input:
    """What is typed, without what a terminal answers to questions that somebody asked before: colours, what it can do.

    As keys these would be actions: the answer about a colour has an `r` in it, which runs a job.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Of a piece that has just been read; an answer that is cut is kept back, until the next piece or `idle`."""
        found = _ANSWER.sub("", self._held + text)
        begun = _BEGUN.search(found)
        self._held = found[begun.start() :][:_ANSWER_CHARS_MAX] if begun else ""
        return found[: begun.start()] if begun else found

    def idle(self) -> None:
        """Nothing came any more: the rest of an answer is no key either."""
        self._held = ""


#: OSC, DCS, SOS, PM and APC with their end; device attributes, status and keyboard reports.
_ANSWER: Final = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[?>=][0-9;:]*[a-zA-Z]")
#: The key Alt and a bracket sends the first two of these alone.
_BEGUN: Final = re.compile(r"\x1b[\]PX^_][^\x07\x1b]+\x1b?$")
_ANSWER_CHARS_MAX: Final = 65536


class Output:
    """Writes to a descriptor in a thread, so that a terminal which takes nothing stops nobody."""

    def __init__(
        self, fileno: int, encoding: str, clock: Clock, gone: Callable[[], None], drained: Callable[[], None]
    ) -> None:
        self._fileno = fileno
        self._encoding = encoding
        self._clock = clock
        self._gone = gone
        self._drained = drained
        self._lock = threading.Condition()
        self._waiting: deque[str] = deque()
        self._chars = 0
        self._took_ms = 0
        self._dropped = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """At once; what a terminal is too slow for is dropped, and `drained` is called when it is ready again."""
        with self._lock:
            if self._ended:
                return
            if self._chars > _BACKLOG_CHARS:
                self._dropped = True
                return
            if self._chars == 0:
                self._took_ms = self._clock.awake_ms()
            self._waiting.append(text)
            self._chars += len(text)
            self._lock.notify()

    def is_stalled(self) -> bool:
        """Whether the terminal has taken nothing for a while: nothing need be painted for it, until `drained`."""
        with self._lock:
            stalled = self._chars > 0 and self._clock.awake_ms() - self._took_ms > _STALLED_MS
            self._dropped = self._dropped or stalled
            return stalled

    def end(self, last: str = "") -> None:
        """The rest is written, as far as the terminal takes it soon."""
        with self._lock:
            if self._chars > _BACKLOG_CHARS:
                self._waiting.clear()
            self._dropped = False
            self._waiting.append(last)
            self._ended = True
            self._lock.notify()
        self._thread.join(_FLUSH_S)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while (text := self._next()) is not None:
                left = memoryview(text.encode(self._encoding, "jobctl.columns"))
                while left:
                    left = left[os.write(self._fileno, left) :]
                    self._took_ms = self._clock.awake_ms()
                self._written()
            return
        self._gone()

    def _next(self) -> str | None:
        with self._lock:
            self._lock.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            text = "".join(self._waiting)
            self._waiting.clear()
            self._chars = len(text)
            return text

    def _written(self) -> None:
        with self._lock:
            self._chars = sum(map(len, self._waiting))
            again = self._dropped and not self._waiting
            self._dropped = self._dropped and not again
        if again:
            self._drained()
