"""A program on a terminal of its own, seen from outside: when which bytes came, what it cost."""

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
from collections.abc import Sequence

from rig import cpu_s, rss_mb

#: Escape sequences of a terminal: what is between them is text.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")


class Watched:
    """Started at once, ended by `close`."""

    def __init__(self, argv: Sequence[str], columns: int = 120, rows: int = 40, **environ: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,  # where Textual paints
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environ},
            start_new_session=True,
        )
        os.close(slave)
        self._lock = threading.Condition()
        self._pieces: list[tuple[float, bytes]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def press(self, keys: bytes) -> float:
        """Types something; when."""
        at = time.monotonic()
        os.write(self._master, keys)
        return at

    def mark(self) -> int:
        """A place in what it has written, for the following."""
        with self._lock:
            return len(self._pieces)

    def begun(self) -> None:
        """Until it has painted something and waits."""
        with self._lock:
            if not self._lock.wait_for(lambda: bool(self._pieces), 60):
                raise SystemExit("it paints nothing")
        self.quiet(1.0)

    def first_s(self) -> float:
        """When its first byte came."""
        with self._lock:
            return self._pieces[0][0]

    def when(self, sequence: bytes) -> float:
        """When the first piece came that has it."""
        with self._lock:
            return next(at for at, data in self._pieces if sequence in data)

    def bytes_since(self, mark: int) -> int:
        with self._lock:
            return sum(len(data) for _, data in self._pieces[mark:])

    def until_text(self, text: str, mark: int = 0, within_s: float = 600) -> float:
        """When the text stood on the screen, looked for in what was written since the mark."""
        deadline = time.monotonic() + within_s
        seen, at = b"", mark
        with self._lock:
            while True:
                for when, data in self._pieces[at:]:
                    seen += data
                    at += 1
                    if text.encode() in _SEQUENCE.sub(b"", seen[-200_000:]):
                        return when
                if self.process.poll() is not None or not self._lock.wait(max(0.0, deadline - time.monotonic())):
                    raise SystemExit(f"{text!r} never came; at last {_SEQUENCE.sub(b'', seen)[-600:]!r}")

    def answer_s(self, key: bytes, quiet_s: float = 0.12) -> tuple[float, float]:
        """From a key to the first byte and to the last of what it painted; the terminal has to be quiet before."""
        self.quiet(quiet_s)
        mark = self.mark()
        pressed = self.press(key)
        with self._lock:
            if not self._lock.wait_for(lambda: len(self._pieces) > mark, 20):
                raise SystemExit(f"{key!r} paints nothing")
            first = self._pieces[mark][0] - pressed
        self.quiet(quiet_s)
        with self._lock:
            return first, self._pieces[-1][0] - pressed

    def quiet(self, for_s: float, within_s: float = 60) -> None:
        """Until nothing has been written for so long."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            mark = self.mark()
            time.sleep(for_s)
            if self.mark() == mark:
                return

    def cost(self, seconds: float) -> tuple[float, float]:
        """CPU in per cent of one core, and bytes a second, over so long."""
        mark, cpu, began = self.mark(), cpu_s(self.pid, children=False), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        return (cpu_s(self.pid, children=False) - cpu) / took * 100, self.bytes_since(mark) / took

    def rss_mb(self) -> float:
        return rss_mb(self.pid)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        os.close(self._master)
        self._reader.join(2)

    def _read(self) -> None:
        while True:
            try:
                select.select([self._master], [], [])
                data = os.read(self._master, 1 << 16)
            except (OSError, ValueError):
                data = b""
            with self._lock:
                if data:
                    self._pieces.append((time.monotonic(), data))
                self._lock.notify_all()
            if not data:
                return


def python(*argv: str) -> list[str]:
    return [sys.executable, *argv]
