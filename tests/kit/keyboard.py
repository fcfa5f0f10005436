"""A terminal with somebody at it: a program runs there as the leader of its session, is read, and is typed to."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

#: A program that says nothing for so long will not say it any more.
PATIENCE_S = 10


class Keyboard:
    """One program on a terminal of its own."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self._name = os.ttyname(theirs)
        self.before = _settings(self._ours)
        self.process = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.text = ""

    def until(self, words: str) -> str:
        """What it has said up to these words, and from then on only what comes behind them is looked at."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.text:
            assert time.monotonic() < deadline, f"{words!r} was not said: {self.text!r}"
            assert self._more(deadline), f"{words!r} was not said before its end: {self.text!r}"
        said, _, self.text = self.text.partition(words)
        return said + words

    def waits(self) -> None:
        """Returns when the program sleeps: an interrupt between a question and its read(2) is only noticed by Python
        once something is read, and a person is not so quick."""
        deadline = time.monotonic() + PATIENCE_S
        while _state(self.process.pid) != "S":
            assert time.monotonic() < deadline, "it does not come to rest"

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> tuple[int, str]:
        """Its exit code, and the rest of what it said."""
        deadline = time.monotonic() + PATIENCE_S
        while self._more(deadline):
            pass
        return self.process.wait(PATIENCE_S), self.text

    def hangs_up(self) -> int:
        """The terminal goes away, as when a connection drops; the exit code."""
        os.close(self._ours)
        self._ours = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        return self.process.wait(PATIENCE_S)

    def fills(self) -> None:
        """Returns when the terminal has taken nothing for half a second, since nobody reads."""
        deadline = time.monotonic() + 3 * PATIENCE_S
        theirs = os.open(self._name, os.O_WRONLY | os.O_NOCTTY)
        try:
            full_since = time.monotonic()
            while time.monotonic() < full_since + 0.5:
                assert time.monotonic() < deadline, "the terminal takes everything"
                if select.select([], [theirs], [], 0.02)[1]:
                    full_since = time.monotonic()
                time.sleep(0.02)
        finally:
            os.close(theirs)

    def settings(self) -> Any:
        """How the terminal treats what is typed, as tcgetattr(3) gives it."""
        return _settings(self._ours)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        os.close(self._ours)

    def _more(self, deadline: float) -> bool:
        if not select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # nobody has it open any more
            return False
        self.text += piece.decode(errors="replace")
        return bool(piece)


def _state(pid: int) -> str:
    """proc_pid_stat(5): the letter behind the name."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def _settings(terminal: int) -> Any:
    return termios.tcgetattr(terminal)


@contextmanager
def keyboard(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[Keyboard]:
    """Gone afterwards, whatever state it is in."""
    made = Keyboard(command, environ)
    try:
        yield made
    finally:
        made.close()
