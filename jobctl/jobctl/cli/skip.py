"""`jobctl skip`: leaves out the next times of jobs, or takes that back."""

from typing import Annotated

import typer

from jobctl.cli import describe
from jobctl.cli.changing import Item, each
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput
from jobctl.reading.times import Viewer

EXAMPLES = (
    ("jobctl skip backup", "not the next time, but the one after"),
    ('jobctl skip backup -n 3 --why "maintenance"', ""),
    ("jobctl skip backup --undo", "what is left out and has not passed comes after all"),
)


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    number: Annotated[
        int | None,
        typer.Option("-n", "--number", metavar="N", min=1, max=100, help="how many times (1)", show_default=False),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="leave out none after all")] = False,
    why: Annotated[str | None, typer.Option("--why", "--reason", metavar="TEXT", help="kept in the record")] = None,
) -> None:
    """Leave out the next times of jobs, whatever is edited or paused meanwhile. By hand a job still runs.

    `why` tells of what was left out.
    """
    session: Session = ctx.obj
    if undo and (number is not None or why is not None):
        raise InvalidInput("--undo takes back all that is left out", "leave -n and --why out", field="--undo")
    client, viewer = session.writer(), session.viewer
    if undo:
        each(session, named_jobs(client, which), lambda job: client.unskip(job["id"]),
             lambda job: f"{job['name']} leaves out nothing more{_next(job, viewer)}", "name")  # fmt: skip
        return
    count = number or 1
    before: dict[int, str | None] = {}

    def skip(job: Item) -> Item:
        before[job["id"]] = _first(client, job)
        return client.skip_next(job["id"], count, why)

    def said(job: Item) -> str:
        first = before[job["id"]]
        times = "its next time" if count == 1 else f"its next {count} times"
        left_out = f"{job['name']} leaves out {times}" + (f", from {viewer.clock(first)} on" if first else "")
        if count == 1 and first:
            left_out = f"{job['name']} leaves out {viewer.clock(first)}"
        return left_out + _next(job, viewer)

    each(session, named_jobs(client, which), skip, said, "name")


def _first(client: Client, job: Item) -> str | None:
    """What is left out first; a job that is held waits for nothing, and has its times all the same."""
    if job["next_run_at"] or not job["suspended_by"] or job["error"]:
        return job["next_run_at"] and str(job["next_run_at"])
    fires = client.job_next(job["id"], 1)["items"]
    return str(fires[0]["at"]) if fires else None


def _next(job: Item, viewer: Viewer) -> str:
    upcoming = describe.next_run(job, viewer).text or describe.held(job, viewer)
    return f"; {'' if job['suspended_by'] else 'next '}{upcoming}" if upcoming else ""
