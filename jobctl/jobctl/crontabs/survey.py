"""What an import is about: which tables, what becomes of each line, and which lines are at work elsewhere."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobctl.errors import JobctlError

from .commenting import lines_of
from .doubles import KnownTable, active_lines, identity_of_line
from .jobs import Origin, Planned, already, plan
from .live import LiveTable, host_tables
from .read import Dialect, read
from .record import TakenTable
from .report import TableReport
from .users import HostUsers

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the caller wants the lines read and named."""

    caller: str
    root: bool
    dialect: Dialect = "cronie"
    tz: str | None = None
    prefix: str = ""
    users: Container[str] | None = None


def survey(
    tables: Iterable[LiveTable], wishes: Wishes, jobs: list[Json], elsewhere: Iterable[KnownTable] = ()
) -> list[TableReport]:
    """Each table with its lines. `jobs` are those the daemon has; `elsewhere` what cron reads on this host."""
    taken = {str(job["name"]) for job in jobs}
    left = list(jobs)
    active = active_lines(elsewhere)
    reports = []
    for table in tables:
        origin = Origin(table.path, wishes.caller, table.owner, wishes.root)
        crontab = read(table.data, system=table.system, users=wishes.users or HostUsers(), dialect=wishes.dialect)
        planned = plan(crontab, origin, tz=wishes.tz, prefix=wishes.prefix, taken=taken)
        mine = already(planned, left)
        imported = {at: str(job["name"]) for at, job in mine.items()}
        used = {id(job) for job in mine.values()}
        left = [job for job in left if id(job) not in used]
        taken |= {one.name for one in planned}
        where = {
            at: active[identity]
            for at, one in enumerate(planned)
            if (identity := identity_of_line(one.item, origin)) in active
        }
        reports.append(TableReport(table.path, crontab, planned, imported, where))
    return reports


def known_tables(environ: Mapping[str, str], caller: str, uid: int) -> list[KnownTable]:
    """What cron runs on this host, as far as the caller may see it."""
    try:
        tables = host_tables(environ, caller, uid)
    except JobctlError:
        return []
    return [
        KnownTable(Origin(table.path, caller, table.owner), read(table.data, system=table.system, users=HostUsers()))
        for table in tables
    ]  # fmt: skip


def drafts_of(reports: Iterable[TableReport], *, live: bool) -> list[Json]:
    """The jobs to make. From a live table they wait, paused, until their lines are commented out; from a file those
    wait whose line is at work in some crontab."""
    return [
        {**one.draft, "paused": live or at in report.active}
        for report in reports
        for at, one in enumerate(report.planned)
        if one.draft is not None and at not in report.imported
    ]


def taken_tables(
    tables: Iterable[LiveTable], reports: Iterable[TableReport], jobs: Iterable[Json]
) -> tuple[list[TakenTable], list[bytes]]:
    """The tables that lose lines, and their bytes: lines of new jobs, and of earlier ones that are at work.

    A line that the daemon runs out of its table stays there: it is its job's definition.
    """
    left = {str(job["name"]) for job in jobs if job.get("paused") or job.get("declared")}
    taken: list[TakenTable] = []
    originals: list[bytes] = []
    for table, report in zip(tables, reports, strict=True):
        numbers = {one.item.line for at, one in enumerate(report.planned) if _goes(one, report.imported.get(at), left)}
        if numbers:
            lines = [line.hex() for line in lines_of(table.data, numbers)]
            taken.append(TakenTable(table.path, table.owner, table.own, lines, f"{len(taken)}.crontab"))
            originals.append(table.data)
    return taken, originals


def _goes(one: Planned, imported: str | None, left: Container[str]) -> bool:
    return one.draft is not None and (imported is None or imported not in left)
