"""The start of a command that needs a child of the runner before its exec, and what becomes of it.

The runner forks and goes on serving. The child waits for one byte: it comes when the pid record is written, so that
whoever adopts after the death of this runner knows the process, whatever it has become. What the child says comes down
the same line, and an exec closes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket

from . import child
from .failure import SpawnError
from .identity import is_unborn
from .loop import READ, Loop
from .order import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: As long as an exec may take, as on the other path (there jobd looks after it).
SPAWN_S = 30.0
# What does not die of KILL in this time sits in the kernel; it is told of, and never runs.
_DEATH_S = 2.0
_BLOCK_BYTES = 65536


class Birth:
    """A forked child that is not the command yet. done(notes, error) is called once; no error: it is the command.

    When there is one the process is dead and reaped, or beyond the reach of signals.
    """

    def __init__(self, loop: Loop, order: Order, stdin: int, log: int) -> None:
        """Fork; raises SpawnError when that cannot be. The child does nothing before go()."""
        self._loop = loop
        self._notes: list[str] = []
        self._stage = ""
        self._error: SpawnError | None = None
        self._rest = b""
        self._done: Callable[[list[str], SpawnError | None], None] | None = None
        self.dead = False
        self.pid, self.pidfd, self._line = _fork(order, stdin, log)
        self._bound = loop.after(SPAWN_S, self._give_up)

    def go(self, done: Callable[[list[str], SpawnError | None], None]) -> None:
        """Let the child go on, and hear what becomes of it."""
        self._done = done
        self._loop.add(self._line.fileno(), READ, lambda _: self._hear())
        with contextlib.suppress(OSError):  # it is dead: its end of the line is closed
            self._line.send(b"g", socket.MSG_NOSIGNAL)

    def stop(self) -> None:
        """End it, without a grace: nothing of the command has run. What has become the command now is left alone."""
        if is_unborn(self.pid):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            self._bound.cancel()
            self._bound = self._loop.after(_DEATH_S, self._abandon)

    def _hear(self) -> None:
        try:
            while block := self._line.recv(_BLOCK_BYTES):
                *lines, self._rest = (self._rest + block).split(b"\n")
                for line in lines:
                    self._note(line[:1], line[1:])
        except BlockingIOError:
            return
        except ConnectionResetError:
            pass  # it died without having read that it may go
        self._loop.remove(self._line.fileno())
        self._line.close()
        if self._error is None and not is_unborn(self.pid):
            self._finish(None)
        else:
            self._await_death()

    def _note(self, kind: bytes, words: bytes) -> None:
        text = words.decode("utf-8", "backslashreplace")
        if kind == child.STAGE:
            self._stage = text
        elif kind == child.NOTE:
            self._notes.append(text)
        elif kind == child.ERROR:
            number, _, detail = text.partition(" ")
            self._error = self._error or SpawnError(int(number), detail)

    def _give_up(self) -> None:
        """It has had its time. Nothing of the command has run, and after a KILL nothing will."""
        if not is_unborn(self.pid):
            return  # in this very moment; the line says so in the next
        self._error = SpawnError(
            errno.ETIMEDOUT, f"spawn_timeout: its start did not get beyond {self._stage or 'the fork'} in half a minute"
        )
        self.stop()

    def _await_death(self) -> None:
        """The line is closed: it exits. That is not waited for on the spot, a file that it has open may hold it up."""
        self._bound.cancel()
        self._bound = self._loop.after(_DEATH_S, self._abandon)
        self._loop.add(self.pidfd, READ, lambda _: self._died())

    def _died(self) -> None:
        self._loop.remove(self.pidfd)
        os.close(self.pidfd)
        _, status = os.waitpid(self.pid, 0)
        self.dead = True
        code = os.waitstatus_to_exitcode(status)
        words = f"it was ended by signal {-code}" if code < 0 else f"it ended with {code}"
        self._finish(self._error or SpawnError(errno.ECANCELED, f"{words} before its exec"))

    def _abandon(self) -> None:
        """It is dead but for a call into the kernel that does not return. Its entry is taken when that is over."""
        if self._line.fileno() >= 0:
            self._loop.remove(self._line.fileno())
            self._line.close()
        else:
            self._loop.remove(self.pidfd)
        self._loop.add(self.pidfd, READ, lambda _: self._bury())
        error = self._error or SpawnError(errno.ECANCELED, "it was ended before its exec")
        self._finish(SpawnError(error.errno, f"{error.detail}; its process {self.pid} sits in the kernel"))

    def _bury(self) -> None:
        self._loop.remove(self.pidfd)
        os.close(self.pidfd)
        os.waitpid(self.pid, 0)

    def _finish(self, error: SpawnError | None) -> None:
        self._bound.cancel()
        assert self._done is not None
        self._done(self._notes, error)


def _fork(order: Order, stdin: int, log: int) -> tuple[int, int, socket.socket]:
    """Return pid, pidfd and the line to the child."""
    child.handled()
    try:
        ours, its = socket.socketpair()
    except OSError as error:
        raise SpawnError(error.errno or errno.EIO, os.strerror(error.errno or errno.EIO)) from None
    ours.setblocking(False)
    # A signal between the fork and the child's first steps would still be the runner's.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, child.handled())
    try:
        pid = os.fork()
        if pid == 0:
            child.become(order, its.fileno(), stdin, log)
    except OSError as error:
        ours.close()
        raise SpawnError(error.errno or errno.EAGAIN, os.strerror(error.errno or errno.EAGAIN)) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        its.close()
    try:
        return pid, os.pidfd_open(pid), ours
    except OSError as error:
        ours.close()  # so it hears that it must not go on
        os.waitpid(pid, 0)
        raise SpawnError(error.errno or errno.EIO, os.strerror(error.errno or errno.EIO)) from None
