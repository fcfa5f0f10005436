"""Verbs of the command line that are programs of their own here: they work without a daemon, or make one.

To be called in a thread: they wait for what they start.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobctl.client.start import of_no_run
from jobctl.errors import InvalidInput, Unavailable
from jobctl.paths import client_sockets, daemon_places

Json = dict[str, Any]

#: `jobctl daemon start` itself gives up after half of it.
START_S: Final = 20.0
DOCTOR_S: Final = 60.0
DEEP_S: Final = 3600.0
_TAIL_BYTES: Final = 65_536


def why_not_start(environ: Mapping[str, str], uid: int, socket: str | None) -> str | None:
    """Why `jobctl daemon start` would not bring back the daemon that listened on `socket`; None: it would.

    Without `socket` there was none yet, and the first that a client looks for is meant.
    """
    if environ.get("JOBCTL_SOCKET"):
        return "a daemon that was named by its socket is started by who runs it"
    places = daemon_places(environ, uid)
    if socket is not None and socket not in (places.socket, places.socket_link):
        return "this daemon is another account's: start it as that account"
    return None


def start_daemon() -> str:
    """Starts this user's daemon and waits until it answers; what was said of it. Raises `Unavailable` with the words of
    who could not start it."""
    done = _jobctl(["daemon", "start"], START_S)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = said[0].removeprefix("jobctl: ") if said else f"jobctl daemon start ended with {done.returncode}"
        raise Unavailable(why, " ".join(said[1:3]).removeprefix("try  "))
    return "the daemon has been started"


def doctor(socket: str | None, *, deep: bool = False) -> list[Json]:
    """Findings: `{"check", "level", "text", "hint"}`. Without a daemon those that need none."""
    named = ["--socket", socket] if socket is not None and not _is_found(socket) else []
    done = _jobctl([*named, "doctor", "--json", *(["--deep"] if deep else [])], DEEP_S if deep else DOCTOR_S)
    try:
        items: list[Json] = json.loads(done.stdout)["items"]
    except (ValueError, KeyError, TypeError) as error:
        said = done.stderr.strip().splitlines()
        raise Unavailable("jobctl doctor could not look", said[-1] if said else "call it in a shell") from error
    return items


def log_tail(path: str, lines: int) -> list[str]:
    """The last lines of a file. Raises `Unavailable` when it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            data = file.read(_TAIL_BYTES)
    except FileNotFoundError as error:
        hint = "it writes elsewhere: to the system's journal, or to where it was started"
        raise Unavailable(f"{path} is not there", hint) from error
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}", "ask who runs the daemon, or as root") from error
    return data.decode("utf-8", "replace").splitlines()[-lines:]


def log_file(environ: Mapping[str, str], uid: int, status: Json | None) -> str:
    """Where the daemon that is gone has written of itself."""
    if status is not None:
        return os.path.join(str(status["state_dir"]), "jobd.log")
    return daemon_places(environ, uid).log_file


def socket_words(path: str) -> str:
    """What is to be seen of a socket from outside."""
    try:
        found = os.stat(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    kind = "socket" if stat.S_ISSOCK(found.st_mode) else "file that is no socket"
    return f"{path}: {kind} of uid {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"


def _is_found(socket: str) -> bool:
    """Whether a command line without `--socket` comes to it too."""
    try:
        return socket in client_sockets(os.environ, os.getuid())
    except InvalidInput:
        return False


def _jobctl(argv: Sequence[str], within_s: float) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            [sys.executable, "-m", "jobctl", *argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within_s,
            check=False,
            env=of_no_run(os.environ),
            start_new_session=True,  # what it starts outlives these screens, and their terminal
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"jobctl {argv[0]} took longer than {within_s:g} s", "call it in a shell") from error
