"""`jobctl runs`: the history, newest first, active runs included."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.select import checked_words, named_job, no_such, runs_called
from jobctl.cli.session import Session, instant
from jobctl.cli.table import Cell, Column
from jobctl.cli.verbs import RUN_STATES
from jobctl.client.sync import Client
from jobctl.errors import NotFound

EXAMPLES = (
    ("jobctl runs", "what ran lately"),
    ("jobctl runs backup --state failed,dead", "when did it fail"),
    ("jobctl runs --since 2h", "the last two hours"),
    ("jobctl runs backup --json --limit 1", ""),
)
FIELDS = (
    "id", "job", "trigger", "scheduled_at", "started_at", "finished_at", "state", "class", "exit_code", "signal",
    "reason", "attempt", "late", "key", "replays", "retry_of", "error",
)  # fmt: skip
_COLUMNS = (Column("RUN", right=True), Column("JOB", shrinks=8), Column("STARTED", drops=2), Column("TOOK", drops=3),
            Column("RESULT"), Column("TRIGGER", drops=1))  # fmt: skip
_WIDE = (
    *_COLUMNS,
    Column("SCHEDULED"),
    Column("ATTEMPT", right=True),
    Column("KEY", shrinks=12),
    Column("REASON", shrinks=12),
)


def verb(
    ctx: typer.Context,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="runs of one job", show_default=False)] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help="runs in a state: " + ", ".join(RUN_STATES)),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="due at or after: `2h`, `2026-12-01`")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", metavar="N", min=1, help="at most so many (30)")] = 30,
) -> None:
    """List runs, newest first, active and finished alike."""
    session: Session = ctx.obj
    client = session.reader()
    checked_words("--state", state, RUN_STATES)
    filters = {"state": state, "since": instant(session, since, past=True, option="--since")}
    runs = client.runs(limit=limit, **filters) if job is None else _of(client, job, limit, filters)
    session.render.listing(
        runs, name=lambda run: str(run["id"]), fields=FIELDS, show=lambda items: show_table(session, items)
    )


def _of(client: Client, name: str, limit: int, filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a job; without one, runs that had such a name: their job is gone, or they were commands run once."""
    try:
        job = named_job(client, name)
    except NotFound as error:
        found = list(runs_called(client, name, limit, **filters))
        if not found and next(runs_called(client, name, 1), None) is None:
            raise no_such(client, name, error) from error
        return iter(found)
    return client.job_runs(job["id"], limit=limit, **filters)


def show_table(session: Session, runs: list[dict[str, Any]]) -> None:
    render, viewer = session.render, session.viewer
    if not runs:
        render.word("no runs")
        return
    wide = render.output == "wide"
    rows = []
    clock = viewer.alike(run["started_at"] for run in runs)
    for run in runs:
        at = run["started_at"]
        started = Cell(f"{clock(at)}, {viewer.ago(at)}", viewer.ago(at)) if at else Cell("")
        word = describe.result(run, viewer) + (" (late)" if run.get("late") else "")
        result = describe.state(run["state"])._replace(text=word)
        row = [run["id"], run["job"], started, describe.run_time(run, viewer), result, run["trigger"]]
        if wide:
            row += [
                viewer.full(run["scheduled_at"]),
                f"{run['attempt']}/{run['max_attempts']}",
                run["key"],
                run["reason"],
            ]
        rows.append(row)
    render.table(_WIDE if wide else _COLUMNS, rows)
