"""`jobctl rm`: removes jobs; asks on a terminal, needs --yes elsewhere."""

from typing import Annotated

import typer

from jobctl.cli.asking import confirm
from jobctl.cli.changing import Item, each
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session
from jobctl.errors import InvalidInput
from jobctl.reading.safe import cell

EXAMPLES = (
    ("jobctl rm backup", "asks first"),
    ("jobctl rm --tag old --yes", "for scripts"),
    ("jobctl rm backup --runs cancel --yes", "also stops what runs"),
)
_NAMED_MAX = 5


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    runs: Annotated[str | None, typer.Option("--runs", metavar="cancel", help="also cancel what is running")] = None,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="do not ask")] = False,
) -> None:
    """Remove jobs. Runs that have not started are cancelled; those running finish. The history stays."""
    session: Session = ctx.obj
    if runs not in (None, "cancel"):
        raise InvalidInput(f"--runs is cancel or nothing, not {runs!r}", "see jobctl rm --help", field="--runs")
    client = session.writer()
    jobs = list(named_jobs(client, which))
    if jobs and not yes:
        _ask(session, jobs)

    def remove(job: Item) -> Item:
        client.delete_job(job["id"], cancel_runs=runs == "cancel")
        return {"id": job["id"], "uid": job["uid"], "name": job["name"], "deleted": True}

    each(session, jobs, remove, lambda job: f"removed {cell(job['name'])}", "name")


def _ask(session: Session, jobs: list[Item]) -> None:
    shown = ", ".join(cell(job["name"]) for job in jobs[:_NAMED_MAX])
    more = f" and {len(jobs) - _NAMED_MAX} more" if len(jobs) > _NAMED_MAX else ""
    owners = sorted({str(job["owner"]) for job in jobs})
    if len(owners) > 1:  # root's daemon: every job is everybody's
        more += f", jobs of {', '.join(map(cell, owners[:_NAMED_MAX]))}{', …' if len(owners) > _NAMED_MAX else ''}"
    confirm(session, f"remove {shown}{more}", f"removes {shown}{more}", "removed")
