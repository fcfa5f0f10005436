"""Being told to end by a signal while there is an edit that could be lost."""

import contextlib
import signal
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Final

from jobctl.clock import Clock

TELLING: Final = (signal.SIGTERM, signal.SIGHUP)
#: Who says it again within so long has said it twice: of a connection that drops the kernel and the shell both tell.
_SAME_MS: Final = 5_000


class Told(Exception):
    """A signal has told this program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"told to end by {signal.Signals(number).name}")
        self.number = number


class Ear:
    """Hears once that the program is to end, and only where what it does may be broken off.

    What is written is saved after that, and nothing breaks this off. Who says it later still means a program that
    hangs: that ends as programs do, at once, and leaves what there is.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._listens = False
        self._missed: int | None = None
        self._since_ms = self._clock.boot_ms()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Inside, the first signal raises `Told`, or `KeyboardInterrupt` for ^C. One that came before does at once."""
        try:
            self._listens = True
            if self._missed is not None:
                self._break_off(self._missed)
            yield
        finally:
            self._since_ms = self._clock.boot_ms()
            self._listens = False

    def hear(self, number: int, _: FrameType | None) -> None:
        """The handler of each of the signals."""
        if self._listens:
            self._break_off(number)
        if self._clock.boot_ms() > self._since_ms + _SAME_MS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._missed = number

    def _break_off(self, number: int) -> None:
        self._since_ms = self._clock.boot_ms()
        self._listens = False
        raise KeyboardInterrupt if number == signal.SIGINT else Told(number)


@contextlib.contextmanager
def told_to_end(clock: Clock) -> Iterator[Ear]:
    """Inside, TERM, HUP and ^C reach an ear, which hears nothing until it is told to listen."""
    ear = Ear(clock)
    numbers = list(TELLING)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    with handling(dict.fromkeys(numbers, ear.hear)):
        yield ear


@contextlib.contextmanager
def handling(wanted: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Signals are handled like this inside, and as before afterwards."""
    try:
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    except ValueError:  # not in the main thread: whoever calls has signals in hand
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
