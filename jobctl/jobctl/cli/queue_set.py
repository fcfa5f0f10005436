"""`jobctl queue set`: how many runs of a queue may run at once."""

from typing import Annotated

import typer

from jobctl.cli.queues import Name, print_queue
from jobctl.cli.session import Session
from jobctl.errors import InvalidInput

EXAMPLES = (
    ("jobctl queue set mail --concurrency 2", "at most two of its runs at a time"),
    ("jobctl queue set mail --concurrency none", "as many as there are slots"),
)


def verb(
    ctx: typer.Context,
    name: Name,
    concurrency: Annotated[
        str | None, typer.Option("--concurrency", metavar="N|none", help="how many of its runs may run at once")
    ] = None,
) -> None:
    """Set the limit of a queue. What runs already goes on; a queue that is not known yet is made."""
    session: Session = ctx.obj
    if concurrency is None:
        raise InvalidInput("set what?", "say --concurrency N, or --concurrency none", field="--concurrency")
    limit = None if concurrency == "none" else _number(concurrency)
    queue = session.writer().set_queue(name, limit)
    said = "no limit but the slots" if limit is None else f"at most {limit} at once"
    print_queue(session, queue, f"queue {queue['name']}: {said}")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise InvalidInput(
            f"--concurrency {text!r} is no number from 1 on",
            "for none at all: jobctl queue pause",
            field="--concurrency",
        )
    return int(text)
