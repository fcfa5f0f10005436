"""`jobctl resume`: the opposite of pause."""

from typing import Any

import typer

from jobctl.cli import describe
from jobctl.cli.changing import each
from jobctl.cli.options import grouped
from jobctl.cli.queues import CatchUp
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl resume sync", ""),
    ("jobctl resume sync --catch-up", "and make up what was missed, as its misfire policy allows"),
    ("jobctl resume --state quarantined", "everything that died too often"),
)


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    catch_up: CatchUp = False,
) -> None:
    """Start paused jobs again, from their next time on. What quarantine holds is released too."""
    session: Session = ctx.obj
    client = session.writer()
    jobs = named_jobs(client, which)

    def said(job: dict[str, Any]) -> str:
        upcoming = describe.next_run(job, session.viewer).text
        held = describe.held_and_ended(job, session.viewer)
        if held:
            return f"resumed {job['name']}; {held}"
        return f"resumed {job['name']}" + (f", next {upcoming}" if upcoming else "")

    each(session, jobs, lambda job: client.resume_job(job["id"], catch_up=catch_up), said, "name")
