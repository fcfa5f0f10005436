"""`jobctl queue resume`: the opposite of queue pause."""

import typer

from jobctl.cli.queues import CatchUp, Name, print_queue
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl queue resume mail", "from the next time of each job on"),
    ("jobctl queue resume mail --catch-up", "also what was missed"),
)


def verb(ctx: typer.Context, name: Name, catch_up: CatchUp = False) -> None:
    """Start the jobs of a queue again, but for those that are paused themselves."""
    session: Session = ctx.obj
    queue = session.writer().resume_queue(name, catch_up=catch_up)
    print_queue(session, queue, f"resumed queue {queue['name']}")
