"""`jobctl wait`: until runs are over."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe, over
from jobctl.cli.draft import duration_ms
from jobctl.cli.ending import CommandEnded, Ended, How
from jobctl.cli.follow import is_active, until_over
from jobctl.cli.run import print_run
from jobctl.cli.select import find_run
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl wait 4812", "ends with its exit code"),
    ("jobctl wait 4812 4813 --timeout 10m", "124 when it takes longer"),
    ("jobctl wait backup", "the run of a job that is under way"),
)


def verb(
    ctx: typer.Context,
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN…", help="ids of runs; a job stands for its run under way, else its last")
    ],
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help="give up after so long, with 124")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="print nothing")] = False,
) -> None:
    """Wait until runs are over, and end with the exit code of the command: of several, the first that is not 0."""
    session: Session = ctx.obj
    client, render = session.reader(), session.render
    deadline_ms = None
    if timeout is not None:
        deadline_ms = session.world.clock.boot_ms() + duration_ms("--timeout", timeout)
    found = [find_run(client, text) for text in runs]
    ended = [until_over(session, client, run, deadline_ms, quiet=quiet) for run in found]
    for run in ended:
        if not quiet and not render.machine:
            render.flow(f"run {run['id']} of {run['job']}: {describe.ended(run)}")
    if render.machine and not quiet:
        _machine(session, ended)
    elif not quiet:
        over.tell_next(session, ended)
    if any(is_active(run) for run in ended):
        raise Ended(How.TIMED_OUT)
    bad = [run for run in ended if run["state"] != "succeeded"]
    if bad:
        raise CommandEnded(bad[0])


def _machine(session: Session, runs: list[dict[str, Any]]) -> None:
    if len(runs) == 1:
        print_run(session, runs[0])
    elif session.render.output in {"json", "ndjson"}:
        session.render.items(runs)
    else:
        session.render.names(str(run["id"]) for run in runs)
