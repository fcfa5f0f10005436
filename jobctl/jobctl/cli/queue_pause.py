"""`jobctl queue pause`: no more starts of a queue's jobs."""

import typer

from jobctl.cli.queues import Name, Until, Why, paused, print_queue
from jobctl.cli.session import Session, instant

EXAMPLES = (
    ('jobctl queue pause mail --why "provider is down"', ""),
    ("jobctl queue pause batch --until 06:00", "it resumes by itself"),
)


def verb(ctx: typer.Context, name: Name, until: Until = None, why: Why = None) -> None:
    """Stop starting the jobs of a queue. What runs goes on; what is asked for by hand starts."""
    session: Session = ctx.obj
    end = instant(session, until, option="--until")
    queue = session.writer().pause_queue(name, end, why)
    print_queue(session, queue, f"queue {queue['name']} is {paused(queue, session)}")
