"""`jobctl daemon stop`: the daemon ends, the commands do not."""

import os
import time
from collections.abc import Callable
from typing import Final

import typer

from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import DaemonError, Unavailable, Unreachable

EXAMPLES = (("jobctl daemon stop", "running commands go on, and are recorded when it is back"),)
_WITHIN_MS: Final = 30_000
_PAUSE_S: Final = 0.05


def verb(ctx: typer.Context) -> None:
    """Stop the daemon and wait until it is gone. Running commands go on; a later daemon takes them over.

    A daemon that stands by takes over at once: where there is one, stop it first.
    """
    session: Session = ctx.obj
    client, clock = session.reader(), session.world.clock
    try:
        status = client.status()
    except Unreachable:
        if not _nobody(session):
            raise
        _must_be_gone(session)
        if session.render.machine:
            session.render.json({"state": "stopped", "running": 0})
        else:
            session.render.line("it is not running")
        return
    answer = client.stop_daemon()
    deadline_ms = clock.boot_ms() + _WITHIN_MS
    while _lives(status["pid"]) or _holder(client) == status["pid"]:
        if clock.boot_ms() >= deadline_ms:
            raise Unavailable("the daemon is still stopping after 30 s", "see its log, jobd.log in its state folder")
        time.sleep(_PAUSE_S)
    next_pid = _successor(client, status.get("standbys") or [], lambda: clock.boot_ms() < deadline_ms)
    _said(session, answer, status["running"], next_pid)


def _successor(client: Client, standbys: list[int], in_time: Callable[[], bool]) -> int | None:
    """The daemon that has taken over, where one stood by."""
    while in_time():
        pid = _holder(client)
        if pid is not None or not any(_lives(standby) for standby in standbys):
            return pid
        time.sleep(_PAUSE_S)
    return None


def _nobody(session: Session) -> bool:
    """Whether there is nothing behind any of the sockets; one that may not be entered is another matter."""
    return not any(_listens(path) for path in session.places.sockets)


def _must_be_gone(session: Session) -> None:
    """One whose socket was removed cannot be reached, and is there all the same."""
    from jobctl.client.holder import holder
    from jobctl.paths import daemon_places

    if session.places.named:
        return
    pid = holder(daemon_places(session.world.environ, session.world.uid).lock_file)
    if pid is not None:
        end = f"kill {pid}" if pid else "end it"
        raise Unreachable(
            f"the daemon{f', pid {pid},' if pid else ''} runs, and its socket is gone",
            f"{end}, then: jobctl daemon start; running commands go on",
        )


def _listens(path: str) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            return False
        except OSError:
            return True
    return True


def _holder(client: Client) -> int | None:
    """The daemon that answers now."""
    try:
        pid: int = client.status()["pid"]
    except DaemonError:
        return None
    return pid


def _lives(pid: int) -> bool:
    """Its socket goes before its lock does: a start right afterwards must find both free."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Gone but for a parent that has not looked yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def _said(session: Session, answer: dict[str, object], running: int, next_pid: int | None) -> None:
    if session.render.machine:
        session.render.json({**answer, "state": "stopped", "running": running, "taken_over_by": next_pid})
        return
    words = "1 running command goes on" if running == 1 else f"{running} running commands go on"
    more = f"; {words}" if running else ""
    session.render.flow(f"stopped{more}")
    if next_pid is None:
        session.render.word("nothing is started until it is back: jobctl daemon start")
    else:
        session.render.word(f"pid {next_pid}, which stood by, has taken over: jobctl daemon stop ends that one as well")
