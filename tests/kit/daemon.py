"""A real daemon in a folder of its own. Whatever a test does to it, nothing of it is left afterwards."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from jobctl.client.start import start_daemon
from jobctl.client.sync import Client
from jobctl.client.transport import Request, UnixTransport
from jobctl.clock import SystemClock
from jobctl.errors import JobctlError
from jobctl_daemon.settings import Settings
from kit.groups import remove_groups

T = TypeVar("T")
Json = dict[str, Any]
ACTIVE = ("scheduled", "ready", "running")
FINAL = ("succeeded", "failed", "cancelled", "skipped", "superseded", "discarded")
ENDED = (*FINAL, "dead")
#: For the next event; the stream itself says something every 15 s.
PATIENCE_S = 12
CLI = [sys.executable, "-c", "from jobctl.cli.main import main; main()"]


class AnyonesTransport(UnixTransport):
    """To a daemon of whatever user: the client itself talks to none but its own user's and root's."""

    def must_be_trusted(self, sock: socket.socket) -> None:
        return


class RealDaemon:
    """jobd as a process, with its runners."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.socket = str(home / "run" / "jobd.sock")
        self.client = Client(AnyonesTransport(self.socket))
        self.environ = {**os.environ, "JOBCTL_HOME": str(home)}
        self.program = ["-m", "jobctl_daemon"]
        """What Python runs: a test may put a daemon with a fault in its place."""
        self.within: Callable[[list[str]], list[str]] = list
        """What is really started for a command: a test may put its daemon elsewhere, or under another user."""
        self.typed_by: Callable[[list[str]], list[str]] = list
        """The same for the command line, which talks to no daemon of somebody else but root's."""
        self.process: subprocess.Popen[bytes] | None = None
        self._runners: set[int] = set()

    # ── life ─────────────────────────────────────────────────────
    def start(self) -> "RealDaemon":
        """In the foreground, as a child; returns when it answers."""
        self._until_ready(self.launch())
        self.runners()
        return self

    def launch(self) -> "subprocess.Popen[bytes]":
        """The same for a daemon that may never answer."""
        self.process = self.beside()
        return self.process

    def beside(self, *options: str) -> "subprocess.Popen[bytes]":
        """Another process of the same daemon: turned away, or with `--standby` the one that will take over."""
        self.home.mkdir(exist_ok=True)
        with (self.home / "jobd.out").open("ab") as log:
            return subprocess.Popen(
                self.within([sys.executable, *self.program, "--foreground", *options]),
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def settings(self, text: str) -> "RealDaemon":
        """What is in jobd.toml at the next start."""
        (self.home / "config").mkdir(parents=True, exist_ok=True)
        (self.home / "config" / "jobd.toml").write_text(text)
        return self

    def runners(self) -> list[int]:
        """The processes of the runners; whoever was seen here is ended with the daemon."""
        pids = [runner["pid"] for runner in self.client.status()["runners"]]
        self._runners |= set(pids)
        return pids

    def all_runners(self) -> list[int]:
        """The same once none is missing: a test before may have killed some, and a new one takes a moment."""
        deadline = time.monotonic() + PATIENCE_S
        while len(pids := self.runners()) < Settings().runners:
            assert time.monotonic() < deadline, self.log()
        return pids

    def _until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        # `start_daemon` waits for the first answer of whatever command it starts: here one that does nothing.
        start_daemon(self.socket, SystemClock(), ["/bin/true"], AnyonesTransport)
        assert process.poll() is None, self.log()

    def kill9(self) -> None:
        """As the out-of-memory killer would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def reload(self) -> None:
        """It is told to look at its settings again."""
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> int:
        """The ordinary way; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def log(self) -> str:
        return (self.home / "jobd.out").read_text(errors="replace")

    def up(self) -> "RealDaemon":
        """Started again where a test has left it dead."""
        assert self.process is not None
        return self if self.process.poll() is None else self.start()

    def restart(self) -> "RealDaemon":
        """kill -9, and another one."""
        self.kill9()
        return self.start()

    def kill_runners(self) -> None:
        """kill -9 of the runners alone; returns when they are gone. Their commands live on."""
        for pid in self.runners():
            kill(pid)

    def close(self) -> None:
        """Ends commands, daemon and runners, by their ids."""
        try:
            if self.process is not None:
                self.program = ["-m", "jobctl_daemon"]
                self.up()  # a test that left it dead may have left commands to it
                self._end_commands()
                self.stop()
        except BaseException:
            self.kill9()
            raise
        finally:
            for pid in self._runners:
                _end(pid)
            remove_groups(self.home / "state")

    def _end_commands(self) -> None:
        with contextlib.suppress(JobctlError):
            self.client.pause_daemon()
            for _ in range(3):  # an end may have set another run going
                left = list(self.client.runs(state=",".join(ACTIVE)))
                for run in left:
                    with contextlib.suppress(JobctlError):
                        self.client.kill_run(run["id"])
                for run in left:
                    self.client.run(run["id"], wait_s=10)

    def refused(self) -> "subprocess.CompletedProcess[str]":
        """A start that must be refused: within seconds, with one line that says why, and no traceback."""
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "jobctl_daemon", "--foreground"],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert time.monotonic() - began < 5
        assert len([line for line in done.stderr.splitlines() if line.startswith("jobd: ")]) == 1, done.stderr
        assert "Traceback" not in done.stderr
        return done

    # ── what tests ask ───────────────────────────────────────────
    def add(self, name: str, command: list[str] | str, **fields: Any) -> Json:
        """A job; `command` as a text goes to the shell."""
        target = {"shell": command} if isinstance(command, str) else {"command": command}
        return self.client.create_job({"name": name, "target": target, **fields})

    def run(self, command: list[str] | str, **fields: Any) -> Json:
        """An ad-hoc run."""
        target = {"shell": command} if isinstance(command, str) else {"command": command}
        return self.client.create_run({"target": target, **fields})

    def finished(self, run: Json, within_s: int = 30) -> Json:
        """The run when it has ended."""
        ended = self.client.run(run["id"], wait_s=within_s)
        assert ended["state"] in ENDED, (ended, self.log())
        return ended

    def triggered(self, name: str) -> Json:
        """A run of a job by hand."""
        return self.client.trigger(name, {})

    def until(self, answer: Callable[[], T]) -> T:
        """The first answer that holds; it is asked for again whenever something has happened."""
        target = f"/v1/events?follow=1&after={self.client.status()['last_event']}"
        if found := answer():
            return found
        events = AnyonesTransport(self.socket)(Request("GET", target, timeout_s=PATIENCE_S)).pieces()
        with contextlib.closing(events):
            try:
                for _ in events:
                    if found := answer():
                        return found
            except JobctlError as error:
                raise AssertionError(f"nothing happens any more: {error}: {self.log()}") from error
        raise AssertionError(f"the daemon went away: {self.log()}")

    def state(self, run: Json, *states: str, attempt: int | None = None) -> Json:
        """The run once it is in one of the states; with `attempt` after so many attempts."""

        def there() -> Json | None:
            seen = self.client.run(run["id"])
            return seen if seen["state"] in states and attempt in (None, seen["attempt"]) else None

        return self.until(there)

    def runs_of(self, name: str, **filters: Any) -> list[Json]:
        """All runs of a job, oldest first."""
        return list(self.client.job_runs(name, **filters))[::-1]

    def ledger(self, name: str) -> list[Json]:
        """Every occurrence of a job up to now, and what became of it."""
        return list(self.client.ledger(name, None, None))

    def jobctl(self, *argv: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """The command line, as somebody would type it."""
        return subprocess.run(
            self.typed_by([*CLI, *argv]),
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def until_says(self, run: Json, words: bytes) -> Json:
        """The run, once its command has printed the words."""
        said = b""
        for piece in self.client.log(run["id"], follow=True).pieces():
            said += piece
            if words in said:
                return self._begun(run)
        raise AssertionError(f"it ended without saying {words!r}: {said!r}")

    def _begun(self, run: Json) -> Json:
        """The run, once it is written down that it has begun: a command may print before that."""
        deadline = time.monotonic() + PATIENCE_S
        while not ((found := self.client.run(run["id"]))["started_at"] or found["finished_at"]):
            assert time.monotonic() < deadline, f"its start is not written down: {found}"
        return found

    def output(self, run: Json) -> bytes:
        return self.client.log(run["id"]).read()


def kill(pid: int) -> None:
    """kill -9; returns when the process is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        assert select.select([handle], [], [], 10)[0]
    finally:
        os.close(handle)


def _end(pid: int) -> None:
    """TERM lets a runner drain; it has nothing to run any more."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], 5)[0]:
                return
    finally:
        os.close(handle)


@contextlib.contextmanager
def real_daemon(home: Path, **environ: str) -> Iterator[RealDaemon]:
    """A started daemon that is gone afterwards."""
    daemon = RealDaemon(home)
    daemon.environ |= environ
    try:
        yield daemon.start()
    finally:
        daemon.close()
