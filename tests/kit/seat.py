"""A terminal of a size, with a program that fills it: what is written to it as bytes, and what becomes of it.

Somebody reads it all the time, unless the terminal is to stall; `kit.keyboard` is for programs that talk line by line.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

#: What does not come within so long does not come.
PATIENCE_S = 15
UI = [sys.executable, "-m", "jobctl_tui"]
#: Entered, and left again: the alternate screen, a hidden cursor, mouse, paste, focus.
MODES = (("?1049h", "?1049l"), ("?25l", "?25h"), ("?1000h", "?1000l"), ("?1003h", "?1003l"), ("?1006h", "?1006l"),
         ("?2004h", "?2004l"), ("?1004h", "?1004l"))  # fmt: skip
#: Starts a command as a shell does it that waits for it: in a process group of its own, which has the terminal.
_SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execvp(sys.argv[1], sys.argv[1:])
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
"""
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\^-~]")


class Seat:
    """Where somebody sits before `jobctl ui`, or before any other program."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
        *,
        ignored: Sequence[int] = (),
        seated: bool = True,
        shell: bool = False,
    ) -> None:
        """`ignored` signals, as nohup(1) does it; not `seated`: it is not the terminal of its session, so that nobody
        tells it of a closed window. With a `shell`, that leads the session and waits for it."""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = self.settings()
        self._raw = bytearray()
        self._reading = threading.Event()
        self._reading.set()
        self._closing = threading.Event()

        def prepare() -> None:
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            if seated:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self._shell = shell
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SHELL, *command] if shell else command,
            env=dict(environ), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=prepare,
        )  # fmt: skip
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # ── what is on it ────────────────────────────────────────────
    @property
    def raw(self) -> bytes:
        """All that has been written to it."""
        return bytes(self._raw)

    def plain(self) -> str:
        """The same without what moves the cursor and changes colours."""
        return _SEQUENCE.sub(b"", self.raw).decode(errors="replace")

    def settings(self) -> Any:
        """How it treats what is typed, as tcgetattr(3) gives it."""
        return termios.tcgetattr(self._ours)

    def shows(self, words: str, after: int = 0) -> None:
        """Returns once they have been written, `after` so many bytes."""
        self.until(lambda: words in _SEQUENCE.sub(b"", self.raw[after:]).decode(errors="replace"), words)

    def until(self, holds: Callable[[], Any], why: str = "") -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"{why!r} does not come: {self.plain()[-2000:]!r}"
            self._pause()

    def _pause(self) -> None:
        """What is waited for is written by another process."""
        threading.Event().wait(0.01)

    # ── what is done to it ───────────────────────────────────────
    def type(self, keys: str | bytes) -> None:
        os.write(self._ours, keys.encode() if isinstance(keys, str) else keys)

    def stall(self) -> None:
        """Nobody takes what is written any more, until `go_on`."""
        self._reading.clear()

    def go_on(self) -> None:
        self._reading.set()

    def close(self) -> None:
        """The window is closed: the master is, and whoever leads a session there is told."""
        self._closing.set()
        self._reading.set()
        self._reader.join(PATIENCE_S)
        os.close(self._ours)
        self._ours = -1

    # ── what becomes of the program ──────────────────────────────
    def ended(self, within_s: float = PATIENCE_S) -> int:
        """Its exit code, and all that it wrote has been read."""
        code = self.process.wait(within_s)
        if self._ours >= 0:
            self._reader.join(PATIENCE_S)
        return code

    def stopped(self) -> bool:
        return self.state() == "T"

    @property
    def pid(self) -> int:
        """Of the program, whoever has started it."""
        if not self._shell:
            return self.process.pid
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def state(self) -> str:
        """proc_pid_stat(5)."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]

    def cpu_s(self) -> float:
        """Processor time that it has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def left(self) -> bool:
        """Whether the terminal is out of each mode that was entered."""
        text = self.raw.decode(errors="replace")
        return all(text.rfind(f"\x1b[{on}") < text.rfind(f"\x1b[{off}") or f"\x1b[{on}" not in text
                   for on, off in MODES)  # fmt: skip

    def afterwards(self) -> str:
        """What was written to the normal screen behind it."""
        return _SEQUENCE.sub(b"", self.raw.rpartition(b"\x1b[?1049l")[2]).decode(errors="replace")

    def end(self) -> None:
        if self.process.poll() is None:
            if self._shell:  # what it has started would outlive it, stopped or not
                with contextlib.suppress(OSError, IndexError):
                    self.signal(signal.SIGKILL)
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reading.set()
        if self._ours >= 0:
            self._reader.join(PATIENCE_S)
            os.close(self._ours)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while not self._closing.is_set():
                self._reading.wait()
                if select.select([self._ours], [], [], 0.05)[0]:
                    if not (piece := os.read(self._ours, 65536)):
                        return
                    self._raw += piece


@contextlib.contextmanager
def seat(command: Sequence[str], environ: Mapping[str, str], **how: Any) -> Iterator[Seat]:
    """Gone afterwards, whatever state it is in."""
    made = Seat(command, environ, **how)
    try:
        yield made
    finally:
        made.end()
