"""Composition, and the two ways to end: nothing to do, or told to."""

from __future__ import annotations

import binascii
import os
import signal
import socket

from . import adopt, identity
from .cgroup import open_cgroups
from .complaints import Complaints
from .going_down import Question
from .lock import Lock
from .loop import READ, Loop, Timer
from .options import Options
from .records import Records
from .server import Server
from .supervisor import Supervisor


class Runner:
    """One runner, from the lock to the last command."""

    def __init__(self, options: Options) -> None:
        """Take the name, listen, and take over what is there; raises lock.Held and OSError."""
        directory = f"{options.state}/runner"
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.chmod(directory, 0o700)
        self._idle_exit_s = options.idle_exit_s
        self._idle: Timer | None = None
        self._terminated = False
        self._question: Question | None = None
        self._lock = Lock(f"{directory}/{options.instance}.lock")
        complain = Complaints(f"{directory}/{options.instance}.log")
        self._loop = Loop(complain)
        self._server = Server(self._loop, directory, options.instance, options.version)
        self._supervisor = self._server.supervisor = Supervisor(
            self._loop,
            Records(f"{directory}/records", options.instance),
            None if os.environ.get("JOBCTL_NO_CGROUP") else open_cgroups(options.instance, _key(options)),
            self._server.report,
            complain,
            instance=options.instance,
            boot_id=identity.boot_id(),
        )
        self._listen_to_signals()
        adopt.adopt_at_start(self._supervisor, directory)
        self._server.serve()
        self._loop.turns.append(self._consider_ending)

    def run(self) -> None:
        """Work until there is nothing left to do, then leave nothing behind but unread results."""
        self._consider_ending()
        self._loop.run()
        self._server.close()
        self._supervisor.close()
        self._lock.remove()

    def _listen_to_signals(self) -> None:
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        self._signals = reader, writer
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        # Functions, not SIG_IGN: that one commands would inherit.
        signal.signal(signal.SIGTERM, self._terminate)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, _ignore)
        self._loop.add(reader.fileno(), READ, lambda _: _empty(reader))

    def _terminate(self, *_: object) -> None:
        self._terminated = self._supervisor.starts.draining = True

    def _told_why(self, going_down: bool) -> None:
        if going_down:
            self._supervisor.interrupt()

    def _consider_ending(self) -> bool:
        attempts, draining = self._supervisor.attempts, self._supervisor.starts.draining
        if self._terminated and self._question is None:
            self._question = Question(self._loop, self._told_why)
        busy = bool(attempts.alive)
        # jobd's drain waits for the acknowledgements; TERM does not, where the results are on disk.
        settled = attempts.all_on_disk if self._terminated else not attempts.known
        drained = draining and not busy and settled
        if drained:
            self._loop.stop()
            return False
        # A drained runner that nobody asks for its results leaves them to the next one.
        bored = not busy and not self._server.connections and (draining or not attempts.known)
        if bored and self._idle is None:
            self._idle = self._loop.after(self._idle_exit_s, self._loop.stop)
        elif not bored and self._idle is not None:
            self._idle.cancel()
            self._idle = None
        return False


def _key(options: Options) -> str:
    return f"{binascii.crc32(os.fsencode(options.state)):08x}"


def _ignore(*_: object) -> None:
    pass


def _empty(reader: socket.socket) -> None:
    try:
        while reader.recv(4096):
            pass
    except BlockingIOError:
        pass
