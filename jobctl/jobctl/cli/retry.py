"""`jobctl retry`: runs again what failed, at once."""

from functools import partial
from typing import Annotated, Final

import typer

from jobctl.cli import describe, outdated
from jobctl.cli.changing import Item, each
from jobctl.cli.select import find_run, named_job
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import Conflict, InvalidInput, NotFound

EXAMPLES = (
    ("jobctl retry 4812", "a waiting retry now, a dead letter under its key, else a new run"),
    ("jobctl retry backup", "the newest run of a job that failed or waits for its retry"),
)
#: So many of a job's newest runs are looked at.
_LOOKED_AT: Final = 100
_FAILED: Final = ("dead", "failed", "cancelled")


def verb(
    ctx: typer.Context,
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN|JOB…", help="ids of runs; a job stands for its newest that failed")
    ],
    key: Annotated[
        str | None,
        typer.Option("--key", "--idempotency-key", metavar="KEY", help="the same key does it once; for one run"),
    ] = None,
) -> None:
    """Run again what failed, now.

    A run that waits for its retry does not wait any longer; a dead letter is replayed; of another run that has ended
    a new one is made.
    """
    session: Session = ctx.obj
    if key is not None and len(runs) > 1:
        raise InvalidInput("--key is for one run", "leave it out, or retry one at a time", field="--key")
    client = session.writer()
    found = [_failed_run(client, text) for text in runs]
    each(session, found, lambda run: client.retry_run(run["id"], key), partial(_said, client), "id", done_name=_id)


def _failed_run(client: Client, text: str) -> Item:
    """A run by its id; of a job its newest that failed, or that waits for a retry. Digits are a run first."""
    if text.isdigit():
        try:
            return client.run(text)
        except NotFound:
            pass
    try:
        job = named_job(client, text)
    except NotFound:
        return find_run(client, text)
    for run in client.job_runs(job["id"], limit=_LOOKED_AT):
        if run["state"] in _FAILED or describe.waits_for_retry(run):
            return run
    raise Conflict(f"{job['name']} has nothing to retry", f"run it now: jobctl run {job['name']}")


def _said(client: Client, result: Item) -> str:
    run = result["run"]
    name = f"run {run['id']} of {run['job']}"
    if result["how"] == "now":
        return f"{name} is retried now"
    if result["how"] == "replayed":
        older = outdated.words_of(client, [run], f"jobctl dlq replay {run['id']} --current")
        return f"{name} is replayed, under its key" + (f", {older}" if older else "")
    return f"{name}, again for run {run['retry_of']}"


def _id(result: Item) -> str:
    return str(result["run"]["id"])
