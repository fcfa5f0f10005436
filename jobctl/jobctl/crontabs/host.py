"""What taking a whole host over is about: in numbers, and the folders of scripts that nothing runs yet. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .against_cron import Difference
from .anacron import read_anacrontab
from .crond import Cron
from .parts import FOLDERS, Entry, folders_run_by, scripts
from .periodic import ANACRONTAB, Anacron, who_runs
from .report import TableReport

Json = dict[str, Any]


#: execution/request.py of the daemon: what every command gets that cron does not set.
ENVIRONMENT = (
    "every command also has USER, PYTHONUNBUFFERED and JOBCTL_… (its run, key, attempt and time), and LANG=C.UTF-8 "
    "unless the host or the table says otherwise; the rest is as with cron"
)


#: Debian's cron takes what /etc/localtime says, also where that is a file of its own and no link to a zone.
NAMELESS = (
    "/etc/localtime is no link to a zone, and /etc/timezone names none: jobd would take UTC for every schedule, cron "
    "takes what the file says. Link it first: ln -sf /usr/share/zoneinfo/Europe/Berlin /etc/localtime"
)


def summary(
    reports: Sequence[TableReport],
    found: Iterable[Difference],
    cron: Cron,
    *,
    live: bool | None,
    nameless_zone: bool = False,
) -> Json:
    """The tables together. `live`: whether jobd runs them already; None when no daemon said so. `nameless_zone`: the
    host has a local time of which nobody knows the zone."""
    kinds = [difference.kind for difference in found]
    return {
        "tables": len(reports),
        "users": sorted({planned.origin.user_of(planned.item) for report in reports for planned in report.planned}),
        "jobs": sum(planned.draft is not None for report in reports for planned in report.planned),
        "left": sum(planned.draft is None for report in reports for planned in report.planned),
        "refused": sum(len(report.crontab.refused) for report in reports),
        "dropped": [report.path for report in reports if report.crontab.drops],
        "begins": kinds.count("begins"),
        "stops": kinds.count("stops"),
        "live": live,
        "cron": {
            "processes": [{"pid": one.pid, "name": one.name} for one in cron.processes],
            "services": [asdict(one) for one in cron.services],
        },
        "remarks": [*([NAMELESS] if nameless_zone else []), ENVIRONMENT],
    }


def periodic(
    reports: Sequence[TableReport], anacrontab: bytes | None, folders: Mapping[str, Sequence[Entry]], anacron: Anacron
) -> list[Json]:
    """/etc/anacrontab and the folders cron.hourly to cron.monthly that there are: what is in each, and who runs it.

    `run_by` None: nothing does today, and jobd would.
    """
    who = who_runs([(report.path, report.crontab) for report in reports if report.crontab.system], anacrontab, anacron)
    found: list[Json] = []
    if anacrontab is not None:
        items = read_anacrontab(anacrontab).items
        mine = [item for item in items if not folders_run_by(item.command) & who.run_by_lines.keys()]
        begins = [item.identifier for item in mine] if who.anacrontab is None else []
        entries = [item.identifier for item in items]
        found.append({"path": ANACRONTAB, "run_by": who.anacrontab, "entries": entries, "begins": begins})
    for folder in FOLDERS:
        names = scripts(folders.get(folder, ()))[0]
        by = who.folders.get(folder)
        if names:
            found.append({"path": folder, "run_by": by, "entries": names, "begins": [] if by else names})
    return found
