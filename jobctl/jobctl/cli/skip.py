"""`jobctl skip`: leaves out the next times of jobs."""

from typing import Annotated

import typer

from jobctl.cli import describe
from jobctl.cli.changing import Item, each
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl skip backup", "not the next time, but the one after"),
    ('jobctl skip backup -n 3 --why "maintenance"', ""),
)


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", min=1, max=100, help="how many times (1)", show_default=False)
    ] = 1,
    why: Annotated[str | None, typer.Option("--why", "--reason", metavar="TEXT", help="kept in the record")] = None,
) -> None:
    """Leave out the next times of jobs. `why` tells of them; by hand a job still runs."""
    session: Session = ctx.obj
    client, viewer = session.writer(), session.viewer
    before: dict[int, str | None] = {}

    def skip(job: Item) -> Item:
        before[job["id"]] = job["next_run_at"]
        return client.skip_next(job["id"], number, why)

    def said(job: Item) -> str:
        first = before[job["id"]]
        times = "its next time" if number == 1 else f"its next {number} times"
        left_out = f"{job['name']} leaves out {times}" + (f", from {viewer.clock(first)} on" if first else "")
        if number == 1 and first:
            left_out = f"{job['name']} leaves out {viewer.clock(first)}"
        upcoming = describe.next_run(job, viewer).text
        return f"{left_out}; next {upcoming}" if upcoming else left_out

    each(session, named_jobs(client, which), skip, said, "name")
