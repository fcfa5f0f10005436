"""Asks the service manager whether the machine goes down: TERM alone may as well mean that this unit is stopped."""

from __future__ import annotations

import os
import subprocess

from .loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: systemd stops a unit in so many seconds before it kills: a manager that is asked for longer has other worries.
_PATIENCE_S = 5.0
_ANSWER_BYTES = 256


class Question:
    """One question, answered once: answered(True) when the manager says that it is stopping everything.

    A runner of a user's manager asks that one (MANAGERPID in systemd.exec(5)): it stops at the last logout as well.
    Without systemd the answer is no.
    """

    def __init__(self, loop: Loop, answered: Callable[[bool], None]) -> None:
        self._loop = loop
        self._answered = answered
        self._said = b""
        self._process: subprocess.Popen[bytes] | None = None
        which = ["--user"] if "MANAGERPID" in os.environ else []
        try:
            self._process = subprocess.Popen(
                ["systemctl", *which, "is-system-running"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            loop.after(0, lambda: answered(False))
            return
        assert self._process.stdout is not None
        loop.add(self._process.stdout.fileno(), READ, self._hear)
        self._timer = loop.after(_PATIENCE_S, self._end)

    def _hear(self, _: int) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), _ANSWER_BYTES)
        self._said += data
        if not data or len(self._said) > _ANSWER_BYTES:
            self._end()

    def _end(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        self._process = None
        self._timer.cancel()
        self._loop.remove(process.stdout.fileno())
        process.stdout.close()
        process.kill()
        process.wait()
        self._answered(self._said.strip() == b"stopping")
