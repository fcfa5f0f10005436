"""`jobctl ls`: jobs with their state, next run and last result."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import typer

from jobctl.cli import describe
from jobctl.cli.lines_of import lines_of
from jobctl.cli.names import kept
from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.client.sync import Client
from jobctl.reading.times import took

EXAMPLES = (
    ("jobctl ls", ""),
    ("jobctl ls --state failed,dead,quarantined", "what needs a look"),
    ("jobctl ls -q 'state:failed -tag:test next<1h'", "see `jobctl help filters`"),
    ("jobctl ls -o wide", "also ids, tags, owners, commands, the last ten runs and how long they take"),
    ("jobctl ls -o name --tag nightly", "names only, for a script"),
    ("jobctl ls --json | jq '.items[].next_run_at'", ""),
)
FIELDS = (
    "id", "name", "state", "owner", "queue", "schedule.words", "schedule.timezone", "next_run_at", "last_run.id",
    "last_run.state", "last_run.exit_code", "last_run.finished_at", "target", "tags", "note", "quarantined", "dead",
    "skipping", "priority", "running", "retrying", "source", "declared",
)  # fmt: skip
_COLUMNS = (
    Column("STATE"),
    Column("NAME", shrinks=8),
    Column("SCHEDULE", shrinks=9, drops=1),
    Column("NEXT"),
    Column("LAST", shrinks=8),
)
#: Where jobs of several owners are listed: two may have one name.
_OWNER = Column("OWNER", shrinks=6)
_OPTIONS = ("-q", "--state", "--queue", "--owner", "--tag")
_WIDE = (
    Column("ID", right=True), Column("STATE"), Column("NAME", shrinks=12), Column("SCHEDULE", shrinks=11),
    Column("ZONE", drops=1), Column("NEXT"), Column("LAST"), Column("LAST 10", drops=9),
    Column("HALF", drops=8, right=True), Column("95 %", drops=7, right=True), Column("OWNER", drops=5),
    Column("QUEUE", drops=2), Column("TAGS", drops=6), Column("FROM", shrinks=10, drops=3),
    Column("COMMAND", shrinks=12, drops=4),
)  # fmt: skip


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
) -> None:
    """List jobs: state, next run, last result. One-shots that are done are left out without --all."""
    session: Session = ctx.obj
    client = session.reader()
    narrowed = bool(which.names or which.filters)
    jobs: Iterable[dict[str, Any]]
    jobs = named_jobs(client, which) if narrowed else kept(session, client.jobs(done=which.all or None))
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
    wide = session.render.output == "wide"
    more = lines_of(client, [int(job["id"]) for job in jobs]) if wide else {}
    show_table(session, jobs, _active(client, jobs), more)


def _active(client: Client, jobs: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Active runs by the ids of those jobs of which they say more than the last run does."""
    told: dict[int, list[dict[str, Any]]] = {
        job["id"]: [] for job in jobs if job["retrying"] or (job["running"] and job["skipping"])
    }
    for run in client.runs(state="ready,running") if told else ():
        if run["job_id"] in told:
            told[run["job_id"]].append(run)
    return told


def show_table(
    session: Session,
    jobs: list[dict[str, Any]],
    active: dict[int, list[dict[str, Any]]],
    more: Mapping[int, dict[str, Any]] = MappingProxyType({}),
) -> None:
    """The table for people, and on stderr how many there are and what is wrong with them. `more` is for the wide one:
    how their last runs went, and how long they usually take."""
    render, viewer = session.render, session.viewer
    wide, owned = render.output == "wide", len({job["owner"] for job in jobs}) > 1
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
            zone, line = (job.get("schedule") or {}).get("timezone"), more.get(job["id"], {})
            next_run = _with_left_out(next_run, line)
            rows.append(
                [job["id"], state, job["name"], plan, zone, next_run, last, line.get("recent"),
                 _took(line.get("p50")), _took(line.get("p95")), job["owner"], job["queue"],
                 " ".join(job["tags"]), describe.origin(job), describe.target(job)]
            )  # fmt: skip
        else:
            rows.append([state, job["name"], *([job["owner"]] if owned else []), plan, next_run, last])
    narrow = (*_COLUMNS[:2], _OWNER, *_COLUMNS[2:]) if owned else _COLUMNS
    render.table(_WIDE if wide else narrow, rows)
    if render.out.terminal:
        render.word(_footer(jobs))


def _with_left_out(next_run: Cell, line: Mapping[str, Any]) -> Cell:
    """What of its times before that is left out because somebody asked for it."""
    found = line.get("skips")
    return next_run._replace(text=f"{next_run.text}, {found['count']} left out") if found else next_run


def _took(seconds: float | None) -> str:
    return "" if seconds is None else took(seconds)


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
