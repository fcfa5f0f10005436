"""How far long work has come: one line on stderr of a terminal, after a second, gone when the work is over.

Nothing of it is written where stderr is no terminal, and nothing of it stays.
"""

import threading
from types import TracebackType
from typing import Final, Self

from jobctl.cli.render import Sink
from jobctl.cli.session import Session
from jobctl.reading.runs import size
from jobctl.reading.times import span
from jobctl.reading.width import cut

#: What is over sooner needs no words.
_FIRST_S: Final = 1.0
_EVERY_S: Final = 0.2
_BAR: Final = 20
_ROOM: Final = 80
_CLEAR: Final = "\r\x1b[K"
#: Less of it says nothing about how long the rest takes.
_TELLING: Final = 0.02


class Progress:
    """A context in which `add` and `reach` tell how much is done. Any thread; the line is written by one of its own,
    so that it also moves while nothing comes."""

    def __init__(self, session: Session, what: str, *, total: int | None = None, unit: str = "") -> None:
        """`total`: of how much; None: nobody knows. `unit`: `bytes`, or what is counted."""
        self._render = session.render
        self._sink: Sink = session.render.err
        self._clock = session.world.clock
        self._what = what
        self._unit = unit
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._began_ms = 0
        self._shown = False
        self.total = total
        self.done = 0

    def __enter__(self) -> Self:
        self._began_ms = self._clock.boot_ms()
        if self._sink.moves:
            self._render.aside = self._clear
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._render.aside = None
        self._clear()

    def add(self, number: int = 1) -> None:
        self.done += number

    def reach(self, done: int, total: int | None = None) -> None:
        self.done = done
        self.total = self.total if total is None else total

    def _show(self) -> None:
        wait_s = _FIRST_S
        while not self._over.wait(wait_s):
            wait_s = _EVERY_S
            room = max(1, (self._sink.width() or _ROOM) - 1)
            with self._lock:
                self._shown = True
                self._write(_CLEAR + cut(self.text(), room, "…" if self._sink.can("…") else ">"))

    def text(self) -> str:
        """`backup  [#####     ]  25 %  1.2 MB of 4.8 MB, 3s left`."""
        passed_s = (self._clock.boot_ms() - self._began_ms) / 1000
        if not self.total:
            counted = f"{self._measured(self.done)}, " if self.done else ""
            return f"{self._what}  {counted}{span(passed_s)}"
        share = min(1.0, self.done / self.total)
        bar = ("#" * round(share * _BAR)).ljust(_BAR)
        left = f", {span(passed_s / share - passed_s)} left" if _TELLING < share < 1 else ""
        return f"{self._what}  [{bar}] {share:4.0%}  {self._part()}{left}"

    def _part(self) -> str:
        done = self._measured(self.done) if self._unit == "bytes" else str(self.done)
        return f"{done} of {self._measured(self.total or 0)}"

    def _measured(self, number: int) -> str:
        return size(number) if self._unit == "bytes" else f"{number} {self._unit}".rstrip()

    def _clear(self) -> None:
        """Before words are said, and at the end."""
        with self._lock:
            if self._shown:
                self._shown = False
                self._write(_CLEAR)

    def _write(self, text: str) -> None:
        try:
            self._sink.write(text)
        except (OSError, ValueError):
            self._over.set()  # nobody looks any more
