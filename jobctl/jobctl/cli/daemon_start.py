"""`jobctl daemon start`: the daemon of this user, in the background."""

import typer

from jobctl.cli.daemon_status import print_status
from jobctl.cli.session import Session
from jobctl.client.start import start_daemon
from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from jobctl.errors import InvalidInput, Unreachable
from jobctl.paths import daemon_places

EXAMPLES = (("jobctl daemon start", "nothing happens when it runs already"),)


def verb(ctx: typer.Context) -> None:
    """Start the daemon of this user in the background, and wait until it answers."""
    session: Session = ctx.obj
    if session.places.named:
        raise InvalidInput("a daemon starts at its own socket", "choose its places with JOBCTL_HOME, not a socket")
    socket = daemon_places(session.world.environ, session.world.uid).socket
    try:
        status = Client(UnixTransport(socket)).status()
    except Unreachable as error:
        if error.details.get("listening"):  # it is there and does not answer: a second one could not start
            raise
        status = start_daemon(socket, session.world.clock)
    else:
        session.render.word("it runs already")
    print_status(session, status)
