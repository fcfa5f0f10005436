"""`jobctl queue ls`: what shares a limit and can be paused together."""

from typing import Any

import typer

from jobctl.cli import describe
from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column

EXAMPLES = (("jobctl queue ls", ""), ("jobctl queue ls --json | jq '.items[] | select(.paused)'", ""))
FIELDS = (
    "name", "concurrency", "jobs", "ready", "running", "paused", "paused_by", "paused_since", "paused_until",
    "paused_why",
)  # fmt: skip
_COLUMNS = (
    Column("QUEUE", shrinks=8), Column("LIMIT", right=True), Column("RUNNING", right=True),
    Column("READY", right=True), Column("JOBS", right=True, drops=1), Column("STATE", shrinks=8),
)  # fmt: skip


def verb(ctx: typer.Context) -> None:
    """List queues: those with jobs, and those that somebody set. Without a limit all slots are theirs."""
    session: Session = ctx.obj
    session.render.listing(
        session.reader().queues(),
        name=lambda queue: str(queue["name"]),
        fields=FIELDS,
        show=lambda items: _show(session, items),
    )


def _show(session: Session, queues: list[dict[str, Any]]) -> None:
    if not queues:
        session.render.word("no queues; a job is in one by jobctl add --queue NAME")
        return
    rows = []
    for queue in queues:
        paused = f"paused {describe.paused(queue, session.viewer)}".rstrip()
        state = Cell(paused, "paused", "warn") if queue["paused"] else Cell("open")
        limit = "none" if queue["concurrency"] is None else queue["concurrency"]
        rows.append([queue["name"], limit, queue["running"], queue["ready"], queue["jobs"], state])
    session.render.table(_COLUMNS, rows)
