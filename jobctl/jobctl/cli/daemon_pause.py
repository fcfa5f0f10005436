"""`jobctl daemon pause`: nothing is started any more but by hand."""

import typer

from jobctl.cli.queues import Until, Why, paused, print_queue
from jobctl.cli.session import Session, instant

EXAMPLES = (
    ('jobctl daemon pause --why "moving the database"', "until somebody resumes"),
    ("jobctl daemon pause --until 06:00", "it resumes by itself"),
)


def verb(ctx: typer.Context, until: Until = None, why: Why = None) -> None:
    """Stop starting jobs, all of them. What runs goes on; what is asked for by hand starts."""
    session: Session = ctx.obj
    end = instant(session, until, option="--until")
    queue = session.reader().pause_daemon(end, why)
    print_queue(session, queue, f"the daemon is {paused(queue, session)}; jobctl daemon resume")
