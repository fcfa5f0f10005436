"""`jobctl resume`: the opposite of pause."""

import typer

from jobctl.cli import describe
from jobctl.cli.changing import each
from jobctl.cli.select import All, Names, Owner, Query, Queue, Selector, State, Tag, named_jobs
from jobctl.cli.session import Session

EXAMPLES = (("jobctl resume sync", ""), ("jobctl resume --state paused", "everything that is paused"))


def verb(
    ctx: typer.Context,
    names: Names = None,
    query: Query = None,
    state: State = None,
    queue: Queue = None,
    owner: Owner = None,
    tag: Tag = None,
    everything: All = False,
) -> None:
    """Start paused jobs again, from their next time on."""
    session: Session = ctx.obj
    client = session.writer()
    jobs = named_jobs(client, Selector(list(names or ()), query, state, queue, owner, tag, everything))

    def said(job: dict[str, object]) -> str:
        upcoming = describe.next_run(job, session.viewer).text
        return f"resumed {job['name']}" + (f", next {upcoming}" if upcoming else "")

    each(session, jobs, lambda job: client.resume_job(job["id"]), said, "name")
