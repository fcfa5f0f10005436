"""What the verbs about queues and the daemon's pause have in common."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME", help="a queue")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="resume by itself: `2h`, `06:00`")]
Why = Annotated[str | None, typer.Option("--why", "--reason", metavar="TEXT", help="shown wherever it matters")]
CatchUp = Annotated[
    bool, typer.Option("--catch-up", help="make up what was missed, as each job's misfire policy allows")
]


def print_queue(session: Session, queue: dict[str, Any], said: str) -> None:
    """A queue as it is now; `said` is the line for a person."""
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.json(queue)
    elif render.machine:
        render.names([str(queue["name"])])
    else:
        render.flow(said)


def paused(queue: dict[str, Any], session: Session) -> str:
    """`paused by ana 0s ago until 06:00 CET: provider down`."""
    return f"paused {describe.paused(queue, session.viewer)}".rstrip()
