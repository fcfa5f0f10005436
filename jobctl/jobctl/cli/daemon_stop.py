"""`jobctl daemon stop`: the daemon ends, the commands do not."""

import time
from typing import Final

import typer

from jobctl.cli.session import Session
from jobctl.errors import DaemonError, Unavailable

EXAMPLES = (("jobctl daemon stop", "running commands go on, and are recorded when it is back"),)
_WITHIN_MS: Final = 30_000
_PAUSE_S: Final = 0.05


def verb(ctx: typer.Context) -> None:
    """Stop the daemon and wait until it is gone. Running commands go on; a later daemon takes them over."""
    session: Session = ctx.obj
    client, clock = session.reader(), session.world.clock
    running = client.status()["running"]
    answer = client.stop_daemon()
    deadline_ms = clock.boot_ms() + _WITHIN_MS
    while clock.boot_ms() < deadline_ms:
        try:
            client.ready()
        except Unavailable:
            time.sleep(_PAUSE_S)
        except DaemonError:
            _said(session, answer, running)
            return
        else:
            time.sleep(_PAUSE_S)
    raise Unavailable("the daemon is still stopping after 30 s", "see its log, jobd.log in its state folder")


def _said(session: Session, answer: dict[str, object], running: int) -> None:
    if session.render.machine:
        session.render.json({**answer, "state": "stopped", "running": running})
        return
    more = f"; {running} running command{'' if running == 1 else 's'} go on" if running else ""
    session.render.line(f"stopped{more}")
    session.render.word("nothing is started until it is back: jobctl daemon start")
