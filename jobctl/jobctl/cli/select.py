"""Which jobs a verb is about: the same arguments and options in every verb that takes several."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, Final, NamedTuple

import typer

from jobctl.cli import describe
from jobctl.cli.meant import Meant, at_work
from jobctl.cli.verbs import FILTER_HELP, JOB_STATES
from jobctl.client.sync import Client
from jobctl.client.transport import Json
from jobctl.errors import Conflict, InvalidInput, NotFound

_PANEL = "Which jobs"
#: Words for --state that the daemon does not know: they hold beside the state of a job.
_MARKS: Final[dict[str, Callable[[Json], bool]]] = {
    "retrying": lambda job: bool(job["retrying"]),
    "dead": lambda job: bool(job["dead"]),
    "quarantined": lambda job: bool(job["quarantined"]),
    "skipping": describe.keeps_skipping,
}


class Selector(NamedTuple):
    """What was asked for: names, or filters that all must hold."""

    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB…", help="names, ids, or the beginning of a uid", show_default=False),
    ] = None
    query: Annotated[
        str | None,
        typer.Option("-q", "--query", metavar="FILTER", help=f"jobs that match: {FILTER_HELP}", rich_help_panel=_PANEL),
    ] = None
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help=f"jobs in a state: {', '.join(JOB_STATES)}; of several also those whose table shows another: "
            "`failed` finds a paused job too whose last run failed",
            rich_help_panel=_PANEL,
        ),
    ] = None
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="NAME", help="jobs of a queue", rich_help_panel=_PANEL)
    ] = None
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="USER", help="jobs of a user", rich_help_panel=_PANEL)
    ] = None
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="jobs with a tag", rich_help_panel=_PANEL)] = (
        None
    )
    all: Annotated[
        bool, typer.Option("--all", help="every job, also one-shots that are done", rich_help_panel=_PANEL)
    ] = False

    @property
    def filters(self) -> dict[str, Any]:
        named = {"q": self.query, "state": self.state, "queue": self.queue, "owner": self.owner, "tag": self.tag}
        return {name: value for name, value in named.items() if value is not None}


def named_jobs(client: Client, selector: Selector) -> Iterable[Json]:
    """Each job that was asked for. Names must exist; filters may match none. Nothing asked for is refused."""
    if selector.names and (selector.filters or selector.all):
        raise InvalidInput("say names or filters, not both", "leave one of them out")
    if selector.names:
        return [find_job(client, name) for name in selector.names]
    if not selector.filters and not selector.all:
        raise InvalidInput("which jobs?", "name them, filter with --state, --tag, --owner, -q, or say --all")
    states = checked_words("--state", selector.state, JOB_STATES)
    marks = [_MARKS[state] for state in states if state in _MARKS]
    filters = {**selector.filters, "done": selector.all or None}
    known = [state for state in states if state not in _MARKS]
    found = {job["id"]: job for job in client.jobs(**{**filters, "state": ",".join(known)})} if known else {}
    if not known or marks:
        jobs = client.jobs(**{**filters, "state": None})
        found |= {job["id"]: job for job in jobs if not marks or any(holds(job) for holds in marks)}
    return sorted(found.values(), key=lambda job: (job["name"], job["id"]))


def checked_words(option: str, text: str | None, known: Sequence[str]) -> list[str]:
    """The words of an option, with commas between."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if word not in known:
            raise InvalidInput(f"{option} {word!r} is none of {', '.join(known)}", "several with commas", field=option)
    return words


def find_job(client: Client, name: str) -> Json:
    """The job; `NotFound` names the nearest there is."""
    try:
        return client.job(name)
    except NotFound as error:
        raise no_such(client, name, error) from error


def zone_of(client: Client, job: Json) -> str:
    """In which a job's local times are read. One by hand has a zone too, which only its preview shows."""
    return str(job["schedule"]["timezone"] if job["schedule"] else client.job_next(job["id"], 0)["timezone"])


def named_job(client: Client, text: str) -> Json:
    """The job. A number is a job only where a list shows one: commands run once have their own, out of sight."""
    job = client.job(text)
    if text.isdigit() and not any(item["id"] == job["id"] for item in client.jobs(q=quoted(job["name"]), done=True)):
        raise NotFound(f"there is no job {text}", "see jobctl ls")
    return job


def quoted(name: str) -> str:
    """A filter that finds this name, whatever is in it."""
    from jobctl.filters import quoted  # most verbs need no filters

    return quoted(name)


def no_such(client: Client, name: str, error: NotFound, kind: str = "job") -> NotFound:
    from difflib import get_close_matches

    known = [str(job["name"]) for job in client.jobs(limit=1000)]
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"closest: {near[0]}" if near else "see jobctl ls"
    if name.isdigit():
        return NotFound(f"there is no {kind} {name}", "see jobctl ls", details=error.details)
    return NotFound(f"there is no {kind} {name!r}", guess, details=error.details)


def find_run(client: Client, text: str, meant: Meant = at_work) -> Json:
    """A run by its id, or by the name of its job the one that is `meant`. Digits are a run first."""
    if text.isdigit():
        try:
            return client.run(text)
        except NotFound:
            pass
    try:
        job = named_job(client, text)
    except NotFound as error:
        run = meant(partial(runs_called, client, text))
        if run is None:
            raise _no_such_run(client, text, error) from error
        return run
    run = meant(partial(client.job_runs, job["id"]))
    if run is None:
        raise NotFound(f"{job['name']} has not run yet", f"run it now: jobctl run {job['name']}")
    return run


def runs_called(
    client: Client, name: str, limit: int | None = None, q: str | None = None, **filters: Any
) -> Iterator[Json]:
    """Runs by the name that their job had, newest first: of commands run once, and of jobs that were removed."""
    query = f"{quoted(name)} {q or ''}".rstrip()
    found = (run for run in client.runs(q=query, **filters) if run["job"] == name)
    return islice(found, limit)


def _no_such_run(client: Client, text: str, error: NotFound) -> NotFound:
    if text.isdigit():
        return NotFound(f"there is no run {text}", "see jobctl runs", details=error.details)
    return no_such(client, text, error, "job or run")


def active_runs(client: Client, text: str) -> list[Json]:
    """A run by its id, or the active runs of a job by the job's name."""
    if text.isdigit():
        try:
            return [client.run(text)]
        except NotFound:
            pass
    try:
        job = named_job(client, text)
    except NotFound as error:
        return [_only(_active_called(client, text, error), text)]
    runs = [run for run in client.job_runs(job["id"], limit=100) if not run["finished_at"] and run["state"] in _ACTIVE]
    if not runs:
        raise Conflict(f"{job['name']} has no active run", f"see its history: jobctl runs {job['name']}")
    return runs


def _active_called(client: Client, name: str, error: NotFound) -> list[Json]:
    runs = list(runs_called(client, name, state=",".join(_ACTIVE)))
    if not runs and next(runs_called(client, name, 1), None) is not None:
        raise Conflict(f"no run of {name} is active", f"see its history: jobctl runs {name}")
    if not runs:
        raise _no_such_run(client, name, error) from error
    return runs


def _only(runs: list[Json], name: str) -> Json:
    """Commands that merely have a name in common are not stopped together."""
    if len(runs) > 1:
        ids = " ".join(str(run["id"]) for run in runs)
        raise Conflict(f"{len(runs)} runs of {name} are active: {ids}", "name those you mean by their ids")
    return runs[0]


_ACTIVE = ("scheduled", "ready", "running")
