"""`jobctl runs`: the history, newest first, active runs included."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.select import find_job
from jobctl.cli.session import Session, instant
from jobctl.cli.table import Cell, Column

EXAMPLES = (
    ("jobctl runs", "what ran lately"),
    ("jobctl runs backup --state failed", "when did it fail"),
    ("jobctl runs --since 2h", "the last two hours"),
    ("jobctl runs backup --json --limit 1", ""),
)
FIELDS = (
    "id", "job", "trigger", "scheduled_at", "started_at", "finished_at", "state", "class", "exit_code", "signal",
    "reason", "attempt", "late", "key",
)  # fmt: skip
_COLUMNS = (Column("RUN", right=True), Column("JOB", shrinks=8), Column("STARTED", drops=2), Column("TOOK", drops=3),
            Column("RESULT"), Column("TRIGGER", drops=1))  # fmt: skip
_WIDE = (*_COLUMNS, Column("SCHEDULED"), Column("ATTEMPT", right=True), Column("KEY", shrinks=12))


def verb(
    ctx: typer.Context,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="runs of one job", show_default=False)] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE", help="scheduled, ready, running, succeeded, failed, cancelled or skipped"
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="due at or after: `2h`, `2026-12-01`")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", metavar="N", min=1, help="at most so many (30)")] = 30,
) -> None:
    """List runs, newest first, active and finished alike."""
    session: Session = ctx.obj
    client = session.reader()
    filters = {"state": state, "since": instant(session, since, past=True, option="--since")}
    if job is None:
        runs = client.runs(limit=limit, **filters)
    else:
        runs = client.job_runs(find_job(client, job)["id"], limit=limit, **filters)
    session.render.listing(
        runs, name=lambda run: str(run["id"]), fields=FIELDS, show=lambda items: show_table(session, items)
    )


def show_table(session: Session, runs: list[dict[str, Any]]) -> None:
    render, viewer = session.render, session.viewer
    if not runs:
        render.word("no runs")
        return
    wide = render.output == "wide"
    rows = []
    for run in runs:
        at = run["started_at"] or run["due_at"]
        relative = viewer.ago(at)
        word = describe.outcome(run) + (" (late)" if run.get("late") else "")
        result = describe.state(run["state"])._replace(text=word)
        row = [run["id"], run["job"], Cell(f"{viewer.clock(at)}, {relative}", relative),
               describe.run_time(run, viewer), result, run["trigger"]]  # fmt: skip
        if wide:
            row += [viewer.full(run["scheduled_at"]), f"{run['attempt']}/{run['max_attempts']}", run["key"]]
        rows.append(row)
    render.table(_WIDE if wide else _COLUMNS, rows)
