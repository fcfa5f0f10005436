"""A real runner in a directory of its own, and a client that waits for what it says."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 20.0
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8"}


class Client:
    """One connection. Every wait is a wait for a message, with a deadline."""

    def __init__(self, path: Path) -> None:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(f"/proc/self/fd/{folder}/{path.name}")
        except OSError:
            self.socket.close()
            raise
        finally:
            os.close(folder)
        self.pending = b""
        self.heard: deque[dict[str, Any]] = deque()

    def say(self, op: str, **values: Any) -> None:
        self.socket.sendall(json.dumps({"op": op, **values}).encode() + b"\n")

    def hear(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Return the next message; EOFError when the runner has hung up, TimeoutError when it says nothing."""
        self.socket.settimeout(patience_s)
        while b"\n" not in self.pending:
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def wait(self, kind: str, attempt_id: str | None = None, patience_s: float = PATIENCE_S) -> Any:
        """Return the payload of the first message of a kind (and attempt); others stay for later waits."""

        def fits(message: dict[str, Any]) -> bool:
            return kind in message and attempt_id in (None, isinstance(message[kind], dict) and message[kind].get("id"))

        for message in self.heard:
            if fits(message):
                self.heard.remove(message)
                return message[kind]
        deadline = time.monotonic() + patience_s
        while True:
            message = self.hear(max(0.01, deadline - time.monotonic()))
            if fits(message):
                return message[kind]
            self.heard.append(message)

    def ask(self, op: str, answer: str, **values: Any) -> Any:
        self.say(op, **values)
        return self.wait(answer)

    def close(self) -> None:
        self.socket.close()


class Runner:
    """A runner under test; leaves no process, group or file behind."""

    def __init__(self, state: Path, name: str = "1", *, idle_exit_s: float = 10, cgroups: bool = True) -> None:
        self.state = state
        self.name = name
        self.idle_exit_s = idle_exit_s
        self.environment = {"PATH": "/usr/bin:/bin"} | ({} if cgroups else {"JOBCTL_NO_CGROUP": "1"})
        self.logs = state / "logs"
        self.logs.mkdir(exist_ok=True)
        #: As real ones are: where a record cannot be read, a command is known by this and the run's number alone.
        self.fence = time.time_ns() // 1_000_000 * 1_000 + os.getpid() % 1_000
        self.numbers = itertools.count(1)
        self.clients: list[Client] = []
        self.pid = 0

    @property
    def directory(self) -> Path:
        return self.state / "runner"

    @property
    def records(self) -> set[str]:
        return {path.name for path in (self.directory / "records").iterdir() if not path.name.startswith(".")}

    def command(self, *more: str) -> list[str]:
        options = ["--state", str(self.state), "--instance", self.name, "--idle-exit", str(self.idle_exit_s)]
        return [sys.executable, "-I", "-m", "jobctl_daemon.runner", *options, "--program-version", "0.1.0", *more]

    def launch(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(), env=self.environment, text=True, capture_output=True, timeout=PATIENCE_S, check=False
        )

    def start(self) -> Client:
        """Start the runner; return a client that watches and has heard the greeting and the first list."""
        result = self.launch()
        assert result.returncode == 0, result.stderr
        return self.connect()

    def connect(self) -> Client:
        client = Client(self.directory / f"{self.name}.sock")
        self.clients.append(client)
        self.pid = client.ask("hello", "hello", protocol=1, version="0.1.0")["pid"]
        client.say("watch")
        return client

    def order(self, argv: list[str], **values: Any) -> dict[str, Any]:
        run_id = values.pop("run_id", None) or next(self.numbers)
        fence = values.pop("fence", self.fence)
        attempt_id = f"{run_id}-{fence}"
        return {
            "id": attempt_id,
            "run_id": run_id,
            "fence": fence,
            "attempt": 1,
            "key": f"{self.state}/s:{run_id}",
            "argv": argv,
            "env": ENV,
            "cwd": "/",
            "umask": 0o022,
            "nice": 0,
            "user": None,
            "stdin": None,
            "log": str(self.logs / attempt_id),
            "log_max": 10_000_000,
            "timeout_ms": None,
            "grace_ms": 1000,
            **values,
        }

    def log(self, attempt_id: str) -> bytes:
        return (self.logs / attempt_id).read_bytes()

    def run(self, client: Client, argv: list[str], **values: Any) -> dict[str, Any]:
        """Start a command and return its result."""
        order = self.order(argv, **values)
        client.say("start", **order)
        result: dict[str, Any] = client.wait("ended", order["id"])
        return result

    def begin(self, client: Client, argv: list[str], **values: Any) -> str:
        """Start a command and return its id once it runs."""
        order = self.order(argv, **values)
        client.say("start", **order)
        client.wait("started", order["id"])
        return str(order["id"])

    def kill(self) -> None:
        """kill -9, as nothing the runner could prepare for."""
        with pidfd(self.pid) as descriptor:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            assert ended(descriptor)

    def close(self) -> None:
        """End all commands and the runner."""
        for client in self.clients:
            client.close()
        with contextlib.suppress(OSError):
            client = self.connect()
            with pidfd(self.pid) as descriptor:
                for item in client.wait("list"):
                    client.say("kill", id=item["id"], mode="kill")
                signal.pidfd_send_signal(descriptor, signal.SIGTERM)
                assert ended(descriptor)
            client.close()
        for process in marked(str(self.state)):
            os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def pidfd(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ended(descriptor: int, patience_s: float = PATIENCE_S) -> bool:
    """Wait for the end of a process."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(patience_s * 1000))


def the_marked(text: str) -> int:
    """Return the one process that carries MARK=text; in the middle of an exec none shows its environment."""
    end = time.monotonic() + PATIENCE_S
    while len(found := marked(text)) != 1:
        assert time.monotonic() < end, f"there are {found}"
    return found[0]


def marked(text: str) -> list[int]:
    """Return the processes that carry MARK=text in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"MARK={text}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found
