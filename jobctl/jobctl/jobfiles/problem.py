"""What is wrong with a file of jobs, and where."""

from bisect import bisect_right
from typing import Final, NamedTuple

_SHOWN_CHARS: Final = 200


class Problem(NamedTuple):
    """One mistake. Line and column count from 1, columns in characters; `text` is the line as it stands."""

    path: str
    line: int
    column: int
    text: str
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        """`web.toml:12:1: unknown key `crno` – did you mean `cron`?`"""
        return f"{self.path}:{self.line}:{self.column}: {self.words}"

    @property
    def words(self) -> str:
        """What is wrong and what to do, in one line."""
        return f"{self.reason} – {self.hint}" if self.hint else self.reason


class Source:
    """A text, and where its offsets are in lines and columns."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts = [0]
        for at, char in enumerate(text):
            if char == "\n":
                self._starts.append(at + 1)

    def line_of(self, at: int) -> int:
        """From 1."""
        return bisect_right(self._starts, at)

    def offset(self, line: int, column: int) -> int:
        """Of a line and a column from 1, at most the end of the text."""
        return min(self._starts[min(line, len(self._starts)) - 1] + column - 1, len(self.text))

    def problem(self, at: int, reason: str, hint: str = "") -> Problem:
        """A mistake at an offset."""
        line = self.line_of(at)
        begin = self._starts[line - 1]
        text = self.text[begin:].partition("\n")[0] if line == len(self._starts) else self._line(line)
        return Problem(self.path, line, at - begin + 1, text[:_SHOWN_CHARS], reason, hint)

    def _line(self, line: int) -> str:
        return self.text[self._starts[line - 1] : self._starts[line] - 1]
