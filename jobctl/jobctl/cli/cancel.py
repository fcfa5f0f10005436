"""`jobctl cancel`: ends runs politely."""

from typing import Annotated, Any

import typer

from jobctl.cli.changing import each
from jobctl.cli.draft import duration_ms
from jobctl.cli.select import active_runs
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl cancel 4812", "TERM, and KILL after the grace"),
    ("jobctl cancel backup", "every active run of a job"),
    ("jobctl cancel 4812 --grace 1m", ""),
)

Runs = Annotated[list[str], typer.Argument(metavar="RUN…", help="ids of runs; a job stands for its active runs")]


def verb(
    ctx: typer.Context,
    runs: Runs,
    grace: Annotated[str | None, typer.Option("--grace", metavar="DURATION", help="between TERM and KILL")] = None,
) -> None:
    """Stop runs: TERM to the whole group, the grace, then KILL. One that has not started never will."""
    session: Session = ctx.obj
    grace_s = None if grace is None else duration_ms("--grace", grace) / 1000
    client = session.writer()
    found = [run for text in runs for run in active_runs(client, text)]
    each(
        session,
        found,
        lambda run: client.cancel_run(run["id"], grace_s),
        lambda run: waiting(run) or f"{_done(run)} run {run['id']} of {run['job']}",
        "id",
    )


def _done(run: dict[str, Any]) -> str:
    return "cancelled" if run["state"] == "cancelled" else "cancelling"


def waiting(run: dict[str, Any]) -> str | None:
    """The line for a run whose runner has not heard of it yet."""
    return f"run {run['id']} of {run['job']} will be stopped: {run['waits_for']}" if run.get("waits_for") else None
