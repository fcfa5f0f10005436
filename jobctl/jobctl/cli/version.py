"""`jobctl version`: of this program, and of the daemon when one answers."""

import typer

from jobctl import __version__
from jobctl.cli.session import Session
from jobctl.client.transport import PROTOCOL
from jobctl.errors import JobctlError


def verb(ctx: typer.Context) -> None:
    """Print the version of this program, and of the daemon when one answers."""
    session: Session = ctx.obj
    try:
        status = session.reader().status()
        daemon, protocol = status["version"], status["protocol"]
    except JobctlError:
        daemon, protocol = None, None
    if session.render.output in {"json", "ndjson"}:
        session.render.json(
            {"version": __version__, "protocol": int(PROTOCOL), "daemon": daemon, "daemon_protocol": protocol}
        )
        return
    session.render.line(f"jobctl {__version__}")
    if daemon is not None and not session.render.machine:
        other = "" if str(protocol) == PROTOCOL else f" (speaks protocol {protocol}, and this jobctl {PROTOCOL})"
        session.render.line(f"jobd   {daemon}{other}")
