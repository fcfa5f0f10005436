"""`jobctl daemon start`: the daemon of this user, in the background."""

from typing import Annotated

import typer

from jobctl.cli.daemon_status import print_status
from jobctl.cli.session import Session
from jobctl.client.start import start_daemon, start_standby
from jobctl.client.sync import Client
from jobctl.client.transport import PROTOCOL, Json, UnixTransport, mismatch, spoken
from jobctl.errors import InvalidInput, Unreachable
from jobctl.paths import daemon_places

EXAMPLES = (
    ("jobctl daemon start", "nothing happens when it runs already"),
    ("jobctl daemon start --standby", "one more, which takes over when the first is gone"),
)


def verb(
    ctx: typer.Context,
    standby: Annotated[
        bool, typer.Option("--standby", help="where one runs, start another that takes over when it is gone")
    ] = False,
) -> None:
    """Start the daemon of this user in the background, and wait until it answers."""
    session: Session = ctx.obj
    if session.places.named:
        raise InvalidInput("a daemon starts at its own socket", "choose its places with JOBCTL_HOME, not a socket")
    socket = daemon_places(session.world.environ, session.world.uid).socket
    client = Client(UnixTransport(socket))
    try:
        status = client.status()
    except Unreachable as error:
        if error.details.get("listening"):  # it is there and does not answer: a second one could not start
            raise
        status = start_daemon(socket, session.world.clock)
    else:
        status = _another(session, client, status) if standby else status
        if not standby:
            session.render.word("it runs already")
    print_status(session, status)
    if spoken(status) != PROTOCOL:
        raise mismatch(spoken(status))


def _another(session: Session, client: Client, before: Json) -> Json:
    start_standby()
    status = client.status()
    for pid in sorted({*status.get("standbys", ())} - {*before.get("standbys", ())}):
        session.render.word(f"pid {pid} stands by, and takes over when this one is gone")
    return status
