"""The ways out that nobody asked for: signals, a terminal that is gone, a mistake of ours. The terminal is put back on
each of them, and none takes longer than two seconds, whatever the program hangs in.
"""

import contextlib
import os
import signal
import termios
import threading
import traceback
from collections.abc import Callable
from typing import Any, Final

from jobctl import __version__
from jobctl.reading.safe import cell, text
from jobctl.reading.times import rfc3339
from jobctl.reading.width import cut
from jobctl_tui.terminal import LEAVE

#: The ordinary way has so long; then the process is ended as it stands.
_WITHIN_S: Final = 1.5
_WRITE_S: Final = 0.3
_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_REPORT_BYTES_MAX: Final = 256 * 1024
#: Of the sentence that is left on the terminal.
_COLUMNS: Final = 160


class Leaving:
    """Remembers how the terminal was. `stop` is told the exit code, in the main thread, between any two steps of it."""

    def __init__(self) -> None:
        self.code: int | None = None
        """128 and the number of the signal, once there was one."""
        self.stop: Callable[[int], None] | None = None
        self._before = _settings()
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup(1) means it
                signal.signal(number, self._signalled)

    def by(self, code: int) -> None:
        """Within two seconds, even when the loop of the screens does not turn any more."""
        if self.code is None:
            self.code = code
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a process in the background puts its terminal back, too
            timer = threading.Timer(_WITHIN_S, self._at_once)
            timer.daemon = True
            timer.start()

    def _signalled(self, number: int, _: object) -> None:
        self.by(128 + number)
        if self.stop is not None:
            self.stop(128 + number)
        else:
            os._exit(128 + number)

    def _at_once(self) -> None:
        self.restore()
        os._exit(self.code or 1)

    def restore(self) -> None:
        """How the terminal treats what is typed, and out of every mode that it may be in."""
        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._before)
        writer = threading.Thread(target=_write, args=(LEAVE,), daemon=True)
        writer.start()
        writer.join(_WRITE_S)


def _settings() -> list[Any] | None:
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def _write(words: str) -> None:
    with contextlib.suppress(OSError):
        os.write(1, words.encode())


def words_of(code: int) -> str | None:
    """Why it ended, for the terminal that is left; None when that was wanted."""
    if code <= 128:
        return None
    return f"ended by {signal.Signals(code - 128).name.removeprefix('SIG')}; jobs go on"


def report(error: BaseException, folder: str | None, now_ms: int) -> tuple[str, str | None]:
    """One line about a mistake of ours, and the file that tells where it is.

    There are no values of variables in it: commands, environments and secrets of jobs are among them.
    """
    line = cut(cell(f"{type(error).__name__}: {error}"), _COLUMNS)
    where = text("".join(traceback.format_exception(error)))
    return line, _kept(f"{rfc3339(now_ms)} jobctl ui {__version__}\n{where}\n", folder)


def _kept(words: str, folder: str | None) -> str | None:
    if folder is None:
        return None
    path = os.path.join(folder, "ui.log")
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
            if os.fstat(descriptor).st_size > _REPORT_BYTES_MAX:
                os.ftruncate(descriptor, 0)
            file.write(words)
        return path
    return None
