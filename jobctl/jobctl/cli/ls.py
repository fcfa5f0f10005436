"""`jobctl ls`: jobs with their state, next run and last result."""

from collections import Counter
from typing import Any

import typer

from jobctl.cli import describe
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.client.sync import Client

EXAMPLES = (
    ("jobctl ls", ""),
    ("jobctl ls --state failed,dead,quarantined", "what needs a look"),
    ("jobctl ls -o wide", "also ids, owners, zones and commands"),
    ("jobctl ls -o name --tag nightly", "names only, for a script"),
    ("jobctl ls --json | jq '.items[].next_run_at'", ""),
)
FIELDS = (
    "id", "name", "state", "owner", "queue", "schedule.words", "schedule.timezone", "next_run_at", "last_run.id",
    "last_run.state", "last_run.exit_code", "last_run.finished_at", "target", "tags", "note", "quarantined", "dead",
    "skipping", "priority", "running", "retrying",
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


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
) -> None:
    """List jobs: state, next run, last result. One-shots that are done are left out without --all."""
    session: Session = ctx.obj
    client = session.reader()
    jobs = named_jobs(client, which) if which.names or which.filters else client.jobs(done=which.all or None)
    session.render.listing(
        jobs,
        name=lambda job: str(job["name"]),
        fields=FIELDS,
        show=lambda items: _show(session, client, items) if items else _nothing(session, client, which),
    )


def _nothing(session: Session, client: Client, which: Selector) -> None:
    if which.filters:
        said = " ".join(f"{option} {value}" for option, value in zip(_OPTIONS, _values(which), strict=True) if value)
        session.render.word(f"no job matches {said}")
    elif not which.all and next(client.jobs(limit=1, done=True), None) is not None:
        session.render.word("every job is done: jobctl ls --all shows them")
    else:
        session.render.word('no jobs; add one: jobctl add NAME --cron "0 3 * * *" -- COMMAND')


def _values(which: Selector) -> list[str | None]:
    return [which.query, which.state, which.queue, which.owner, which.tag]


def _show(session: Session, client: Client, jobs: list[dict[str, Any]]) -> None:
    show_table(session, jobs, _active(client, jobs))


def _active(client: Client, jobs: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Active runs by the ids of those jobs of which they say more than the last run does."""
    told: dict[int, list[dict[str, Any]]] = {
        job["id"]: [] for job in jobs if job["retrying"] or (job["running"] and job["skipping"])
    }
    for run in client.runs(state="ready,running") if told else ():
        if run["job_id"] in told:
            told[run["job_id"]].append(run)
    return told


def show_table(session: Session, jobs: list[dict[str, Any]], active: dict[int, list[dict[str, Any]]]) -> None:
    """The table for people, and on stderr how many there are and what is wrong with them."""
    render, viewer = session.render, session.viewer
    wide = render.output == "wide"
    rows = []
    clock = viewer.alike(job["next_run_at"] for job in jobs)
    for job in jobs:
        last = describe.last_run(job, viewer, active.get(job["id"], ()))
        held = describe.held_and_ended(job, viewer)
        if held:
            last = Cell(held, held.partition(" ")[0].strip(":"), "bad" if job["quarantined"] else "")
        next_run, state = describe.next_run(job, viewer, clock), describe.job_state(job)
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
    counts["quarantined"] = sum(bool(job["quarantined"]) for job in jobs)
    counts["paused"] -= counts["quarantined"]
    words = ("failed", "parked", "quarantined", "running", "paused")
    parts = [f"{counts[word]} {word}" for word in words if counts[word]]
    dead, skipping = sum(int(job["dead"]) for job in jobs), sum(map(describe.keeps_skipping, jobs))
    parts += [f"{dead} dead letter{'' if dead == 1 else 's'}"] if dead else []
    parts += [f"{skipping} skipping"] if skipping else []
    number = f"{len(jobs)} job" + ("" if len(jobs) == 1 else "s")
    return f"{number}: {', '.join(parts)}" if parts else number
