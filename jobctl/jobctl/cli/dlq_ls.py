"""`jobctl dlq ls`: what failed for good and waits for somebody."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.dead import DeadFilter, count_words
from jobctl.cli.options import grouped
from jobctl.cli.select import find_job
from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.errors import InvalidInput
from jobctl.reading import spawning

EXAMPLES = (
    ("jobctl dlq ls", "by how they failed"),
    ("jobctl dlq ls backup --runs", "each of one job"),
    ("jobctl dlq ls --since 24h --class timed_out", ""),
    ("jobctl dlq ls --json | jq '.items[] | {id, job, error}'", "for programs: each; --groups for groups"),
)
FIELDS = (
    "id", "job", "class", "exit_code", "signal", "reason", "error", "finished_at", "attempt", "replays", "fingerprint",
    "key",
)  # fmt: skip
GROUP_FIELDS = (
    "fingerprint", "count", "jobs", "class", "reason", "error", "first_at", "last_at", "replays", "newest_run_id",
)  # fmt: skip
_GROUPS = (
    Column("COUNT", right=True), Column("JOBS", shrinks=8), Column("FAILED", shrinks=10),
    Column("ERROR", shrinks=8, drops=4), Column("LAST", drops=3), Column("REPLAYS", drops=1, right=True),
    Column("NEWEST", drops=2, right=True), Column("FINGERPRINT"),
)  # fmt: skip
_GROUPS_WIDE = (*_GROUPS[:5], Column("SINCE"), *_GROUPS[5:], Column("REASON", shrinks=12))
_RUNS = (
    Column("RUN", right=True), Column("JOB", shrinks=8), Column("DIED", drops=2), Column("FAILED", shrinks=8),
    Column("ERROR", shrinks=8), Column("ATTEMPTS", drops=1, right=True), Column("REPLAYS", drops=1, right=True),
)  # fmt: skip
_RUNS_WIDE = (*_RUNS, Column("FINGERPRINT"), Column("REASON", shrinks=12), Column("KEY", shrinks=12))


@grouped
def verb(
    ctx: typer.Context,
    narrowed: DeadFilter,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="of one job", show_default=False)] = None,
    runs: Annotated[bool, typer.Option("--all", "--runs", help="each of them, newest first")] = False,
    groups: Annotated[bool, typer.Option("--groups", help="groups, also with --json, -o csv and -o name")] = False,
) -> None:
    """List dead letters: runs that failed for good. For people by how they failed, for programs each of them.

    A group is what failed in the same way: the same class, and the same error but for its numbers and names.
    """
    session: Session = ctx.obj
    if runs and groups:
        raise InvalidInput("--runs and --groups exclude each other", "leave one of them out")
    client, render = session.reader(), session.render
    filters = narrowed.fields(session)
    if job is not None:
        filters["job"] = find_job(client, job)["id"]
    if groups or not (runs or render.machine):
        render.listing(
            client.dead_groups(**filters),
            name=lambda group: str(group["fingerprint"]),
            fields=GROUP_FIELDS,
            show=lambda items: _show_groups(session, items, narrowed=bool(filters)),
        )
        return
    render.listing(
        client.dead(**filters),
        name=lambda run: str(run["id"]),
        fields=FIELDS,
        show=lambda items: _show_runs(session, items, narrowed=bool(filters)),
    )


def _show_groups(session: Session, groups: list[dict[str, Any]], *, narrowed: bool) -> None:
    render, viewer = session.render, session.viewer
    if not groups:
        _nothing(session, narrowed=narrowed)
        return
    wide = render.output == "wide"
    rows: list[list[Any]] = []
    for group in groups:
        failed = Cell(describe.failure(group), style="bad")
        row = [group["count"], _jobs(group["jobs"]), failed, _said(group),
               viewer.ago(group["last_at"]), group["replays"], group["newest_run_id"],
               group["fingerprint"]]  # fmt: skip
        if wide:
            row.insert(5, viewer.ago(group["first_at"]))
            row.append(group["reason"])
        rows.append(row)
    render.table(_GROUPS_WIDE if wide else _GROUPS, rows)
    if render.out.terminal:
        total = count_words(sum(int(group["count"]) for group in groups))
        in_groups = "1 group" if len(groups) == 1 else f"{len(groups)} groups"
        render.word(f"{total} in {in_groups}; one: jobctl dlq show {groups[0]['newest_run_id']}; "
                    f"again: jobctl dlq replay --fingerprint {groups[0]['fingerprint']}")  # fmt: skip


def _show_runs(session: Session, runs: list[dict[str, Any]], *, narrowed: bool) -> None:
    render, viewer = session.render, session.viewer
    if not runs:
        _nothing(session, narrowed=narrowed)
        return
    wide = render.output == "wide"
    rows: list[list[Any]] = []
    clock = viewer.alike(run["finished_at"] for run in runs)
    for run in runs:
        relative = viewer.ago(run["finished_at"])
        died = Cell(f"{clock(run['finished_at'])}, {relative}", relative)
        row = [run["id"], run["job"], died, Cell(describe.failure(run), style="bad"),
               _said(run), run["attempt"], run["replays"]]  # fmt: skip
        if wide:
            row += [run["fingerprint"], run["reason"], run["key"]]
        rows.append(row)
    render.table(_RUNS_WIDE if wide else _RUNS, rows)
    if render.out.terminal:
        newest = runs[0]["id"]
        render.word(f"{count_words(len(runs))}; jobctl dlq show {newest}, jobctl dlq replay {newest}")


def _said(found: dict[str, Any]) -> str:
    """What it printed last; of what could not start, and so printed nothing, why."""
    said = describe.first_line(found["error"])
    if said or found["class"] != "spawn_error":
        return said
    return spawning.in_words(describe.first_line(found["reason"])).removeprefix("it could not be started: ")


def _jobs(names: list[str]) -> Cell:
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return Cell(", ".join(names), f"{names[0]}{more}" if names else "")


def _nothing(session: Session, *, narrowed: bool) -> None:
    session.render.word("no dead letter matches" if narrowed else "no dead letters")
