"""Which dead letters a verb is about: runs, a job, or filters that all must hold; and how they are told."""

from typing import Annotated, Any, Final, NamedTuple

import typer

from jobctl.cli import describe
from jobctl.cli.select import checked_words, find_job
from jobctl.cli.session import Session, instant
from jobctl.cli.verbs import FAILURE_CLASSES, FILTER_HELP
from jobctl.client.sync import Client
from jobctl.client.transport import Json
from jobctl.errors import InvalidInput

_PANEL = "Which dead letters"
#: So many are replayed or discarded with one request.
AT_ONCE_MAX: Final = 1000
_CLASSES = ", ".join(FAILURE_CLASSES)


class DeadFilter(NamedTuple):
    """Options that narrow the dead letters down."""

    failure_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help=f"that failed so: {_CLASSES}", rich_help_panel=_PANEL)
    ] = None
    fingerprint: Annotated[
        str | None,
        typer.Option("--fingerprint", metavar="HASH", help="of one group of `jobctl dlq ls`", rich_help_panel=_PANEL),
    ] = None
    query: Annotated[
        str | None,
        typer.Option("-q", "--query", metavar="FILTER", help=f"that match: {FILTER_HELP}", rich_help_panel=_PANEL),
    ] = None
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="died at or after: `2h`, `2026-12-01`", rich_help_panel=_PANEL),
    ] = None
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="died before: `2h`, `2026-12-01`", rich_help_panel=_PANEL),
    ] = None

    def fields(self, session: Session) -> Json:
        """As the API takes them."""
        if self.failure_class is not None and len(checked_words("--class", self.failure_class, FAILURE_CLASSES)) != 1:
            raise InvalidInput("--class takes one class", f"one of {_CLASSES}", field="--class")
        named = {
            "class": self.failure_class,
            "fingerprint": self.fingerprint,
            "q": self.query,
            "since": instant(session, self.since, past=True, option="--since"),
            "until": instant(session, self.until, past=True, option="--until"),
        }
        return {name: value for name, value in named.items() if value is not None}


Which = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RUN…|JOB]", help="ids of dead letters, or a job for all of its", show_default=False),
]
All = Annotated[bool, typer.Option("--all", help="every dead letter", rich_help_panel=_PANEL)]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="do not ask")]


class Wanted(NamedTuple):
    """The dead letters that were asked for, as the API takes them; `bulk` when they were not named one by one."""

    fields: Json
    bulk: bool

    @property
    def filters(self) -> Json:
        """For a list."""
        return {name: value for name, value in self.fields.items() if name != "all"}


def wanted(session: Session, client: Client, words: list[str] | None, narrowed: DeadFilter, *, every: bool) -> Wanted:
    """Runs by their ids; or those of a job, narrowed down or not; or with filters alone; or all of them."""
    names, filters = words or [], narrowed.fields(session)
    if names and every:
        raise InvalidInput("say which, or --all, not both", "leave one of them out")
    if names and all(name.isdigit() for name in names):
        if filters:
            raise InvalidInput("say runs or filters, not both", "leave one of them out")
        return Wanted({"ids": list(dict.fromkeys(map(int, names)))}, bulk=False)
    if len(names) > 1:
        raise InvalidInput("several runs by their ids, or one job", "repeat it for each job, or filter with -q")
    if names:
        return Wanted({"job": str(find_job(client, names[0])["id"]), **filters}, bulk=True)
    if not filters and not every:
        raise InvalidInput(
            "which dead letters?", "name runs or a job, filter with --class, --fingerprint, -q, or say --all"
        )
    return Wanted(filters or {"all": True}, bulk=True)


def parts(ids: list[int]) -> list[list[int]]:
    """As many requests as it takes."""
    return [ids[at : at + AT_ONCE_MAX] for at in range(0, len(ids), AT_ONCE_MAX)]


def count_words(number: int) -> str:
    return f"{number} dead letter" + ("" if number == 1 else "s")


def why(run: dict[str, Any]) -> str:
    """In short how it failed, and the line that says it."""
    line = describe.first_line(run["error"])
    return f"{describe.failure(run)}: {line}" if line else describe.failure(run)
