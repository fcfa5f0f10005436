"""`jobctl ls`: jobs with their state, next run and last result."""

from collections import Counter
from typing import Any

import typer

from jobctl.cli import describe
from jobctl.cli.select import All, Names, Owner, Query, Queue, Selector, State, Tag, named_jobs
from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.client.sync import Client

EXAMPLES = (
    ("jobctl ls", ""),
    ("jobctl ls --state failed", "what needs a look"),
    ("jobctl ls -o wide", "also ids, owners, zones and commands"),
    ("jobctl ls -o name --tag nightly", "names only, for a script"),
    ("jobctl ls --json | jq '.items[].next_run_at'", ""),
)
FIELDS = (
    "id", "name", "state", "owner", "queue", "schedule.words", "schedule.timezone", "next_run_at", "last_run.id",
    "last_run.state", "last_run.exit_code", "last_run.finished_at", "target", "tags", "note",
)  # fmt: skip
_COLUMNS = (
    Column("STATE"),
    Column("NAME", shrinks=8),
    Column("SCHEDULE", shrinks=9, drops=1),
    Column("NEXT"),
    Column("LAST", shrinks=8),
)
_OPTIONS = ("-q", "--state", "--queue", "--owner", "--tag")
_WIDE = (
    Column("ID", right=True), Column("STATE"), Column("NAME", shrinks=12), Column("SCHEDULE", shrinks=11),
    Column("ZONE"), Column("NEXT"), Column("LAST"), Column("OWNER"), Column("QUEUE"), Column("TAGS"),
    Column("COMMAND", shrinks=12),
)  # fmt: skip


def verb(
    ctx: typer.Context,
    names: Names = None,
    query: Query = None,
    state: State = None,
    queue: Queue = None,
    owner: Owner = None,
    tag: Tag = None,
    everything: All = False,
) -> None:
    """List jobs: state, next run, last result. One-shots that are done are left out without --all."""
    session: Session = ctx.obj
    client = session.reader()
    selector = Selector(list(names or ()), query, state, queue, owner, tag, everything)
    some = selector.names or selector.filters
    jobs = named_jobs(client, selector) if some else client.jobs(done=everything or None)
    session.render.listing(
        jobs,
        name=lambda job: str(job["name"]),
        fields=FIELDS,
        show=lambda items: show_table(session, items) if items else _nothing(session, client, selector),
    )


def _nothing(session: Session, client: Client, selector: Selector) -> None:
    if selector.filters:
        said = " ".join(f"{option} {value}" for option, value in zip(_OPTIONS, _values(selector), strict=True) if value)
        session.render.word(f"no job matches {said}")
    elif not selector.all and next(client.jobs(limit=1, done=True), None) is not None:
        session.render.word("every job is done: jobctl ls --all shows them")
    else:
        session.render.word('no jobs; add one: jobctl add NAME --cron "0 3 * * *" -- COMMAND')


def _values(selector: Selector) -> list[str | None]:
    return [selector.query, selector.state, selector.queue, selector.owner, selector.tag]


def show_table(session: Session, jobs: list[dict[str, Any]]) -> None:
    """The table for people, and on stderr how many there are and what is wrong with them."""
    render, viewer = session.render, session.viewer
    wide = render.output == "wide"
    rows = []
    for job in jobs:
        last = describe.last_run(job, viewer)
        if job["state"] == "paused":
            last = Cell(f"paused {describe.paused(job, viewer)}", "paused")
        next_run, state = describe.next_run(job, viewer), describe.job_state(job)
        plan = describe.schedule(job)
        if wide:
            zone = (job.get("schedule") or {}).get("timezone")
            rows.append(
                [job["id"], state, job["name"], plan, zone, next_run, last, job["owner"], job["queue"],
                 " ".join(job["tags"]), describe.target(job)]
            )  # fmt: skip
        else:
            rows.append([state, job["name"], plan, next_run, last])
    render.table(_WIDE if wide else _COLUMNS, rows)
    if render.out.terminal:
        render.word(_footer(jobs))


def _footer(jobs: list[dict[str, Any]]) -> str:
    counts = Counter(str(job["state"]) for job in jobs)
    parts = [f"{counts[word]} {word}" for word in ("failed", "parked", "running", "paused") if counts[word]]
    number = f"{len(jobs)} job" + ("" if len(jobs) == 1 else "s")
    return f"{number}: {', '.join(parts)}" if parts else number
