"""`jobctl export jobs`: jobs as a file that declares them (jobs.toml(5))."""

from typing import Annotated

import typer

from jobctl.cli.export_crontab import caller_of, print_text, save
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl export jobs", "all jobs, on stdout"),
    ("jobctl export jobs backup report --to jobs.toml", "two of them, into a file"),
    ("jobctl export jobs | ssh host jobctl apply -", "the same jobs on another host"),
)


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    to: Annotated[str | None, typer.Option("--to", metavar="FILE", help="write here instead of stdout")] = None,
) -> None:
    """Write jobs as a file of jobs, for jobs.d or `jobctl apply`. Only what is not the default is said.

    Without a selection all jobs are written. A job that is paused is written as paused; history stays here.
    """
    from jobctl.jobfiles import written

    session: Session = ctx.obj
    client = session.reader()
    asked = which.names or which.filters or which.all
    listed = named_jobs(client, which) if asked else client.jobs()
    jobs = [client.job(job["id"]) for job in listed]  # lists carry neither variables nor input
    text = written(jobs, caller_of(session))
    if to is not None:
        save(to, text.encode())
    if session.render.machine:
        session.render.json({"schema": 1, "toml": text, "jobs": [job["name"] for job in jobs]})
    elif to is None:
        print_text(session, text.encode())
