"""`jobctl daemon resume`: the opposite of daemon pause."""

import typer

from jobctl.cli.queues import CatchUp, print_queue
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl daemon resume", "from the next time of each job on"),
    ("jobctl daemon resume --catch-up", "also what was missed"),
)


def verb(ctx: typer.Context, catch_up: CatchUp = False) -> None:
    """Start jobs again, but for those that are paused themselves or by their queue."""
    session: Session = ctx.obj
    queue = session.reader().resume_daemon(catch_up=catch_up)
    print_queue(session, queue, "the daemon starts jobs again")
