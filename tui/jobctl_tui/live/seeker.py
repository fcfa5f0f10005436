"""Looks for a pattern in lines of a log, in a process of its own: a pattern may take for ever, and Python's matcher
lets nothing else run meanwhile. The process ends itself when one piece of the log takes too long.

Frames of `marshal` go in and out, each behind its length: both ends are the same program.
"""

import contextlib
import marshal
import os
import re
import signal
import subprocess
import sys
from itertools import accumulate
from typing import IO, Any, Final

from jobctl.errors import InvalidInput
from jobctl_tui.live.loglines import CELL, line_end
from jobctl_tui.live.logtext import shown

#: CPU time for one piece, seconds.
PIECE_S: Final = 1.0
PATTERN_CHARS_MAX: Final = 500
_LENGTH: Final = 8
_PLAIN: Final = re.compile(rb"[\x20-\x7e\n]*")


class GaveUp(Exception):
    """The pattern takes too long."""


Span = tuple[int, int]


def compiled(pattern: str) -> re.Pattern[str]:
    """Upper and lower case are the same as long as the pattern has no upper case. Raises `InvalidInput`."""
    if len(pattern) > PATTERN_CHARS_MAX:
        raise InvalidInput(f"the pattern has more than {PATTERN_CHARS_MAX} characters", "write a shorter one")
    try:
        return re.compile(pattern, 0 if any(char.isupper() for char in pattern) else re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInput(f"not a pattern: {error}", "write \\ before ( [ * + ? . to find the character") from error


def found_in(regex: re.Pattern[str], base: int, data: bytes, *, final: bool) -> tuple[list[int], int]:
    """Where the lines begin in which it is found, and where the first line begins that has no end in `data`."""
    if _PLAIN.fullmatch(data):
        texts = data.decode("ascii").split("\n")
        if max(map(len, texts)) <= CELL:  # so that no line is too long for one
            return _found_in_plain(regex, base, texts, final=final)
    starts, at, limit = [], base, base + len(data)
    while at < limit:
        end = line_end(data, base, at)
        if end is None:
            if not final:
                break
            end = limit
        if regex.search(shown(data[at - base : end - base].removesuffix(b"\n")).text):
            starts.append(at)
        at = end
    return starts, at


def _found_in_plain(regex: re.Pattern[str], base: int, texts: list[str], *, final: bool) -> tuple[list[int], int]:
    """The same where what is shown is what was written: most logs, faster."""
    begins = list(accumulate((len(text) + 1 for text in texts), initial=base))
    rest = begins[-1] - 1
    if not final or not texts[-1]:  # the last one has no end, or is none
        texts.pop()
        rest = begins[len(texts)]
    search = regex.search
    return [begins[at] for at, text in enumerate(texts) if search(text)], rest


def spans_of(regex: re.Pattern[str], text: str) -> list[Span]:
    """Where it is found in a text; what matches nothing is left out."""
    return [match.span() for match in regex.finditer(text) if match.end() > match.start()]


class Seeker:
    """The process of one pattern, started when it is first needed. Not for two threads at once."""

    def __init__(self, pattern: str) -> None:
        """Raises `InvalidInput`."""
        compiled(pattern)
        self._pattern = pattern
        self._process: subprocess.Popen[bytes] | None = None

    def find(self, base: int, data: bytes, *, final: bool) -> tuple[list[int], int]:
        """As `found_in`. Raises `GaveUp`."""
        starts, rest = self._ask(("find", base, data, final))
        return starts, rest

    def spans(self, texts: list[str]) -> list[list[Span]]:
        """As `spans_of`, for several. Raises `GaveUp`."""
        found: list[list[Span]] = self._ask(("spans", texts))
        return found

    def kill(self) -> None:
        """From another thread: whoever waits for an answer is told that it gave up. `close` is still to be called."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None and process.stdout is not None:
            process.kill()
            with contextlib.suppress(OSError):  # what was still to be said is said to nobody
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _ask(self, question: tuple[Any, ...]) -> Any:
        process = self._process = self._process or _started(self._pattern)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _write(process.stdin, question)
            answer = _read(process.stdout)
        except (OSError, EOFError, ValueError) as error:
            raise GaveUp("this pattern takes too long") from error
        if answer is None:
            raise GaveUp("this pattern takes too long")
        return answer


def _started(pattern: str) -> subprocess.Popen[bytes]:
    code = f"from {__name__} import serve; serve({pattern!r})"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,  # what is typed at the terminal is not for it
    )


def serve(pattern: str) -> None:
    """The other end: answers until its input ends."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # it ends the process, in the middle of a match too
    regex = compiled(pattern)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while (question := _read(questions)) is not None:
        signal.setitimer(signal.ITIMER_PROF, PIECE_S)
        if question[0] == "find":
            answer: Any = found_in(regex, question[1], question[2], final=question[3])
        else:
            answer = [spans_of(regex, text) for text in question[1]]
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(answers, answer)


def _write(file: IO[bytes], value: Any) -> None:
    data = marshal.dumps(value)
    file.write(len(data).to_bytes(_LENGTH, "big") + data)
    file.flush()


def _read(file: IO[bytes]) -> Any:
    """None when there is nothing more."""
    head = file.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    return marshal.loads(file.read(int.from_bytes(head, "big")))
