"""Starting a daemon for the caller: `jobd` in the background, and waiting until it answers."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import IO, Final

from jobctl.client.sync import Client
from jobctl.client.transport import Json, Transport, UnixTransport
from jobctl.clock import Clock
from jobctl.errors import Conflict, Unavailable, Unreachable

WITHIN_S: Final = 10.0
#: Another start that was quicker has the lock already: it has not much left to do.
_OTHERS_S: Final = 3.0
_PAUSE_S: Final = 0.02
_PREFIX: Final = "jobd: "
#: What the command of a run is told of it (docs/runner-protocol.md).
RUN_NAMES: Final = frozenset(
    f"JOBCTL_{name}" for name in ("RUN_KEY", "RUN_ID", "JOB", "ATTEMPT", "FENCE", "SCHEDULED_AT", "TRIGGER")
)


def jobd_command() -> list[str]:
    """The daemon of this very installation, whatever PATH says."""
    return [sys.executable, "-m", "jobctl_daemon"]


def of_no_run(environ: Mapping[str, str]) -> dict[str, str]:
    """Without the marker of a run: a daemon started by a job must not be killed with that job."""
    return {name: value for name, value in environ.items() if name not in RUN_NAMES}


def start_daemon(
    socket: str, clock: Clock, command: list[str] | None = None, make: Callable[[str], Transport] = UnixTransport
) -> Json:
    """Start it and return its status; `Unavailable` with its own words when it does not come up in `WITHIN_S`.

    jobd puts itself in the background, so its first process may end with 0 before the socket is there. Where another
    start was quicker, that daemon is the one that is waited for, for a few seconds.
    """
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            command or jobd_command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
            cwd="/",
            env=of_no_run(os.environ),
        )
        begun_ms = clock.boot_ms()
        status = _first_answer(Client(make(socket)), process.poll, lambda: clock.boot_ms() - begun_ms)
        process.returncode = 0 if process.returncode is None else process.returncode
        if status is None:
            raise _failed(complaints, held=process.returncode == Conflict.exit_code)
        return status


def start_standby() -> None:
    """Start a daemon that waits until the one that runs is gone, and return once it waits; `Unavailable` with its own
    words when it does not come up in `WITHIN_S`."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [*jobd_command(), "--standby"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
            cwd="/",
            env=of_no_run(os.environ),
        )
        try:
            code = process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            code = process.returncode = 1  # it goes on, unwatched
        if code != 0:
            raise _failed(complaints)


def _first_answer(client: Client, poll: Callable[[], int | None], waited_ms: Callable[[], int]) -> Json | None:
    until_ms = WITHIN_S * 1000
    held = False
    while waited_ms() < until_ms:
        try:
            return client.status()
        except Unreachable as error:
            code = poll()
            if code not in (None, 0, Conflict.exit_code):
                return None
            if code == Conflict.exit_code and error.details.get("listening"):
                return None  # it was no other start that was quicker: whoever has the folder does not answer
            if code == Conflict.exit_code and not held:
                held, until_ms = True, min(until_ms, waited_ms() + _OTHERS_S * 1000)
            time.sleep(_PAUSE_S)
    return None


def _failed(complaints: IO[bytes], *, held: bool = False) -> Unavailable:
    """Its own words: `jobd: WHY`, with what to do indented below; else the last line it wrote."""
    complaints.seek(0)
    lines = complaints.read(65_536).decode("utf-8", "replace").strip().splitlines()
    why, hint = lines[-1] if lines else f"no answer within {WITHIN_S:g} s", "see what it says: jobctl daemon run"
    said = next((at for at, line in enumerate(lines) if line.startswith(_PREFIX)), None)
    if said is not None:
        why = lines[said].removeprefix(_PREFIX)
        below = lines[said + 1] if said + 1 < len(lines) else ""
        hint = below.strip() if below.startswith("  ") else hint
    if held:
        hint = "its socket is gone, or it hangs: end that process, then: jobctl daemon start; running commands go on"
    return Unavailable("the daemon did not start", hint, details={"why": why})
