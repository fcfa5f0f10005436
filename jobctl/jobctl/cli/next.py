"""`jobctl next`: when a schedule or a job fires."""

import os
from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.expression import is_expression, preview_of
from jobctl.cli.select import find_job, zone_of
from jobctl.cli.session import Session, instant
from jobctl.cli.table import Cell, Column
from jobctl.cli.verbs import FILTER_HELP
from jobctl.errors import CallerError, InvalidInput
from jobctl.reading.times import Viewer, milliseconds, no_time, of_fire, short_fire

EXAMPLES = (
    ('jobctl next "0 3 * * *"', "needs no daemon"),
    ('jobctl next "30 2 * * *" --tz Europe/Berlin --from 2027-03-27', "around a clock change"),
    ("jobctl next backup -n 3", "a job, with its own zone"),
    ("jobctl next --all --hours 6", "what all jobs will do"),
    ('jobctl next "30 2 * * *" --json | jq .transitions', "also the clock changes of a year"),
)
Json = dict[str, Any]

_FIELDS = 5
_FIRES = 5
_HOURS = 24
NOTES = {"gap": "the clock goes forward over it", "overlap": "the clock goes back: this time occurs twice"}

What = Annotated[
    list[str], typer.Argument(metavar="EXPRESSION|JOB", help="five fields, @daily, `every 10m`; else a job")
]
_Perhaps = Annotated[
    list[str] | None,
    typer.Argument(metavar="EXPRESSION|JOB", help="five fields, @daily, `every 10m`; else a job", show_default=False),
]
_OVERVIEW = "What is coming, of all jobs"
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="zone of an expression; else the host's")]


def verb(
    ctx: typer.Context,
    what: _Perhaps = None,
    n: Annotated[
        int | None, typer.Option("-n", "--number", metavar="N", min=0, max=1000, help="how many fires (5); jobs (all)")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="after this instant instead of now")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="not after this instant")] = None,
    tz: Zone = None,
    every: Annotated[
        bool, typer.Option("--all", help="what the next hours hold, a line for each job", rich_help_panel=_OVERVIEW)
    ] = False,
    hours: Annotated[
        int | None,
        typer.Option("--hours", metavar="N", min=1, max=192, help="so many hours (24)", rich_help_panel=_OVERVIEW),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "-q", "--query", metavar="FILTER", help=f"jobs that match: {FILTER_HELP}", rich_help_panel=_OVERVIEW
        ),
    ] = None,
) -> None:
    """Show the next fires of an expression or of a job, with zone and clock changes.

    With --all what the next 24 hours hold: when each job fires, how often, how long it usually takes, how many would
    run at once, in which minutes many fire together, and clock changes.
    """
    session: Session = ctx.obj
    if every:
        _show_all(session, what, n, [since, until, tz], hours=hours, query=query)
        return
    if not what:
        raise InvalidInput("of what? an expression or a job", "jobctl next --all shows what is coming of all jobs")
    if hours is not None or query is not None:
        raise InvalidInput("--hours and -q go with --all", "leave them out, or say --all")
    found, job = preview_for(session, what, n=_FIRES if n is None else n, since=since, until=until, zone=tz)
    render = session.render
    if render.output == "json":
        render.json({**found, "next": None})
    elif render.output == "ndjson":
        render.items(found["items"])
    elif render.output in {"name", "csv"}:
        render.names(fire["at"] for fire in found["items"])
    elif not found["items"]:
        never = no_time(found["words"])
        later = never.startswith("never") and until is not None
        render.word("it does not fire before then" if later else never)
    else:
        show_fires(session, found["items"], job)
        if job is not None and since is None and until is None:
            _tell_left_out(session, job)


def _tell_left_out(session: Session, job: Json) -> None:
    """What an older daemon says nothing of."""
    from jobctl.cli.upcoming import left_out

    try:
        items = session.reader().upcoming(job=job["id"])["items"]
    except CallerError:
        return
    for line in left_out([item for item in items if item["id"] == job["id"]], session.viewer):
        session.render.word(line)


def _show_all(
    session: Session, what: list[str] | None, n: int | None, others: list[str | None], *, hours: int | None,
    query: str | None,
) -> None:  # fmt: skip
    from jobctl.cli.upcoming import show_upcoming

    if what or any(others):
        raise InvalidInput("--all is of all jobs, from now on", "with it go -n, --hours and -q")
    show_upcoming(session, session.reader(), hours=hours or _HOURS, query=query, limit=n)


def preview_for(
    session: Session, what: list[str], *, n: int, since: str | None, until: str | None, zone: str | None
) -> tuple[Json, Json | None]:
    """The Preview of an expression, computed here, or of a job, asked of the daemon; and that job."""
    text = " ".join(what)
    if is_expression(text):
        _unexpanded(what)
        first, last = _span(session, since, until, zone)
        now_ms = milliseconds(first) if first else session.world.clock.now_ms()
        return preview_of(text, now_ms=now_ms, n=n, until_ms=milliseconds(last) if last else None, zone=zone), None
    if zone is not None:
        raise InvalidInput("a job has its own zone", "--tz is for expressions", field="--tz")
    _span(session, since, until, None)  # what is wrong by itself is told without a daemon
    client = session.reader()
    job = find_job(client, text)
    if since is not None or until is not None:
        zone = None if session.common.utc else zone_of(client, job)
    return client.job_next(job["id"], n, *_span(session, since, until, zone)), job


def _span(session: Session, since: str | None, until: str | None, zone: str | None) -> tuple[str | None, str | None]:
    return (
        instant(session, since, option="--from", zone=zone),
        instant(session, until, option="--until", zone=zone),
    )


def _unexpanded(what: list[str]) -> None:
    """Without quotes a shell puts the names of files in place of `*`."""
    if len(what) > _FIELDS and any(os.path.lexists(word) for word in what):
        raise InvalidInput(
            f"{len(what)} words: the shell has put names of files in place of *",
            'put the expression in quotes, as in "0 3 * * *"',
        )


def show_fires(session: Session, fires: list[Json], job: Json | None) -> None:
    """`job`: whose they are; a pause may hold it then."""
    viewer = session.viewer
    columns = [Column("NEXT"), Column("IN", drops=2), Column("UTC", drops=1)]
    rows: list[list[Cell | str | int | None]] = [
        [Cell(of_fire(fire), short_fire(fire)), viewer.ago(fire["at"]), fire["at"]] for fire in fires
    ]
    notes = [_note(fire, job, viewer) for fire in fires]
    if any(note.text for note in notes):
        columns.append(Column("NOTE"))
        rows = [[*row, note] for row, note in zip(rows, notes, strict=True)]
    session.render.table(columns, rows)


def _note(fire: Json, job: Json | None, viewer: Viewer) -> Cell:
    held = describe.held_then(job, fire["at"], viewer)
    texts, short = [NOTES.get(fire["note"] or "", ""), held], [fire["note"] or "", held and "paused"]
    return Cell(", ".join(filter(None, texts)), ", ".join(filter(None, short)))
