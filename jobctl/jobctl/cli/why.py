"""`jobctl why`: says what became of a job's occurrences, and why."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.dead import count_words
from jobctl.cli.fate import Entry, Fate
from jobctl.cli.select import named_job, no_such, runs_called
from jobctl.cli.session import Session, instant
from jobctl.cli.upstream import starts_after
from jobctl.client.sync import Client
from jobctl.errors import NotFound
from jobctl.reading.times import Viewer, milliseconds, rfc3339

EXAMPLES = (
    ("jobctl why backup", "what became of its last occurrences"),
    ("jobctl why backup --at 03:00", "did it run then, and why not"),
    ("jobctl why backup --since 7d", ""),
    ('jobctl why backup --at "2026-12-01 03:00"', "also times to come"),
)
_DAY_MS = 86_400_000
_FIELDS = ("from", "to", "count", "run_id", "state", "reason", "words")


def verb(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="a job, by name or id; else a run")],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="one instant: `03:00` is the last such, `2026-12-01 03:00`"),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="everything since: `2h`, `2026-12-01`")
    ] = None,
) -> None:
    """Say why a job ran, ran late, or did not run: for one instant, or for its last occurrences.

    Where nothing was due, also of the occurrences before and after; many that did not run for the same reason are one
    line. Times are in the zone of the job, those you give and those you see.
    """
    session: Session = ctx.obj
    client = session.reader()
    try:
        found = named_job(client, job)
    except NotFound as error:
        _of_run(session, client, job, error)
        return
    zone = (found["schedule"] or {}).get("timezone")
    viewer = session.viewer_in(zone)
    fate = Fate(client, found, viewer)
    if at is not None:
        entries = fate.around(_last_such(session, at, zone))
    else:
        begin = instant(session, since, past=True, option="--since", zone=zone)
        entries = fate.since(begin, together=not session.render.machine)
    _print(session, client, viewer, found, entries, whole=at is None)


def _of_run(session: Session, client: Client, text: str, error: NotFound) -> None:
    """No job has this name: a run by its id, or the newest that had the name."""
    try:
        run = client.run(text) if text.isdigit() else next(runs_called(client, text, 1), None)
    except NotFound:
        run = None
    if run is None:
        raise no_such(client, text, error) from error
    viewer = session.viewer
    entry = Fate(client, {"id": run["job_id"]}, viewer).run(run)
    _print(session, client, viewer, {}, [entry], whole=False)


def _last_such(session: Session, text: str, zone: str | None) -> str:
    """An hour alone means the last time the clock showed it; `parse_when` takes the next."""
    moment = instant(session, text, zone=None if session.common.utc else zone)
    assert moment is not None
    if text.replace(":", "").strip().isdigit():
        at_ms = milliseconds(moment)
        return rfc3339(at_ms - _DAY_MS) if at_ms > session.world.clock.now_ms() else moment
    return moment


def _print(
    session: Session, client: Client, viewer: Viewer, job: dict[str, Any], entries: list[Entry], *, whole: bool
) -> None:
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.items(entries)
    elif render.output == "name":
        render.names(str(entry["run_id"]) for entry in entries if entry["run_id"] is not None)
    elif render.output == "csv":
        render.csv(_FIELDS, ([entry[field] for field in _FIELDS] for entry in entries))
    else:
        for entry in entries:
            place = f"{entry['place']}: " if entry.get("place") else ""
            render.flow(f"{place}{_span(viewer, entry)}   {entry['words']}")
        if whole:
            _now(session, client, viewer, job, nothing=not entries)


def _span(viewer: Viewer, entry: Entry) -> str:
    first = viewer.full(entry["from"])
    if not entry["to"] or entry["to"] == entry["from"]:
        return first
    return f"{first} to {viewer.full(entry['to'])} ({entry['count']}×)"


def _now(session: Session, client: Client, viewer: Viewer, job: dict[str, Any], *, nothing: bool) -> None:
    """What holds at this moment, after what was."""
    line = session.render.flow
    if nothing:
        line("nothing was due in that time")
    if job["error"]:
        line(f"now: parked, its schedule cannot be expanded: {job['error']}")
    held = describe.held_and_ended(job, viewer)
    if held:
        line(f"now: {held}")
    elif job["next_run_at"]:
        line(f"next: {viewer.full(job['next_run_at'])}, {viewer.ago(job['next_run_at'])}")
    elif not job["schedule"]:
        line(f"it runs by hand only: jobctl run {job['name']}")
    if upstream := starts_after(client, job, viewer):
        line(upstream)
    if job["dead"]:
        line(f"{count_words(job['dead'])}: jobctl dlq ls {job['name']}")
