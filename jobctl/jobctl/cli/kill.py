"""`jobctl kill`: ends runs at once."""

import typer

from jobctl.cli.cancel import Runs, waiting
from jobctl.cli.changing import each
from jobctl.cli.select import active_runs
from jobctl.cli.session import Session

EXAMPLES = (("jobctl kill 4812", ""), ("jobctl kill backup", "every active run of a job"))


def verb(ctx: typer.Context, runs: Runs) -> None:
    """KILL runs and all they started, now. They end as cancelled."""
    session: Session = ctx.obj
    client = session.writer()
    found = [run for text in runs for run in active_runs(client, text)]
    each(
        session,
        found,
        lambda run: client.kill_run(run["id"]),
        lambda run: waiting(run) or f"killed run {run['id']} of {run['job']}",
        "id",
    )
