"""A real daemon in a folder of its own. Whatever a test does to it, nothing of it is left afterwards."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jobctl.client.start import start_daemon
from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from jobctl.clock import SystemClock
from jobctl.errors import JobctlError

Json = dict[str, Any]
FINAL = ("succeeded", "failed", "cancelled", "skipped")


class RealDaemon:
    """jobd as a process, with its runners."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.socket = str(home / "run" / "jobd.sock")
        self.client = Client(UnixTransport(self.socket))
        self.environ = {**os.environ, "JOBCTL_HOME": str(home)}
        self.process: subprocess.Popen[bytes] | None = None
        self._runners: set[int] = set()

    # ── life ─────────────────────────────────────────────────────
    def start(self) -> "RealDaemon":
        """In the foreground, as a child; returns when it answers."""
        self.home.mkdir(exist_ok=True)
        with (self.home / "jobd.out").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jobctl_daemon", "--foreground"],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._until_ready(self.process)
        self.runners()
        return self

    def runners(self) -> list[int]:
        """The processes of the runners; whoever was seen here is ended with the daemon."""
        pids = [runner["pid"] for runner in self.client.status()["runners"]]
        self._runners |= set(pids)
        return pids

    def _until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        # `start_daemon` waits for the first answer of whatever command it starts: here one that does nothing.
        start_daemon(self.socket, SystemClock(), [sys.executable, "-c", "pass"])
        assert process.poll() is None, self.log()

    def kill9(self) -> None:
        """As the out-of-memory killer would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        """The ordinary way; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def log(self) -> str:
        return (self.home / "jobd.out").read_text(errors="replace")

    def close(self) -> None:
        """Ends commands, daemon and runners, by their ids."""
        if self.process is not None and self.process.poll() is None:
            self._end_commands()
            self.stop()
        for pid in self._runners:
            _end(pid)

    def _end_commands(self) -> None:
        with contextlib.suppress(JobctlError):
            for run in list(self.client.runs(state="scheduled,ready,running")):
                with contextlib.suppress(JobctlError):
                    self.client.kill_run(run["id"])
                    self.client.run(run["id"], wait_s=10)

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
        """The run when it is final."""
        ended = self.client.run(run["id"], wait_s=within_s)
        assert ended["state"] in FINAL, (ended, self.log())
        return ended

    def until_says(self, run: Json, words: bytes) -> Json:
        """The run, once its command has printed the words."""
        said = b""
        for piece in self.client.log(run["id"], follow=True).pieces():
            said += piece
            if words in said:
                return self.client.run(run["id"])
        raise AssertionError(f"it ended without saying {words!r}: {said!r}")

    def output(self, run: Json) -> bytes:
        return self.client.log(run["id"]).read()


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
