"""Which jobs a verb is about: the same arguments and options in every verb that takes several."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import typer

from jobctl.client.sync import Client
from jobctl.client.transport import Json
from jobctl.errors import Conflict, InvalidInput, NotFound

_PANEL = "Which jobs"

Names = Annotated[
    list[str] | None, typer.Argument(metavar="JOB…", help="names, ids, or the beginning of a uid", show_default=False)
]
Query = Annotated[
    str | None,
    typer.Option("-q", "--query", metavar="TEXT", help="jobs whose name or command has it", rich_help_panel=_PANEL),
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="jobs in a state: ok, failed, running, paused, done, parked",
        rich_help_panel=_PANEL,
    ),
]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="jobs of a queue", rich_help_panel=_PANEL)]
Owner = Annotated[str | None, typer.Option("--owner", metavar="USER", help="jobs of a user", rich_help_panel=_PANEL)]
Tag = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="jobs with a tag", rich_help_panel=_PANEL)]
All = Annotated[bool, typer.Option("--all", help="every job, also one-shots that are done", rich_help_panel=_PANEL)]


class Selector(NamedTuple):
    """What was asked for: names, or filters that all must hold."""

    names: list[str]
    query: str | None = None
    state: str | None = None
    queue: str | None = None
    owner: str | None = None
    tag: str | None = None
    all: bool = False

    @property
    def filters(self) -> dict[str, Any]:
        named = {"q": self.query, "state": self.state, "queue": self.queue, "owner": self.owner, "tag": self.tag}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def bulk(self) -> bool:
        return bool(self.filters) or self.all or len(self.names) > 1


def named_jobs(client: Client, selector: Selector) -> Iterable[Json]:
    """Each job that was asked for. Names must exist; filters may match none. Nothing asked for is refused."""
    if selector.names and (selector.filters or selector.all):
        raise InvalidInput("say names or filters, not both", "leave one of them out")
    if selector.names:
        return [find_job(client, name) for name in selector.names]
    if not selector.filters and not selector.all:
        raise InvalidInput("which jobs?", "name them, filter with --state, --tag, --owner, -q, or say --all")
    return list(client.jobs(done=selector.all or None, **selector.filters))


def find_job(client: Client, name: str) -> Json:
    """The job; `NotFound` names the nearest there is."""
    try:
        return client.job(name)
    except NotFound as error:
        raise no_such(client, name, error) from error


def no_such(client: Client, name: str, error: NotFound, kind: str = "job") -> NotFound:
    from difflib import get_close_matches

    known = [str(job["name"]) for job in client.jobs(limit=1000)]
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"closest: {near[0]}" if near else "see jobctl ls"
    return NotFound(f"there is no {kind} {name!r}", guess, details=error.details)


def find_run(client: Client, text: str) -> Json:
    """A run by its id, or the newest run of a job by the job's name. Digits are a run first."""
    if text.isdigit():
        try:
            return client.run(text)
        except NotFound:
            pass
    try:
        job = client.job(text)
    except NotFound as error:
        raise no_such(client, text, error, "run" if text.isdigit() else "job or run") from error
    run = next(iter(client.job_runs(job["id"], limit=1)), None)
    if run is None:
        raise NotFound(f"{job['name']} has not run yet", f"run it now: jobctl run {job['name']}")
    return run


def active_runs(client: Client, text: str) -> list[Json]:
    """A run by its id, or the active runs of a job by the job's name."""
    if text.isdigit():
        try:
            return [client.run(text)]
        except NotFound:
            pass
    job = find_job(client, text)
    runs = [run for run in client.job_runs(job["id"], limit=100) if not run["finished_at"] and run["state"] in _ACTIVE]
    if not runs:
        raise Conflict(f"{job['name']} has no active run", f"see its history: jobctl runs {job['name']}")
    return runs


_ACTIVE = ("scheduled", "ready", "running")
