"""`jobctl pause`: no more starts, until somebody resumes or a time comes."""

from typing import Annotated

import typer

from jobctl.cli import describe
from jobctl.cli.changing import each
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session, instant

EXAMPLES = (
    ('jobctl pause sync --why "provider is down"', ""),
    ("jobctl pause --tag nightly --until 06:00", ""),
)


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="resume by itself: `2h`, `06:00`")
    ] = None,
    why: Annotated[
        str | None, typer.Option("--why", "--reason", metavar="TEXT", help="shown wherever the job is")
    ] = None,
) -> None:
    """Stop starting jobs. What runs goes on; missed times are recorded as skipped."""
    session: Session = ctx.obj
    client = session.writer()
    jobs = named_jobs(client, which)
    end = instant(session, until, option="--until")
    each(
        session,
        jobs,
        lambda job: client.pause_job(job["id"], end, why),
        lambda job: f"paused {job['name']} {describe.paused(job, session.viewer)}".rstrip(),
        "name",
    )
