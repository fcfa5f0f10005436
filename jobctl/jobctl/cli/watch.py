"""The same picture again and again: in place on a terminal, one below the other everywhere else.

In place means on the terminal's other screen, as less(1) and top(1) do: each picture is one write that paints over the
one before, so that nothing flickers, and at the end, however it comes, what was there before is there again, with the
last picture below it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from jobctl.cli.session import Session
from jobctl.errors import Unavailable, Unreachable
from jobctl.reading.times import span

#: DECSET 1049: the other screen, 25: the cursor; 2026: paint it at once where the terminal knows how.
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST: Final = "\x1b[J"
_TOGETHER: Final = "\x1b[?2026h"
_DONE: Final = "\x1b[?2026l"
#: What ends a program without asking it; the terminal is put right before it does.
_DEADLY: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

#: What is to be shown, at most so many lines of it (None: all). None: it was printed already.
Picture = Callable[[int | None], "list[str] | None"]


def watch(session: Session, every_s: float, picture: Picture) -> None:
    """Never returns; ctrl-c ends it. A daemon that goes away is waited for."""
    in_place = session.render.out.moves and not session.render.machine
    pictures = _Pictures(session, picture, every_s)
    if in_place:
        _repaint(session, pictures, every_s)
    else:
        _append(session, pictures, every_s)


class _Pictures:
    """The last picture, and since when there is no newer one."""

    def __init__(self, session: Session, picture: Picture, every_s: float) -> None:
        self._session = session
        self._picture = picture
        self._every_s = every_s
        self._gone_ms: int | None = None
        self.last: list[str] = []

    def take(self, rows: int | None) -> list[str]:
        """The picture of now; while nobody answers what was seen last, and since when that is so."""
        session, clock = self._session, self._session.world.clock
        try:
            self.last = self._picture(None if rows is None else rows - 1) or []
        except (Unreachable, Unavailable) as error:
            if self._gone_ms is None:
                self._gone_ms = clock.boot_ms()
            gone = f"○ DOWN {span((clock.boot_ms() - self._gone_ms) / 1000)}: {error.message}; it is asked again"
            stale = " below is what was true then" if self.last else ""
            down = session.render.fact_lines("", f"{gone}{stale and ';'}{stale}", 0, "bad")
            return [*down, *self.last][:rows]
        self._gone_ms = None
        now = session.viewer.full(_rfc3339(session))
        return [session.render.painted(f"every {self._every_s:g} s, {now}", "dim"), *self.last]


def _rfc3339(session: Session) -> str:
    from jobctl.reading.times import rfc3339

    return rfc3339(session.world.clock.now_ms() // 1000 * 1000)


def _append(session: Session, pictures: _Pictures, every_s: float) -> None:
    while True:
        rows = pictures.take(None)
        if not session.render.machine:
            for row in rows:
                session.render.raw_line(row)
            session.render.raw_line("")
        time.sleep(every_s)


def _repaint(session: Session, pictures: _Pictures, every_s: float) -> None:
    try:
        with _other_screen(session):
            while True:
                rows = session.render.out.height()
                session.render.text(_painted(pictures.take(rows), rows))
                _wait(every_s)
    finally:
        for row in pictures.last:
            session.render.raw_line(row)


def _painted(rows: list[str], most: int | None) -> str:
    """One write: no line is empty in between, and the last one has no line end, which would scroll."""
    lines = [row + _REST_OF_LINE for row in rows[:most]]
    return _TOGETHER + _HOME + "\n".join(lines) + _REST + _DONE


def _wait(seconds: float) -> None:
    """So long, or until the terminal has another size."""
    signal.sigtimedwait([signal.SIGWINCH], seconds)


@contextmanager
def _other_screen(session: Session) -> Iterator[None]:
    """Left again on every way out, also by a signal that ends the program, or stops it for a while."""
    render = session.render

    def ends(number: int, _: FrameType | None) -> None:
        render.out.at_once(_LEAVE)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def stops(_: int, __: FrameType | None) -> None:
        render.out.at_once(_LEAVE)
        os.kill(os.getpid(), signal.SIGSTOP)
        render.out.at_once(_ENTER)  # it goes on

    before = {number: signal.signal(number, ends) for number in _DEADLY}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, stops)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
    render.text(_ENTER)
    try:
        yield
    finally:
        render.text(_LEAVE)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
