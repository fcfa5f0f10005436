"""What stands on the screen of a real terminal just now: the bytes of a `Seat`, drawn by an emulator of a terminal."""

import threading
import time
from collections.abc import Callable

import pyte

from kit.seat import PATIENCE_S, Seat


class Emulator:
    """Somebody who looks at the screen before pressing the next key."""

    def __init__(self, terminal: Seat, size: tuple[int, int] = (80, 24)) -> None:
        self.seat = terminal
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._fed = 0

    def lines(self) -> list[str]:
        raw = self.seat.raw
        # pyte takes the end of a request of the kitty keyboard for text.
        self._stream.feed(raw[self._fed :].replace(b"\x1b[>1u", b"").replace(b"\x1b[<u", b""))
        self._fed = len(raw)
        return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        return "\n".join(self.lines())

    def line(self, words: str) -> str:
        """The first line with these words; empty when there is none."""
        return next((line for line in self.lines() if words in line), "")

    def until(self, holds: Callable[[], object], why: str, within_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline, f"{why} does not come:\n{self.text()}"
            threading.Event().wait(0.02)  # another process writes it

    def shows(self, words: str, within_s: float = PATIENCE_S) -> None:
        self.until(lambda: words in self.text(), repr(words), within_s)

    def rest(self) -> None:
        """Returns when nothing new has been written for a while, as somebody looks who wants to read."""
        seen = -1
        while seen != len(self.seat.raw):
            seen = len(self.seat.raw)
            threading.Event().wait(0.25)

    def press(self, keys: str, shows: str | None = None) -> None:
        self.seat.type(keys)
        if shows is not None:
            self.shows(shows)
