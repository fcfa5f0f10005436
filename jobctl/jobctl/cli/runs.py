"""`jobctl runs`: the history, newest first, active runs included."""

from typing import Annotated, Any, Final

import typer

from jobctl.cli import describe
from jobctl.cli.runs_listed import FIELDS, listed
from jobctl.cli.select import checked_words
from jobctl.cli.session import Session, instant
from jobctl.cli.table import Cell, Column
from jobctl.cli.verbs import FILTER_HELP, RUN_STATES

EXAMPLES = (
    ("jobctl runs", "what ran lately"),
    ("jobctl runs -f", "and what begins and ends from now on"),
    ("jobctl runs backup --state failed,dead", "when did it fail"),
    ("jobctl runs --since 2h", "the last two hours"),
    ("jobctl runs -q 'class:timed_out tag:nightly dur>1h'", ""),
    ("jobctl runs backup --json --limit 1", ""),
)
_LISTED: Final = 30
_FOLLOWED: Final = 10
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
    query: Annotated[
        str | None, typer.Option("-q", "--query", metavar="FILTER", help=f"runs that match: {FILTER_HELP}")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="due at or after: `2h`, `2026-12-01`")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("-n", "--limit", metavar="N", min=1, help="at most so many (30; with -f 10)")
    ] = None,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="a line for each run that begins or ends from now on")
    ] = False,
) -> None:
    """List runs, newest first, active and finished alike.

    With -f the last ones come first, oldest at the top, and then a line whenever a run begins or ends, until ctrl-c:
    also over a restart of the daemon, none left out and none twice.
    """
    session: Session = ctx.obj
    client = session.reader()
    checked_words("--state", state, RUN_STATES)
    filters = {"state": state, "q": query, "since": instant(session, since, past=True, option="--since")}
    if follow:
        from jobctl.cli.runs_followed import follow_runs

        follow_runs(session, client, job, limit or _FOLLOWED, filters)
        return
    runs = listed(client, job, limit or _LISTED, filters)
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
